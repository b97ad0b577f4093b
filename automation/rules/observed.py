"""Decides which of two observations is the newer one, and when a report was observed. Pure.

Reports have whole seconds, so times are compared by whole seconds. Of two observations of the same second,
the observation that arrives later is the newer one (docs/observations.md).
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta

from automation.metrics import Metric
from automation.reports import NEWEST, OLDEST, Samples

HOLD = timedelta(seconds=60)
"""The longest time for which alerts about the hosts of an agent wait for other reports of the agent."""


def observation_time(observed: datetime | None, now: datetime) -> datetime:
    """Return when a report was observed: `now` if it does not say so, and never later than `now`.

    A time in the future comes from a clock that is ahead, so the time of arrival counts.
    """
    return now if observed is None or observed >= second_of(now) else observed


def is_newest(observed: datetime, known: datetime | None, now: datetime) -> bool:
    """Whether an observation is not older than the newest `known` observation.

    A `known` time in the future is ignored: it was stored while the clock of the database was ahead.
    """
    return known is None or known > now or second_of(observed) >= second_of(known)


def holds_at(waiting_since: datetime | None, now: datetime) -> bool:
    """Whether alerts about the hosts of an agent wait at `now`; its reports wait since `waiting_since`."""
    return waiting_since is not None and now - HOLD < waiting_since <= now


def newest_moments(samples: Samples, now: datetime) -> Mapping[Metric, datetime]:
    """Return the time of the newest sample of each metric, in whole seconds and at most `now`."""
    latest = second_of(now)
    return {metric: min(latest, second_of(max(values)[0])) for metric, values in samples.items() if values}


def newest_numbers(values: Iterable[tuple[datetime, float]]) -> list[float]:
    """Return the numbers of the newest moment: a report can have several samples of a metric."""
    given = list(values)
    latest = max((second_of(moment) for moment, _ in given), default=None)
    return [number for moment, number in given if second_of(moment) == latest]


def is_within(moment: datetime, reported: datetime) -> bool:
    """Whether a sample can be stored with a report of this time; otherwise it is stored with its own time."""
    return -NEWEST <= second_of(reported) - second_of(moment) <= OLDEST


def second_of(moment: datetime) -> datetime:
    """Return the whole second of a moment."""
    return moment.replace(microsecond=0) if moment.microsecond else moment


def latest_of(moments: Collection[datetime], known: datetime | None, now: datetime) -> datetime | None:
    """Return the newest of the moments and the `known` moment. A `known` moment in the future is ignored."""
    usable = [*moments, known] if known is not None and known <= now else list(moments)
    return max(usable, default=None)
