"""Who was told of an alert, read for its story: bounded, however often it was repeated."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, QuerySet

from alerting.choices import NotificationStatus
from alerting.models import Alert, Notification, NotificationAttempt
from alerting.rules.telling import Attempt, Telling
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from opsapi.fields import JsonRows

FIRST, NEWEST, PENDING = 20, 80, 50
"""So many are shown of an alert: the first, the newest, and those that are still to be sent."""
MOST_ATTEMPTS = 20
"""So many attempts of each, the newest."""
MOST_COUNTED = 10_000


@dataclass(frozen=True, slots=True)
class Tellings:
    """Those shown, newest first; `pending` with their rows; `more` are in the log beside them.

    `setting_ids`: of all there are, the notifications of the configuration they came from.
    """

    shown: tuple[Telling, ...]
    pending: tuple[tuple[Notification, Telling], ...]
    setting_ids: frozenset[str]
    more: int


def tellings_of(alert: Alert, *, with_recipient: bool, now: datetime) -> Tellings:
    """The notifications of an alert; without recipients for those who may not read whom it tells."""
    of_alert = Notification.objects.filter(alert_id=alert.id)
    rows = _with_tries(of_alert)
    newest = list(rows.order_by("-created", "-id")[: NEWEST + FIRST])
    chosen = {row.id: row for row in newest}
    if len(newest) == NEWEST + FIRST:
        chosen = {row.id: row for row in newest[:NEWEST]}
        chosen |= {row.id: row for row in rows.order_by("created", "id")[:FIRST]}
    pending = of_alert.filter(status=NotificationStatus.PENDING.value)
    chosen |= {row.id: row for row in _with_tries(pending).order_by("due", "id")[:PENDING]}
    ordered = sorted(chosen.values(), key=lambda row: (row.created, row.id), reverse=True)
    tellings = [(row, _telling(row, with_recipient, now)) for row in ordered]
    return Tellings(
        shown=tuple(telling for _, telling in tellings),
        pending=tuple((row, one) for row, one in tellings if row.status == NotificationStatus.PENDING),
        setting_ids=frozenset(of_alert.values_list("setting_id", flat=True).distinct()),
        more=of_alert[:MOST_COUNTED].count() - len(tellings) if len(tellings) >= NEWEST else 0,
    )


def _with_tries(rows: QuerySet[Notification]) -> QuerySet[Notification]:
    attempts = NotificationAttempt.objects.filter(notification_id=OuterRef("id")).order_by("-number")
    shown = attempts.values("number", "ended", "status", "reason", "latency_ms")[:MOST_ATTEMPTS]
    return rows.annotate(tries_json=JsonRows(shown))


def _telling(row: Any, with_recipient: bool, now: datetime) -> Telling:
    """`row` is a notification with its `tries_json`."""
    return Telling(
        id=row.id,
        setting_id=row.setting_id,
        kind=MessageKind(row.kind),
        type_name=row.type_name,
        channel=ChannelType(row.channel) if row.channel else None,
        recipient=row.recipient if with_recipient else None,
        status=NotificationStatus(row.status),
        reason=row.reason,
        created=row.created,
        due=row.due,
        delivered=row.delivered,
        latency_ms=row.latency_ms,
        attempts=row.attempts,
        silenced_by=row.silenced_by,
        being_sent=row.lease_until is not None and row.lease_until > now,
        tries=tuple(_attempt(one) for one in reversed(row.tries_json)),
    )


def _attempt(shown: dict[str, Any]) -> Attempt:
    return Attempt(
        number=shown["number"],
        ended=datetime.fromisoformat(shown["ended"]),
        outcome=DeliveryStatus(shown["status"]),
        reason=shown["reason"],
        latency_ms=shown["latency_ms"],
    )
