"""Claiming a notification that is due, and writing down how its attempt ended (decisions 7)."""

import uuid
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from alerting.choices import NotificationStatus
from alerting.models import Alert, Notification, NotificationAttempt
from alerting.rules.sending import NO_OUTCOME, drop_reason
from alerting.selectors.due import due_of
from alerting.selectors.receivers import failing_receivers, receivers_left_alone
from alerting.services.notifications import schedule_follow_up
from alerting.services.receivers import receiver_answered, receiver_claim, receiver_failed, receiver_try
from integrations.choices import DeliveryStatus
from integrations.delivery import Outcome
from integrations.retry import RETRIES_LAST, next_attempt

LEASE = timedelta(seconds=30)
"""Longer than any channel's time limit for one attempt (decisions 7)."""

PASSED_OVER = timedelta(minutes=1)
"""So long a message to a receiver that fails lets others go first: it may keep a sender to its time limit."""

LAPSES_AT_MOST = RETRIES_LAST // LEASE
"""So many attempts without an outcome, as fit into the hour of retries, and it is given up."""

UNTRIED: dict[str, Any] = {"attempts": F("attempts") - 1}
"""What was claimed and not sent was no attempt."""
_UNTOLD = (NotificationStatus.PENDING.value, NotificationStatus.DROPPED.value)
_RELEASED: dict[str, Any] = {"lease_token": None, "lease_until": None, "silenced_by": None}


@dataclass(frozen=True, slots=True)
class Claim:
    """A notification held for LEASE; `perhaps_sent`: the last holder left no outcome behind.

    `lapsed_for_good`: so did LAPSES_AT_MOST of them; a worker that was away is none.
    """

    notification: Notification
    perhaps_sent: bool
    lapsed_for_good: bool


@transaction.atomic
def notification_claim(
    *, now: datetime, known_to_answer: Collection[str] = (), only_answering: bool = False
) -> Claim | None:
    """Take the notification that is due longest; None when none is due.

    Two workers never hold the same one; a lease that lapsed is work taken up again. Receivers that fail
    are probed now and then. `known_to_answer`: keys of receivers; with `only_answering` all others are left
    to other senders, and so is, as long as another project has something due, one that keeps all senders at
    work but one.
    """
    due = _free_to_try(now, known_to_answer, only_answering)
    if due is None or not receiver_try(key=due.receiver, now=now):
        return None
    lapsed = due.lease_token is not None
    if lapsed:
        _record_lapsed(due, now)
    for_good = lapsed and _lapses(due) >= LAPSES_AT_MOST
    # People are looked up and not sent to, so a crash leaves nothing open.
    claim = Claim(due, perhaps_sent=lapsed and due.channel is not None, lapsed_for_good=for_good)
    due.lease_token, due.lease_until = uuid.uuid4(), now + LEASE
    due.attempts += 1
    due.first_attempt = due.first_attempt or now
    due.save(update_fields=["lease_token", "lease_until", "attempts", "first_attempt"])
    return claim


def _free_to_try(
    now: datetime, known_to_answer: Collection[str], only_answering: bool
) -> Notification | None:
    """The one due longest whose receiver no other sender begins to try at this moment."""
    begun: list[str] = []
    for _ in range(settings.OPSAPI_SENDERS):
        due = _longest_due(now, known_to_answer, only_answering, begun)
        if due is None or due.receiver in {"", *known_to_answer} or receiver_claim(key=due.receiver, now=now):
            return due
        begun.append(due.receiver)
    return None


def _longest_due(
    now: datetime, known_to_answer: Collection[str], only_answering: bool, begun: Collection[str]
) -> Notification | None:
    alone = receivers_left_alone(now=now, known_to_answer=known_to_answer, only_answering=only_answering)
    due = Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=now)
    free = due.filter(Q(lease_until=None) | Q(lease_until__lt=now))
    wanted = free.exclude(receiver__in=[*alone.busy, *begun]).exclude(receiver__in=alone.failing)
    if only_answering:
        # Looking people up tells nobody.
        wanted = wanted.filter(Q(channel=None) | Q(receiver__in=list(known_to_answer)))
    if only_answering and alone.busy_projects:
        others = wanted.exclude(_of_projects(alone.busy_projects))
        return _first(others) or _first(wanted)
    return _before_failing(wanted, now)


def _before_failing(wanted: QuerySet[Notification], now: datetime) -> Notification | None:
    """The first, unless its receiver fails, it is not due for long, and another one is due as well."""
    first = _first(wanted)
    if first is None or first.due <= now - PASSED_OVER or not failing_receivers([first.receiver]).exists():
        return first
    return _first(wanted.exclude(receiver__in=failing_receivers())) or first


