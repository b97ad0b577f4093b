"""The rows of the console's start page, read every ten seconds: first rows and bounded counts."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import BooleanField, Case, Count, ExpressionWrapper, Max, Min, Q, QuerySet, Value, When

from alerting.choices import ACTIVE, NotificationStatus
from alerting.models import Alert, MaintenanceWindow, Notification, WorkerHeartbeat
from alerting.selectors.alerts import acknowledged_at, first_active
from alerting.selectors.due_notifications import HELD_BACK
from alerting.selectors.notification_log import of_own_configs
from alerting.selectors.windows import not_over
from opsapi.api.principal import VisibleScope
from opsapi.clock import AHEAD, TOLERANCE, age_words, difference, difference_words, is_wrong
from opsapi.first_rows import (
    MOST_COUNTED,
    MOST_SHOWN,
    FirstRows,
    bounded_count,
    first_rows,
    in_visible_scope,
)

WITHOUT_CLOCK = "this worker deletes nothing and looks for no heartbeat timeouts until the clocks agree"
LOOP_FAILS_AFTER = timedelta(seconds=30)
"""The time after which a failing loop is reported. A worker tries again every second."""
_HOUR = timedelta(hours=1)
_DAY = timedelta(days=1)
_AHEAD = timedelta(days=7)
# Clocks of machines differ: the youngest range has no lower limit.
_AGES = ((None, _HOUR), (_HOUR, _DAY), (_DAY, None))
"""Ranges of ages: at least the first, which is included, and below the second."""


@dataclass(frozen=True, slots=True)
class AgeCount:
    """The number of active alerts of an age range, up to MOST_COUNTED plus one.

    `unacknowledged` is the number of unacknowledged alerts among them.
    """

    count: int
    unacknowledged: int


@dataclass(frozen=True, slots=True)
class ActiveAlerts:
    """Alerts that are open or tracking: the first of them, and all by age, the youngest first."""

    rows: Sequence[Alert]
    ages: Sequence[AgeCount]

    @property
    def count(self) -> int:
        """The number of all, as far as they were counted."""
        return sum(age.count for age in self.ages)


def active_alerts(*, visible_scope: VisibleScope, now: datetime) -> ActiveAlerts:
    """Open and pending alerts in the order of every list."""
    alerts = in_visible_scope(
        Alert.objects.filter(status__in=[status.value for status in ACTIVE]), visible_scope
    )
    rows = first_active(alerts.select_related("group"), now=now)
    return ActiveAlerts(rows, _age_counts(alerts, now))


def notifications_failing(*, visible_scope: VisibleScope, now: datetime) -> FirstRows[Notification]:
    """Notifications that failed for good in the last day, or wait for another try; the latest first."""
    # Together the condition of the index notification_failing.
    failed = Q(status=NotificationStatus.FAILED.value)
    tried = Q(status=NotificationStatus.PENDING.value, attempts__gt=0)
    # A first attempt in progress has no reason yet. Notifications that are held back did not fail.
    first_try = Q(reason=None)
    rows = Notification.objects.filter(failed | tried, due__gte=now - _DAY, group__deleted=None)
    waiting = rows.exclude(first_try).exclude(HELD_BACK, status=NotificationStatus.PENDING.value)
    shown = waiting if visible_scope.everything else of_own_configs(in_visible_scope(waiting, visible_scope))
    return first_rows(shown.select_related("group", "alert").order_by("-due", "-sequence", "-id"))


def windows_ahead(*, visible_scope: VisibleScope, now: datetime) -> FirstRows[MaintenanceWindow]:
    """Active maintenance windows, and windows that begin within seven days, in the order of their start."""
    ahead = in_visible_scope(
        MaintenanceWindow.objects.filter(not_over(now), start__lt=now + _AHEAD, group__deleted=None),
        visible_scope,
    ).order_by("start", "id")
    once, recurring = ahead.filter(recurrence__isnull=True), ahead.filter(recurrence__isnull=False)
    first = once.values("id")[: MOST_SHOWN + 1].union(recurring.values("id")[:MOST_COUNTED], all=True)
    starts = {
        row: row.start if row.recurrence is None else _next_start(row, now)
        for row in MaintenanceWindow.objects.filter(id__in=first).select_related("group")
    }
    found = sorted(
        (start, row.id, row) for row, start in starts.items() if start is not None and start < now + _AHEAD
    )
    single = sum(row.recurrence is None for row in starts)
    more = bounded_count(once) - single if single > MOST_SHOWN else 0
    return FirstRows([row for _, _, row in found[:MOST_SHOWN]], min(len(found) + more, MOST_COUNTED + 1))


def _next_start(window: MaintenanceWindow, now: datetime) -> datetime | None:
    current = next(window.rule.occurrences(now), None)
    return current.start if current else None


def workers_known(now: datetime) -> FirstRows[WorkerHeartbeat]:
    """Workers of the last day: first the workers of `wrong_clocks`, then the last seen.

    `services.leases.worker_seen` deletes older ones.
    """
    first = Case(When(_CLOCK_IS_WRONG, seen__gte=now - _SEEN_WITHIN, then=0), default=1)
    return first_rows(WorkerHeartbeat.objects.order_by(first, "-seen", "name"))


def _age_counts(alerts: QuerySet[Alert], now: datetime) -> list[AgeCount]:
    """The count of each range of _AGES, in one statement that reads at most MOST_COUNTED + 1 rows a range."""
    is_acknowledged = ExpressionWrapper(acknowledged_at(now), BooleanField())
    youngest, *older = (
        _of_age(alerts, now, *age).values_list(Value(place), is_acknowledged)[: MOST_COUNTED + 1]
        for place, age in enumerate(_AGES)
    )
    found = Counter((place, bool(acknowledged)) for place, acknowledged in youngest.union(*older, all=True))
    waiting = [found[place, False] for place in range(len(_AGES))]
    return [AgeCount(found[place, True] + count, count) for place, count in enumerate(waiting)]


def _of_age(
    alerts: QuerySet[Alert], now: datetime, at_least: timedelta | None, below: timedelta | None
) -> QuerySet[Alert]:
    if at_least is not None:
        alerts = alerts.filter(created__lte=now - at_least)
    if below is not None:
        alerts = alerts.filter(created__gt=now - below)
    return alerts.order_by()


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
    return WorkerHeartbeat.objects.filter(stuck__gt=now - _DAY)
