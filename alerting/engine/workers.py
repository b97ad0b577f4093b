"""Reads the heartbeats of workers: which workers run, and which faults they have."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, Count, Max, Min, Q, QuerySet, When

from alerting.engine.models import WorkerHeartbeat
from opsapi.clock import AHEAD, TOLERANCE, age_words, difference, difference_words, is_wrong
from opsapi.first_rows import (
    FirstRows,
    first_rows,
)

WITHOUT_CLOCK = "this worker deletes nothing and looks for no heartbeat timeouts until the clocks agree"
LOOP_FAILS_AFTER = timedelta(seconds=30)
"""The time after which a failing loop is reported. A worker tries again every second."""


def workers_known(now: datetime) -> FirstRows[WorkerHeartbeat]:
    """Workers of the last day: first the workers of `wrong_clocks`, then the last seen.

    `engine.leases.worker_seen` deletes older ones.
    """
    first = Case(When(_CLOCK_IS_WRONG, seen__gte=now - _SEEN_WITHIN, then=0), default=1)
    return first_rows(WorkerHeartbeat.objects.order_by(first, "-seen", "name"))


_SEEN_WITHIN = timedelta(minutes=1)
_CLOCK_IS_WRONG = Q(clock_ahead__gt=TOLERANCE) | Q(clock_ahead__lt=-TOLERANCE)


def is_running(worker: WorkerHeartbeat, now: datetime) -> bool:
    """Whether the worker was seen in the last minute."""
    return now - _SEEN_WITHIN <= worker.seen <= now + AHEAD


def workers_seen(now: datetime) -> QuerySet[WorkerHeartbeat]:
    """The workers seen in the last minute."""
    return WorkerHeartbeat.objects.filter(seen__gte=now - _SEEN_WITHIN, seen__lte=now + AHEAD)


def wrong_clocks(now: datetime) -> QuerySet[WorkerHeartbeat]:
    """The workers seen in the last minute on machines whose clock differs from the database's."""
    return workers_seen(now).filter(_CLOCK_IS_WRONG).order_by("name")


def failing_loop_words(now: datetime) -> str | None:
    """Which loop of a worker has failed for longer than LOOP_FAILS_AFTER; None if there is none."""
    failing = workers_seen(now).filter(failing_since__lte=now - LOOP_FAILS_AFTER)
    return failing_loop_words_of(failing.order_by("failing_since", "name")[:1], now)


def failing_loop_words_of(workers: Iterable[WorkerHeartbeat], now: datetime) -> str | None:
    """As `failing_loop_words`, for the given workers."""
    for worker in workers:
        since = worker.failing_since
        if is_running(worker, now) and since and since <= now - LOOP_FAILS_AFTER:
            wait = age_words(now - since)
            return f"the loop {worker.failing_loop} of worker {worker.name} has failed for {wait}"
    return None


def clock_words(now: datetime) -> str | None:
    """Which clock is wrong: of this machine, or of a worker. None if all clocks agree with the database's."""
    return clock_words_of(wrong_clocks(now)[:1], now)


def clock_words_of(workers: Iterable[WorkerHeartbeat], now: datetime) -> str | None:
    """As `clock_words`, of some workers."""
    if is_wrong(here := difference()):
        return f"the clock of this machine is {difference_words(here)} the database's"
    for worker in workers:
        if is_running(worker, now) and is_wrong(worker.clock_ahead):
            words = difference_words(worker.clock_ahead)
            return f"the clock of the machine of {worker.name} is {words} the database's: {WITHOUT_CLOCK}"
    return None


@dataclass(frozen=True, slots=True)
class WorkerCounts:
    """The number of workers seen in the last minute, and of `workers_stuck`.

    `clock_ahead`: the largest difference of a seen worker's clock from the database's.
    """

    seen: int
    stuck: int
    clock_ahead: timedelta


def workers_counted(now: datetime) -> WorkerCounts:
    """Count the workers, in one statement."""
    seen, stuck = Q(pk__in=workers_seen(now)), Q(pk__in=workers_stuck(now))
    counts = WorkerHeartbeat.objects.aggregate(
        seen=Count("name", filter=seen),
        stuck=Count("name", filter=stuck),
        most=Max("clock_ahead", filter=seen),
        least=Min("clock_ahead", filter=seen),
    )
    differences = (counts["most"] or timedelta(0), counts["least"] or timedelta(0))
    return WorkerCounts(counts["seen"], counts["stuck"], max(differences, key=abs))


def workers_stuck(now: datetime) -> QuerySet[WorkerHeartbeat]:
    """The workers of the last day that ended because a loop was stuck."""
    return WorkerHeartbeat.objects.filter(stuck__gt=now - timedelta(days=1))
