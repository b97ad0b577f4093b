"""The log of notifications: who was notified of an alert or an event, and why a recipient was not."""

from datetime import datetime
from typing import Any, TypedDict

from django.db.models import Case, Exists, F, OuterRef, Q, QuerySet, When

from alerting.choices import NotificationStatus
from alerting.models import Notification, NotificationAttempt, NotificationSetting
from events.selectors import EventRow, event_row
from integrations.choices import MessageKind
from opsapi.fields import JsonRows, WireTime


class LoggedAttempt(TypedDict):
    """An attempt of a notification in the log."""

    number: int
    status: str
    reason: str | None
    latency_ms: int | None
    wire_ended: str


class LoggedRow(TypedDict):
    """A notification in the log. `attempts_json` are its newest attempts, the newest first."""

    id: str
    setting_id: str
    type_name: str
    channel: str | None
    kind: str
    status: str
    reason: str | None
    recipient: str
    latency_ms: int | None
    wire_created: str
    wire_due: str
    wire_delivered: str | None
    is_global: bool
    attempts_json: list[LoggedAttempt]


MOST_ATTEMPTS = 100
"""The most attempts of a notification that are shown, the newest."""


def alert_notifications(alert_id: str) -> QuerySet[Notification, Any]:
    """The notifications of an alert, newest first, each with its attempts."""
    return _rows(Notification.objects.filter(alert_id=alert_id))


def logged_notification(alert_id: str, notification_id: str) -> LoggedRow | None:
    """One of `alert_notifications`."""
    return alert_notifications(alert_id).filter(id=notification_id).first()


def alert_notification(alert_id: str, notification_id: str) -> Notification | None:
    return Notification.objects.filter(id=notification_id, alert_id=alert_id).first()


def event_notifications(event_id: str, *, group_id: str) -> QuerySet[Notification, Any]:
    """The one-shot notifications of an event in a project, newest first, each with its attempts.

    `is_global` of a row: it comes from no setting of the project's own configurations.
    """
    return _rows(Notification.objects.filter(event_id=event_id, group_id=group_id))


def notified_event(event_id: str, *, group_id: str, org_id: str) -> EventRow | None:
    """An event of the project, or of its organization if the project was notified; None for others."""
    event = event_row(event_id, group_id=group_id)
    if event is not None:
        return event
    # The project must not see other events of its organization.
    logged = Notification.objects.filter(event_id=event_id, group_id=group_id).exists()
    return event_row(event_id, org_id=org_id) if logged else None


def scheduled(now: datetime) -> Q:
    """Notifications that are scheduled, as defined by `notification_state`."""
    to_come = Q(status=NotificationStatus.PENDING.value, attempts=0, due__gt=now)
    return to_come & (Q(reason=None) | Q(kind=MessageKind.UPDATE.value))


def of_own_configs(notifications: QuerySet[Notification]) -> QuerySet[Notification]:
    """Leave out notifications of global configurations: a project does not learn their recipients."""
    own = _own_settings()
    return notifications.filter(Q(alert__is_global=False) | Q(Exists(own), alert=None))


def _own_settings() -> QuerySet[NotificationSetting]:
    """The setting of a notification, if it belongs to the project's own configurations."""
    settings = NotificationSetting.with_removed.filter(id=OuterRef("setting_id"))
    return settings.filter(config__group_id=OuterRef("group_id"))


def _rows(notifications: QuerySet[Notification]) -> QuerySet[Notification, Any]:
    own = _own_settings()
    return notifications.order_by("-created", "-id").values(
        "id",
        "setting_id",
        "type_name",
        "channel",
        "kind",
        "status",
        "reason",
        "recipient",
        "latency_ms",
        wire_created=WireTime("created"),
        wire_due=WireTime("due"),
        wire_delivered=WireTime("delivered"),
        is_global=Case(When(alert__isnull=False, then=F("alert__is_global")), default=~Exists(own)),
        attempts_json=JsonRows(_attempts()),
    )


def _attempts() -> QuerySet[NotificationAttempt, Any]:
    attempts = NotificationAttempt.objects.filter(notification_id=OuterRef("id")).order_by("-number")
    shown = attempts.values("number", "status", "reason", "latency_ms", wire_ended=WireTime("ended"))
    return shown[:MOST_ATTEMPTS]
