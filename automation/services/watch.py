"""The time from which heartbeat timeouts count: a single row, which reports and sweeps write."""

from datetime import datetime, timedelta

from django.db import transaction

from automation.models import FleetWatch
from automation.rules.heartbeats import clocks_start, timed_out_since

SWEEP_GAP = timedelta(seconds=10)
"""Minimum time between two sweeps of any workers."""


def clocks_restart(*, now: datetime) -> None:
    """Count heartbeat timeouts from now on, because agents could not report before."""
    watch = FleetWatch(counting_since=now)
    FleetWatch.objects.bulk_create(
        [watch], update_conflicts=True, unique_fields=["id"], update_fields=["counting_since"]
    )


@transaction.atomic
def sweep_begin(*, now: datetime) -> datetime | None:
    """Record a sweep. Return the limit: agents and hosts whose last report is not later have timed out.

    Return None if the clocks started too recently, or if another worker has just swept.
    """
    FleetWatch.objects.bulk_create([FleetWatch(counting_since=now)], ignore_conflicts=True)
    watch = FleetWatch.objects.select_for_update().get()
    if watch.swept is not None and now - watch.swept < SWEEP_GAP:
        return None
    _note(watch, now)
    return timed_out_since(counting_since=watch.counting_since, now=now)


@transaction.atomic
def sweep_goes_on(*, now: datetime) -> None:
    """Record that a sweep continues, so that a long sweep does not count as an absence."""
    watch = FleetWatch.objects.select_for_update().get()
    if watch.swept is None or watch.swept < now:
        _note(watch, now)


def _note(watch: FleetWatch, now: datetime) -> None:
    watch.counting_since = clocks_start(counting_since=watch.counting_since, swept=watch.swept, now=now)
    watch.swept = now
    watch.save(update_fields=["counting_since", "swept"])
