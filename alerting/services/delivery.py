"""Claiming a notification that is due, and writing down how its attempt ended (decisions 7)."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q

from alerting.choices import AlertStatus, DropReason, NotificationStatus
from alerting.models import Alert, Notification
from alerting.rules.sending import drop_reason
from alerting.services.notifications import schedule_follow_up
from integrations.choices import DeliveryStatus, MessageKind
from integrations.delivery import Outcome
from integrations.retry import RETRIES_LAST, next_attempt

LEASE = timedelta(seconds=30)
"""Longer than any channel's time limit for one attempt (decisions 7)."""

_RELEASED: dict[str, Any] = {"lease_token": None, "lease_until": None}


@dataclass(frozen=True, slots=True)
class Claim:
    """A notification held for LEASE; `perhaps_sent`: the last holder left no outcome behind.

    `lapsed_for_good`: so did all of them, for as long as retries last.
    """

    notification: Notification
    perhaps_sent: bool
    lapsed_for_good: bool


@transaction.atomic
def notification_claim(*, now: datetime) -> Claim | None:
    """Take the notification that is due longest; None when none is due.

    Two workers never hold the same one; a lease that lapsed is work taken up again.
    """
    due = (
        Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=now)
        .filter(Q(lease_until=None) | Q(lease_until__lt=now))
        .order_by("due")
        .select_for_update(skip_locked=True)
        .first()
    )
    if due is None:
        return None
    lapsed = due.lease_token is not None
    overdue = due.first_attempt is not None and now > due.first_attempt + RETRIES_LAST + LEASE
    claim = Claim(due, perhaps_sent=lapsed, lapsed_for_good=lapsed and overdue)
    due.lease_token, due.lease_until = uuid.uuid4(), now + LEASE
    due.attempts += 1
    due.first_attempt = due.first_attempt or now
    due.save(update_fields=["lease_token", "lease_until", "attempts", "first_attempt"])
    return claim


def notification_drop(*, notification: Notification, reason: DropReason) -> None:
    """It is not sent, and the log says why."""
    _finish(notification, status=NotificationStatus.DROPPED.value, reason=reason.value)


def notification_give_up(*, notification: Notification) -> None:
    """Attempt after attempt ended without an outcome, each killed or slower than its lease."""
    _finish(notification, status=NotificationStatus.FAILED.value, reason="no attempt came to an end")


@transaction.atomic
def notification_record(
    *, notification: Notification, outcome: Outcome, jitter: float, now: datetime
) -> None:
    """Write down how an attempt ended, and what follows: a retry, a repeat, or the end of the alert.

    Without effect when the lease lapsed and another worker took the work up: it records.
    """
    # Whoever closes the alert holds this lock too, so either they see the delivery or we see the end.
    alert = Alert.objects.select_for_update().filter(id=notification.alert_id).first()
    if outcome.status is not DeliveryStatus.DELIVERED:
        _record_failure(notification, alert, outcome, jitter, now)
        return
    delivered = _finish(
        notification,
        status=NotificationStatus.DELIVERED.value,
        reason=None,
        delivered=now,
        latency_ms=outcome.latency_ms,
    )
    if delivered and alert:
        alert.last_notified = now
        alert.save(update_fields=["last_notified"])
        schedule_follow_up(notification=notification, alert=alert, now=now)


def _record_failure(
    notification: Notification, alert: Alert | None, outcome: Outcome, jitter: float, now: datetime
) -> None:
    status = AlertStatus(alert.status) if alert else None
    dropped = drop_reason(MessageKind(notification.kind), status, perhaps_sent=False, config_counts=True)
    again = _next_attempt(notification, outcome, jitter, now)
    if dropped:
        _finish(notification, status=NotificationStatus.DROPPED.value, reason=dropped.value)
    elif again is None:
        _finish(
            notification,
            status=NotificationStatus.FAILED.value,
            reason=outcome.reason,
            latency_ms=outcome.latency_ms,
        )
        if alert:  # who could not be told now may be reachable when the next repeat is due
            schedule_follow_up(notification=notification, alert=alert, now=now)
    else:
        _finish(notification, due=again, reason=outcome.reason, latency_ms=outcome.latency_ms)


def _next_attempt(
    notification: Notification, outcome: Outcome, jitter: float, now: datetime
) -> datetime | None:
    if outcome.status is not DeliveryStatus.RETRY:
        return None
    first = notification.first_attempt or now
    return next_attempt(notification.attempts, first, now, outcome.retry_after, jitter)


def _finish(notification: Notification, **changes: Any) -> bool:
    """Change the row and release it, if the lease is still ours: the token is the fence."""
    held = Notification.objects.filter(id=notification.id, lease_token=notification.lease_token)
    return bool(held.update(**changes, **_RELEASED))
