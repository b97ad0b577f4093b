"""Reading what the overview of the console shows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import BooleanField, ExpressionWrapper, Q, QuerySet, Value

from alerting.engine.choices import NotificationStatus
from alerting.engine.models import WITHOUT_RECIPIENTS, Notification
from alerting.engine.notification_log import of_own_configs
from alerting.engine.store import HELD_BACK
from alerting.incidents.choices import ACTIVE
from alerting.incidents.models import Alert
from alerting.incidents.rule_words import with_rules
from alerting.incidents.store import acknowledged_at, first_active
from alerting.incidents.tabs import AlertTab, TabbedAlerts, waiting_alerts
from alerting.windows.models import MaintenanceWindow
from alerting.windows.store import unexpired
from opsapi.api.principal import VisibleScope
from opsapi.first_rows import MOST_COUNTED, MOST_SHOWN, FirstRows, bounded_count, first_rows, in_visible_scope

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
    rows = first_active(with_rules(alerts.select_related("group")), now=now)
    return ActiveAlerts(rows, _age_counts(alerts, now))


def alerts_that_need_somebody(visible_scope: VisibleScope, now: datetime) -> tuple[int, bool]:
    """Count open alerts that are neither acknowledged nor muted; True if there may be more than counted."""
    waiting = waiting_alerts(in_visible_scope(Alert.objects.all(), visible_scope), now=now)
    return waiting.needing, waiting.is_cut


@dataclass(frozen=True, slots=True)
class NeedingAlerts:
    """Open alerts that need somebody, the most severe first, and the numbers of the others.

    `acknowledged` is at most MOST_COUNTED + 1. `is_cut`: not all open alerts were read.
    """

    rows: Sequence[Alert]
    acknowledged: int
    muted: int
    is_cut: bool

    @property
    def count_words(self) -> str:
        """For example: 2 alerts need somebody."""
        count = len(self.rows)
        number = f"{'at least ' if self.is_cut else ''}{count:,}"
        words = f"{number} alert needs somebody" if count == 1 else f"{number} alerts need somebody"
        return words[:1].upper() + words[1:]


def alerts_needing(visible_scope: VisibleScope, now: datetime) -> NeedingAlerts:
    """Return the open alerts that are neither acknowledged nor muted; at most MOST_COUNTED are read."""
    tabs = TabbedAlerts(in_visible_scope(Alert.objects.all(), visible_scope), now)
    needing = with_rules(tabs.rows(AlertTab.NEEDS_YOU).select_related("group"))
    newest = needing.order_by("-created", "-id")
    rows = sorted(newest[:MOST_COUNTED], key=lambda alert: alert.effective_severity.rank, reverse=True)
    acknowledged = bounded_count(tabs.rows(AlertTab.ACKNOWLEDGED))
    return NeedingAlerts(rows, acknowledged, len(tabs.waiting.muted), tabs.waiting.is_cut)


def notifications_failing(*, visible_scope: VisibleScope, now: datetime) -> FirstRows[Notification]:
    """Notifications that failed for good or had no recipient in the last day, or wait for another try.

    The latest come first.
    """
    # Together the condition of the index notification_failing.
    failed = Q(status=NotificationStatus.FAILED.value)
    tried = Q(status=NotificationStatus.PENDING.value, attempts__gt=0)
    # A first attempt in progress has no reason yet. Notifications that are held back did not fail.
    first_try = Q(reason=None)
    rows = Notification.objects.filter(
        failed | tried | WITHOUT_RECIPIENTS, due__gte=now - _DAY, group__deleted=None
    )
    waiting = rows.exclude(first_try).exclude(HELD_BACK, status=NotificationStatus.PENDING.value)
    failing = (
        waiting if visible_scope.everything else of_own_configs(in_visible_scope(waiting, visible_scope))
    )
    return first_rows(failing.select_related("group", "alert").order_by("-due", "-sequence", "-id"))


def windows_ahead(*, visible_scope: VisibleScope, now: datetime) -> FirstRows[MaintenanceWindow]:
    """Active maintenance windows, and windows that begin within seven days, in the order of their start."""
    ahead = in_visible_scope(
        MaintenanceWindow.objects.filter(unexpired(now), start__lt=now + _AHEAD, group__deleted=None),
        visible_scope,
    ).order_by("start", "id")
    once, recurring = ahead.filter(recurrence__isnull=True), ahead.filter(recurrence__isnull=False)
    first = once.values("id")[: MOST_SHOWN + 1].union(recurring.values("id")[:MOST_COUNTED], all=True)
    starts = {
        row: row.start if row.recurrence is None else _next_start(row, now)
        for row in MaintenanceWindow.objects.filter(id__in=first).select_related("group")
    }
    in_order = sorted(
        (start, row.id, row) for row, start in starts.items() if start is not None and start < now + _AHEAD
    )
    single = sum(row.recurrence is None for row in starts)
    more = bounded_count(once) - single if single > MOST_SHOWN else 0
    return FirstRows(
        [row for _, _, row in in_order[:MOST_SHOWN]], min(len(in_order) + more, MOST_COUNTED + 1)
    )


def _next_start(window: MaintenanceWindow, now: datetime) -> datetime | None:
    current = next(window.rule.occurrences(now), None)
    return current.start if current else None


def _age_counts(alerts: QuerySet[Alert], now: datetime) -> list[AgeCount]:
    """The count of each range of _AGES, in one statement that reads at most MOST_COUNTED + 1 rows a range."""
    is_acknowledged = ExpressionWrapper(acknowledged_at(now), BooleanField())
    youngest, *older = (
        _of_age(alerts, now, *age).values_list(Value(place), is_acknowledged)[: MOST_COUNTED + 1]
        for place, age in enumerate(_AGES)
    )
    counts = Counter((place, bool(acknowledged)) for place, acknowledged in youngest.union(*older, all=True))
    waiting = [counts[place, False] for place in range(len(_AGES))]
    return [AgeCount(counts[place, True] + count, count) for place, count in enumerate(waiting)]


def _of_age(
    alerts: QuerySet[Alert], now: datetime, at_least: timedelta | None, below: timedelta | None
) -> QuerySet[Alert]:
    if at_least is not None:
        alerts = alerts.filter(created__lte=now - at_least)
    if below is not None:
        alerts = alerts.filter(created__gt=now - below)
    return alerts.order_by()
