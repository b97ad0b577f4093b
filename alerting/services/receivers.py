"""Keeping track of receivers that fail (decisions 7): all of it within the transaction of an attempt."""

from datetime import datetime, timedelta
from typing import Any

from django.db import connection

from alerting.choices import NotificationStatus
from alerting.models import FailingReceiver, Notification
from alerting.rules.receivers import PROBE_EVERY, PROBED_AFTER
from opsapi.batches import delete_batch

REMEMBERED = timedelta(days=1)
"""A receiver nobody tried for so long is not known to fail any more."""
_FORGOTTEN_AT_ONCE = 500
_LOCK_CLASS = 0x6F72  # "or": keeps these apart from other advisory locks

_FAILED = """
INSERT INTO alerting_failingreceiver AS known (key, failures, next_try, updated)
VALUES (%(key)s, 1, %(now)s, %(now)s)
ON CONFLICT (key) DO UPDATE SET
    failures = known.failures + 1,
    next_try = CASE WHEN known.failures + 1 < %(limit)s THEN %(now)s ELSE %(probe)s END,
    updated = %(now)s
"""


def receiver_claim(*, key: str, now: datetime) -> bool:
    """Be the only one to begin an attempt, until the transaction ends; False when another has one in hand."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_CLASS, key])
        is_only = bool(cursor.fetchone()[0])
    in_hand = Notification.objects.filter(
        status=NotificationStatus.PENDING.value, lease_until__gte=now, receiver=key
    )
    return is_only and not in_hand.exists()


def receiver_try(*, key: str, now: datetime) -> bool:
    """Begin an attempt; False when the receiver is only probed, and somebody else just began to."""
    known = FailingReceiver.objects.select_for_update().filter(key=key, failures__gte=PROBED_AFTER).first()
    if known is None:
        return True
    if known.next_try > now:
        return False
    known.next_try = now + PROBE_EVERY
    known.save(update_fields=["next_try"])
    return True


def receiver_answered(*, key: str) -> None:
    """It took the message, or refused it for good: it is there."""
    FailingReceiver.objects.filter(key=key).delete()


def receiver_failed(*, key: str, now: datetime) -> None:
    """One more failure in a row."""
    values: dict[str, Any] = {"key": key, "now": now, "limit": PROBED_AFTER, "probe": now + PROBE_EVERY}
    with connection.cursor() as cursor:
        cursor.execute(_FAILED, values)


def receivers_forget(*, now: datetime) -> bool:
    """Take away a batch of those nobody tried for long; answers whether there were any."""
    long_ago = FailingReceiver.objects.filter(updated__lt=now - REMEMBERED)
    return delete_batch(long_ago, _FORGOTTEN_AT_ONCE, first=("updated",)) > 0
