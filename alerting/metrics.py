"""What alerting tells of itself; every statement reads what an index narrows down, however old the log is."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Count, Min, QuerySet
from prometheus_client.metrics_core import Metric

from alerting.choices import ACTIVE, AlertStatus, NotificationStatus
from alerting.models import Alert, Notification
from alerting.selectors.workers import workers_seen
from opsapi import clock
from opsapi.ids import first_id
from opsapi.metric_series import gauge

_ALERTS = gauge("opsapi_alerts", "Alerts by status; of those that ended, the last hour's.", "status")
_DUE = gauge("opsapi_notifications_due", "Notifications to be sent now.")
_OLDEST = gauge(
    "opsapi_notification_oldest_due_seconds",
    "For how long the oldest of the notifications to be sent now has been due.",
)
_MADE = gauge(
    "opsapi_notifications",
    "Notifications made in the last hour, by channel and by where they stand now.",
    "channel",
    "status",
)
_WORKERS = gauge("opsapi_workers", "Workers seen in the last minute.")

_RECENT = timedelta(hours=1)
_FOR_PEOPLE = "people"
"""In place of the channel of a notification that still stands for people."""


def alerting_metrics() -> Iterator[Metric]:
    """Alerts by status, the queue of notifications, those of the last hour, the workers."""
    now = clock.now()
    yield _alerts(now)
    yield from _queue(now)
    yield _notifications(now)
    yield _WORKERS.of(workers_seen(now).count())


def _alerts(now: datetime) -> Metric:
    family = _ALERTS.family()
    active = Alert.objects.filter(status__in=[one.value for one in ACTIVE])
    ended = Alert.objects.filter(resolved__gte=now - _RECENT)
    counts = _by_status(ended) | _by_status(active)
    for status in AlertStatus:
        family.add_metric([status.value], counts.get(status.value, 0))
    return family


def _by_status(alerts: QuerySet[Alert]) -> dict[str, int]:
    return dict(alerts.order_by().values_list("status").annotate(Count("id")))


def _queue(now: datetime) -> Iterator[Metric]:
    due = Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=now)
    found = due.aggregate(count=Count("id"), oldest=Min("due"))
    age = (now - found["oldest"]).total_seconds() if found["oldest"] else 0
    yield _DUE.of(found["count"])
    yield _OLDEST.of(age)


def _notifications(now: datetime) -> Metric:
    family = _MADE.family()
    made = Notification.objects.filter(id__gte=first_id(now - _RECENT)).order_by()
    for channel, status, count in made.values_list("channel", "status").annotate(Count("id")):
        family.add_metric([channel or _FOR_PEOPLE, status], count)
    return family
