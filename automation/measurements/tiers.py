"""The tiers of measurements, as measured, of five minutes and of an hour, and how long each is kept."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from django.conf import settings

from automation.choices import Granularity, Tier
from automation.measurements.blocks import day_of
from automation.measurements.days import DAY, begin_of
from automation.measurements.query import span_of

MINUTES: Final[Mapping[Tier, int]] = {Tier.RAW: 0, Tier.PT5M: 5, Tier.PT1H: 60}
"""The length of a bucket."""
CLOSED_AFTER = timedelta(hours=25)
"""How long after its end a day is packed. Reports are at most a day old."""

Kept = Mapping[Tier, timedelta | None]
"""How long each tier is kept, without the tiers that are switched off; None is forever."""


def measurement_retention() -> timedelta | None:
    """OPSAPI_MEASUREMENT_RETENTION_DAYS as a duration; None to keep measurements for ever."""
    days: int = settings.OPSAPI_MEASUREMENT_RETENTION_DAYS
    return timedelta(days=days) if days else None


def kept_tiers() -> Kept:
    """How long each tier is kept."""
    rollups = {
        Tier.PT5M: settings.OPSAPI_MEASUREMENT_PT5M_DAYS,
        Tier.PT1H: settings.OPSAPI_MEASUREMENT_PT1H_DAYS,
    }
    return {
        Tier.RAW: measurement_retention(),
        **{tier: timedelta(days=days) for tier, days in rollups.items() if days},
    }


def kept_rollups() -> dict[Tier, timedelta]:
    """How long rollups are kept, without the tiers that are switched off."""
    return {tier: kept for tier, kept in kept_tiers().items() if tier is not Tier.RAW and kept is not None}


def longest_kept(kept: Kept) -> timedelta | None:
    """How long the tier that is kept longest is kept."""
    lengths = [length for length in kept.values() if length is not None]
    return None if len(lengths) < len(kept) else max(lengths)


def is_closed(moment: datetime, now: datetime) -> bool:
    """Whether no report can touch the day (UTC) of that time any more."""
    return begin_of(day_of(moment)) <= now - DAY - CLOSED_AFTER


def chosen_tier(
    granularity: Granularity, start: datetime, *, now: datetime, kept: Kept
) -> tuple[Tier, Granularity]:
    """The tier to read from `start` on, and the granularity, which is longer if no shorter one is kept.

    Days that are not packed yet have no rollups. Of the tiers that are kept since `start`, the longest that
    is not longer than the granularity is the fastest to read.
    """
    if not is_closed(start, now):
        return Tier.RAW, granularity
    there = [tier for tier in Tier if tier in kept and _is_kept(start, now, kept[tier])]
    if not there:
        there = [max(kept, key=lambda tier: kept[tier] or timedelta.max)]
    shorter = [tier for tier in there if MINUTES[tier] <= span_of(granularity) / timedelta(minutes=1)]
    return (shorter[-1], granularity) if shorter else (there[0], Granularity(there[0].value))


def _is_kept(start: datetime, now: datetime, kept: timedelta | None) -> bool:
    """Measurements are deleted by whole days."""
    return kept is None or begin_of(day_of(start)) > now - DAY - kept
