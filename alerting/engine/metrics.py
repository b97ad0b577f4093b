"""Metrics of alerting. Every query is limited by an index, whatever the size of the log."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Count, Min, Q, QuerySet
from prometheus_client.metrics_core import Metric

from alerting.destinations.choices import DestinationState
from alerting.destinations.store import WAITING_SINCE, destinations_by_state
from alerting.engine.choices import NotificationStatus
from alerting.engine.lag import longest_waits
from alerting.engine.models import Notification
from alerting.engine.workers import workers_counted
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import Alert
from integrations.channels import CHANNELS
from opsapi import clock
from opsapi.metric_series import gauge

_ALERTS = gauge("opsapi_alerts", "Alerts by status. Ended alerts are counted for one hour.", "status")
_DUE = gauge("opsapi_notifications_due", "Notifications that are due now.")
_OLDEST = gauge(
    "opsapi_notification_oldest_due_seconds",
    "Time since the oldest pending notification became due.",
)
_CREATED = gauge(
    "opsapi_notifications",
    "Notifications created in the last hour, by channel and current status.",
    "channel",
    "status",
)
_DESTINATIONS = gauge("opsapi_destinations", "Destinations of the last 24 hours, by state.", "state")
# By channel, not by destination, because projects can create any number of destinations.
_WAITING = gauge(
    "opsapi_destination_waiting",
    "Notifications that wait for their destination or are being sent.",
    "channel",
)
_OLDEST_WAITING = gauge(
    "opsapi_destination_oldest_waiting_seconds",
    "Longest time that a notification waits for its destination: since its first attempt, or since it "
    "became due.",
    "channel",
)
_WORKERS = gauge("opsapi_workers", "Workers seen in the last minute.")
_EVALUATION_LAG = gauge(
    "opsapi_evaluation_lag_seconds",
    "Age of the oldest unevaluated signal. Projects that have exceeded their share of the workers' time do "
    "not count.",
)
_DELIVERY_LAG = gauge(
    "opsapi_delivery_lag_seconds",
    "Time that the oldest due notification has waited for a worker. Notifications that are held back do not "
    "count, for example because their destination fails or their project has exceeded its share of the "
    "workers' time.",
)
_CLOCKS = gauge(
    "opsapi_clock_ahead_seconds",
    "How far the clock of this web machine, and of the worker with the largest difference, is ahead of the "
    "clock of the database.",
    "process",
)
_STUCK = gauge(
    "opsapi_workers_stuck",
    "Workers of the last 24 hours that ended because one of their loops was stuck for five minutes.",
)

_RECENT = timedelta(hours=1)
_FOR_PEOPLE = "people"
"""Replaces the channel of a notification whose recipients are not resolved yet."""


def alerting_metrics() -> Iterator[Metric]:
    now = clock.now()
    yield _alerts(now)
    yield from _queue(now)
    yield _notifications(now)
    yield _destinations()
    yield from _workers(now)
    lag = longest_waits(now)
    yield _EVALUATION_LAG.of(lag.signal.total_seconds())
    yield _DELIVERY_LAG.of(lag.message.total_seconds())


def _workers(now: datetime) -> Iterator[Metric]:
    counts = workers_counted(now)
    yield _WORKERS.of(counts.seen)
    yield _STUCK.of(counts.stuck)
    clocks = _CLOCKS.family()
    clocks.add_metric(["web"], clock.difference().total_seconds())
    clocks.add_metric(["worker"], counts.clock_ahead.total_seconds())
    yield clocks


def _alerts(now: datetime) -> Metric:
    family = _ALERTS.family()
    active = Alert.objects.filter(status__in=[active_status.value for active_status in ACTIVE])
    ended = Alert.objects.filter(resolved__gte=now - _RECENT)
    counts = _by_status(ended) | _by_status(active)
    for status in AlertStatus:
        family.add_metric([status.value], counts.get(status.value, 0))
    return family


def _by_status(alerts: QuerySet[Alert]) -> dict[str, int]:
    return dict(alerts.order_by().values_list("status").annotate(Count("id")))


def _queue(now: datetime) -> Iterator[Metric]:
    """Pending notifications are read once: due ones, and ones that wait for destinations."""
    pending = Notification.objects.filter(status=NotificationStatus.PENDING.value).order_by()
    is_due, is_addressed = Q(due__lte=now), Q(destination__gt="")
    counted = {
        row["channel"]: row
        for row in pending.values("channel").annotate(
            due_count=Count("id", filter=is_due),
            due_since=Min("due", filter=is_due),
            waiting_count=Count("id", filter=is_addressed),
            waiting_since=Min(WAITING_SINCE, filter=is_addressed),
        )
    }
    yield _DUE.of(sum(row["due_count"] for row in counted.values()))
    yield _OLDEST.of(max((_age(row["due_since"], now) for row in counted.values()), default=0.0))
    waiting, oldest = _WAITING.family(), _OLDEST_WAITING.family()
    for channel in CHANNELS:
        row = counted.get(channel)
        waiting.add_metric([channel], row["waiting_count"] if row else 0)
        oldest.add_metric([channel], _age(row["waiting_since"], now) if row else 0)
    yield waiting
    yield oldest


def _age(since: datetime | None, now: datetime) -> float:
    """In seconds; a postponed notification waits for its time and has no delay yet."""
    return max(0.0, (now - since).total_seconds()) if since else 0.0


def _destinations() -> Metric:
    family, counts = _DESTINATIONS.family(), destinations_by_state()
    for state in DestinationState:
        family.add_metric([state.value], counts.get(state.value, 0))
    return family


def _notifications(now: datetime) -> Metric:
    family = _CREATED.family()
    created = Notification.objects.filter(created__gte=now - _RECENT).order_by()
    for channel, status, count in created.values_list("channel", "status").annotate(Count("id")):
        family.add_metric([channel or _FOR_PEOPLE, status], count)
    return family
