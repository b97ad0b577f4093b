"""Reads the notifications of an alert for its page and its explanation; bounded."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, QuerySet

from alerting.configs.notification_types import recipient_words
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import UNDECIDED_CHANGES, Notification, NotificationAttempt
from alerting.engine.notification_log import Origin, about_alert, origins_of, senders_of
from alerting.incidents.models import Alert
from alerting.insight.timeline_entries import Attempt, TimelineNotification
from alerting.insight.timeline_events import FIRST, NEWEST
from alerting.reasons import NotificationReason
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from opsapi.fields import JsonRows
from opsapi.first_rows import ends_of

PENDING = 50
"""The most pending notifications that are shown in addition to the first and the newest of all."""
MOST_ATTEMPTS = 20
"""The most attempts shown of each notification, the newest."""


@dataclass(frozen=True, slots=True)
class TimelineNotifications:
    """The notifications to show, newest first.

    `pending` come with their rows; `more` others are in the log. `setting_ids` are the settings of all
    notifications of the alert.
    """

    shown: tuple[TimelineNotification, ...]
    pending: tuple[tuple[Notification, TimelineNotification], ...]
    setting_ids: frozenset[str]
    more: int


def timeline_notifications(alert: Alert, *, with_recipient: bool, now: datetime) -> TimelineNotifications:
    """The notifications of an alert, with recipients if the reader may see the configuration."""
    of_alert = messages_about(alert)
    ends, between = ends_of(with_tries(of_alert), first=FIRST, newest=NEWEST)
    pending = of_alert.filter(status=NotificationStatus.PENDING.value)
    chosen = {row.id: row for row in (*ends, *with_tries(pending).order_by("due", "id")[:PENDING])}
    ordered = sorted(chosen.values(), key=lambda row: (row.created, row.id), reverse=True)
    origins = origins_of(ordered) if with_recipient else {}
    senders = senders_of(ordered, with_recipients=with_recipient)
    notifications = [
        (row, shown_notification(row, origins.get(row.id), now, senders.get(row.id, ""))) for row in ordered
    ]
    return TimelineNotifications(
        shown=tuple(notification for _, notification in notifications),
        pending=tuple(
            (row, notification)
            for row, notification in notifications
            if row.status == NotificationStatus.PENDING
        ),
        setting_ids=frozenset(of_alert.values_list("setting_id", flat=True).distinct()),
        more=max(0, between - (len(chosen) - len(ends))),
    )


def messages_about(alert: Alert) -> QuerySet[Notification]:
    """The messages about the incident of an alert.

    Without the lines that refer to these messages, and without changes that are perhaps unimportant.
    """
    referring = Q(status=NotificationStatus.DROPPED.value, reason=NotificationReason.IN_INCIDENT.value)
    return Notification.objects.filter(about_alert(alert.id)).exclude(referring | UNDECIDED_CHANGES)


def with_tries(rows: QuerySet[Notification]) -> QuerySet[Notification]:
    """The notifications with their newest attempts, as `shown_notification` needs them."""
    attempts = NotificationAttempt.objects.filter(notification_id=OuterRef("id")).order_by("-number")
    columns = ("number", "ended", "status", "reason", "latency_ms")
    tries = JsonRows(attempts[:MOST_ATTEMPTS], **{column: column for column in columns})
    return rows.annotate(tries_json=tries)


def shown_notification(
    row: Any, origin: Origin | None, now: datetime, sender: str = ""
) -> TimelineNotification:
    """`row` is one of `with_tries`; without `origin` the recipient is not shown.

    `sender` is the one of `senders_of`.
    """
    return TimelineNotification(
        id=row.id,
        setting_id=row.setting_id,
        type_name=row.type_name,
        channel=row.channel,
        address=(row.recipient or None) if origin else None,
        kind=MessageKind(row.kind),
        recipient=recipient_words(
            type_name=row.type_name,
            channel=ChannelType(row.channel) if row.channel else None,
            recipient=row.recipient if origin else None,
            place=origin.place if origin else "",
        ),
        status=NotificationStatus(row.status),
        reason=row.reason,
        created=row.created,
        due=row.due,
        latency_ms=row.latency_ms,
        attempts=row.attempts,
        being_sent=row.lease_until is not None and row.lease_until > now,
        tries=tuple(_attempt(attempt) for attempt in reversed(row.tries_json)),
        silenced_by=row.silenced_by,
        in_place=row.in_place,
        merged_into=row.merged_into,
        sender=sender,
    )


def _attempt(row: dict[str, Any]) -> Attempt:
    return Attempt(
        number=row["number"],
        at=datetime.fromisoformat(row["ended"]),
        outcome=DeliveryStatus(row["status"]),
        reason=row.get("reason"),
        latency_ms=row.get("latency_ms"),
    )