def _of_projects(ids: Collection[str | None]) -> Q:
    """Those of the projects; what happened without a project, None, counts as one of them."""
    named = Q(group_id__in=[one for one in ids if one is not None])
    return named | Q(group_id=None) if None in ids else named


def _first(rows: QuerySet[Notification]) -> Notification | None:
    return rows.order_by("due").select_for_update(skip_locked=True).first()


def notification_finish(notification: Notification, **changes: Any) -> bool:
    """Change the row and release it, if the lease is still ours: the token is the fence."""
    held = Notification.objects.filter(id=notification.id, lease_token=notification.lease_token)
    return bool(held.update(**{**_RELEASED, **changes}))


@transaction.atomic
def notification_record(
    *, notification: Notification, outcome: Outcome, jitter: float, now: datetime
) -> None:
    """Write down how an attempt ended, and what follows: a retry, a repeat, or the end of the alert.

    Without effect when the lease lapsed and another worker took the work up: it records.
    """
    # Whoever closes the alert holds this lock too, so either they see the delivery or we see the end.
    alert = Alert.objects.select_for_update().filter(id=notification.alert_id).first()
    changes = _changes(notification, alert, outcome, jitter, now)
    # One that could not be tried stays known by who it is.
    receiver = {"receiver": notification.receiver} if notification.receiver else {}
    told = {"recipient": notification.recipient, **receiver}
    latency_ms = outcome.latency_ms if outcome.tells_time else None
    if not notification_finish(notification, latency_ms=latency_ms, **told, **changes):
        return
    _record_attempt(notification, outcome, now)
    _record_receiver(notification.receiver, outcome, now)
    if alert is None or changes["status"] in _UNTOLD:
        return
    if outcome.status is DeliveryStatus.DELIVERED:
        alert.last_notified = now
        alert.save(update_fields=["last_notified"])
    # Who could not be told now may be reachable when the next repeat is due.
    schedule_follow_up(notification=notification, alert=alert, now=now)


def _changes(
    notification: Notification, alert: Alert | None, outcome: Outcome, jitter: float, now: datetime
) -> dict[str, Any]:
    """What the outcome makes of the row."""
    if outcome.status is DeliveryStatus.DELIVERED:
        return {"status": NotificationStatus.DELIVERED.value, "reason": None, "delivered": now}
    if dropped := drop_reason(due_of(notification, alert), now):
        return {"status": NotificationStatus.DROPPED.value, "reason": dropped.value}
    again = _next_attempt(notification, outcome, jitter, now)
    if again is None:
        return {"status": NotificationStatus.FAILED.value, "reason": outcome.reason}
    return {"status": NotificationStatus.PENDING.value, "reason": outcome.reason, "due": again}


def _next_attempt(
    notification: Notification, outcome: Outcome, jitter: float, now: datetime
) -> datetime | None:
    if outcome.status is not DeliveryStatus.RETRY:
        return None
    first = notification.first_attempt or now
    return next_attempt(notification.attempts, first, now, outcome.retry_after, jitter)


def _record_attempt(notification: Notification, outcome: Outcome, ended: datetime) -> None:
    began = ended - timedelta(milliseconds=outcome.latency_ms)
    NotificationAttempt.objects.create(
        notification_id=notification.id,
        number=notification.attempts,
        ended=ended if outcome.tells_time else began,
        status=outcome.status.value,
        reason=outcome.reason,
        latency_ms=outcome.latency_ms if outcome.tells_time else None,
    )


def _record_receiver(key: str, outcome: Outcome, now: datetime) -> None:
    if not key:
        return
    if outcome.unavailable:
        receiver_failed(key=key, now=now)
    else:
        receiver_answered(key=key)


def _record_lapsed(notification: Notification, now: datetime) -> None:
    """The last holder was killed, or slower than its lease; what is put off keeps that in mind, told once."""
    tries = NotificationAttempt.objects.filter(notification_id=notification.id, number=notification.attempts)
    if not tries.exists():
        outcome = Outcome(DeliveryStatus.RETRY, NO_OUTCOME, round(LEASE.total_seconds() * 1000))
        _record_attempt(notification, outcome, notification.lease_until or now)


def _lapses(notification: Notification) -> int:
    """How many attempts left no outcome since it was first tried."""
    tries = NotificationAttempt.objects.filter(notification_id=notification.id, reason=NO_OUTCOME)
    return tries.filter(ended__gte=notification.first_attempt).count() if notification.first_attempt else 0
