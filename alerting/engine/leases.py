"""Leases of notifications, and the workers that have them."""

import uuid
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, Required, TypedDict

from django.db import transaction
from django.db.models import F, Q, QuerySet

from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification, NotificationAttempt, WorkerHeartbeat
from alerting.reasons import AttemptFailure
from automation.reports.growth import ATTEMPT_OCTETS, StoredKind, rows_counted
from integrations.channels.outcome import RETRIES_LAST
from integrations.choices import DeliveryStatus
from opsapi.clock import AHEAD
from opsapi.fields import Among
from opsapi.sql import execute, fetch_rows

LEASE = timedelta(seconds=30)
_LONGEST_LEASE = 2 * LEASE
"""A lease that seems longer was written before the clock stepped back."""
LONGEST_ATTEMPT = timedelta(seconds=20)
"""The time that a lease must have left when an attempt begins. Without a prolonged lease, an attempt is
shorter on every channel."""
PROLONGED_BEFORE = LEASE / 2
"""How long before its end a lease is prolonged while the attempt runs."""

LAPSES_AT_MOST = RETRIES_LAST // LEASE
"""The number of attempts without an outcome after which the platform gives up: as fit into the hour of
retries."""

RELEASED: Mapping[str, None] = {"lease_token": None, "lease_until": None, "leased": None, "worker": None}

_CLAIM_LOCK = 0x6F70636C61696D  # "opclaim"

# The statistics of a queue are always out of date. If they show a small table, PostgreSQL scans all of it for
# each candidate: 174,000 scans for 600 messages of a new installation. Every step of a claim has an index, so
# scans are disabled. All workers wait for this lock, so PostgreSQL ends a claim that is idle for 10 s.
_BEGIN_CLAIM = """
SELECT pg_advisory_xact_lock(%s), set_config('idle_in_transaction_session_timeout', '10s', true),
       set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)
"""
_TAKE = """
UPDATE alerting_notification AS leased
   SET lease_token = %(token)s, lease_until = %(until)s, leased = %(now)s, worker = %(worker)s
 WHERE id IN (SELECT id FROM alerting_notification
               WHERE id = ANY(%(ids)s) AND status = 'PENDING' AND lease_token IS NULL AND due <= %(now)s
                 FOR UPDATE SKIP LOCKED)
RETURNING *
"""
_CHANGED = ("status", "reason", "latency_ms", "delivered", "due", "perhaps_received", "handle", "in_place")


class AttemptResult(TypedDict, total=False):
    """The new values of a notification whose attempt ended.

    Of the values after `latency_ms`, the stored value stays if a value is left out.
    """

    status: Required[str]
    reason: str | None
    latency_ms: Required[int | None]
    delivered: datetime
    due: datetime
    perhaps_received: bool
    handle: str
    in_place: bool


class TriedAttempt(NamedTuple):
    """An attempt that has ended, as its row says it. The latency is that of its notification."""

    number: int
    ended: datetime
    status: str
    reason: str | None


_RECORD = """
WITH recorded AS (
    UPDATE alerting_notification AS held
       SET lease_token = NULL, lease_until = NULL, leased = NULL, worker = NULL, silenced_by = NULL,
           status = result.status, reason = result.reason, latency_ms = result.latency_ms,
           delivered = coalesce(result.delivered, held.delivered), due = coalesce(result.due, held.due),
           perhaps_received = coalesce(result.perhaps_received, held.perhaps_received),
           handle = coalesce(result.handle, held.handle), in_place = coalesce(result.in_place, held.in_place)
      FROM unnest(%(ids)s::text[], %(tokens)s::uuid[], %(status)s::text[], %(reason)s::text[],
                  %(latency_ms)s::integer[], %(delivered)s::timestamptz[], %(due)s::timestamptz[],
                  %(perhaps_received)s::boolean[], %(handle)s::text[], %(in_place)s::boolean[],
                  %(numbers)s::integer[], %(ended)s::timestamptz[], %(outcomes)s::text[], %(reasons)s::text[])
           AS result(id, token, status, reason, latency_ms, delivered, due, perhaps_received, handle,
                     in_place, number, ended, outcome, tried_reason)
     WHERE held.id = result.id AND held.lease_token = result.token
 RETURNING held.id, result.token, result.number, result.ended, result.outcome, result.tried_reason,
           result.latency_ms
), tries AS (
    INSERT INTO alerting_notificationattempt (notification_id, number, ended, status, reason, latency_ms)
    SELECT id, number, ended, outcome, tried_reason, latency_ms FROM recorded
)
SELECT id, token FROM recorded
"""
_HELD = (
    "SELECT DISTINCT worker FROM alerting_notification WHERE status = 'PENDING' AND lease_token IS NOT NULL"
)
_PRESENT = "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND classid = %s AND objsubid = 2"
PRESENCE_CLASS = 0x6F77  # "ow": keeps the presence of workers apart from other advisory locks


def claim_begin() -> None:
    """Wait until no other worker claims. The statements of a claim are planned for queues."""
    execute(_BEGIN_CLAIM, [_CLAIM_LOCK])


def leases_take(*, ids: Sequence[str], worker: int, now: datetime) -> list[Notification]:
    """Lease these notifications and return them in the same order, without changed notifications."""
    values = {"token": uuid.uuid4(), "until": now + LEASE, "worker": worker, "ids": list(ids), "now": now}
    leased = {row.id: row for row in Notification.objects.raw(_TAKE, values)}
    return [leased[id_] for id_ in ids if id_ in leased]


def leased_at(notification: Notification) -> datetime:
    """Return when the notification was leased; its lease is that of `leases_take`."""
    if notification.lease_until is None:
        raise ValueError(f"notification {notification.id} has no lease")
    return lease_began(notification.leased, notification.lease_until)


def lease_began(leased: datetime | None, until: datetime) -> datetime:
    """Return when a lease began. Earlier versions store only the end, and never prolong a lease."""
    return leased or until - LEASE


def is_prolonged(leased: datetime | None, until: datetime) -> bool:
    """Return whether a lease was prolonged, because its attempt takes long."""
    return until - lease_began(leased, until) > LEASE


@transaction.atomic(savepoint=False)
def leases_prolong(notifications: Sequence[Notification], *, now: datetime) -> set[str]:
    """Prolong the leases of these notifications, and return the ids of the notifications that are still
    leased.

    A worker prolongs the leases of attempts that take longer than a lease, such as mails to a slow mail
    server. If the worker dies, a prolonged lease ends like any other lease.
    """
    held = _leased(notifications).filter(status=NotificationStatus.PENDING.value)
    ids = set(held.select_for_update(no_key=True).order_by("id").values_list("id", flat=True))
    Notification.objects.filter(Among("id", ids)).update(lease_until=now + LEASE)
    return ids


def leases_release_with(notifications: Sequence[Notification], **changes: Any) -> int:
    """Change and release notifications that were leased together. Return how many leases were still valid."""
    return _leased(notifications).update(**{**RELEASED, "silenced_by": None, **changes})


def leases_lock(notifications: Sequence[Notification]) -> set[str]:
    """Lock the notifications whose leases are still valid, and return their ids."""
    return set(_leased(notifications).select_for_update().order_by("id").values_list("id", flat=True))


def leased_delete(notifications: Sequence[Notification]) -> None:
    """Delete notifications whose leases are still valid."""
    if notifications:
        _leased(notifications).delete()


def leases_give_back(notifications: Sequence[Notification]) -> None:
    """Release notifications that were leased and not sent."""
    _leased(notifications).update(**RELEASED)


def _leased(notifications: Sequence[Notification]) -> QuerySet[Notification]:
    """The notifications whose leases are still valid: the token of a lease is the fence."""
    tokens = {notification.lease_token for notification in notifications}
    ids = [notification.id for notification in notifications]
    return Notification.objects.filter(Among("id", ids), lease_token__in=tokens)


def attempts_record(results: Sequence[tuple[Notification, AttemptResult, TriedAttempt]]) -> list[bool]:
    """Write attempts and their results, and release the notifications. Return which leases were still valid.

    A worker that was suspended may have leased a notification twice: only the last lease is valid.
    """
    if not results:
        return []
    columns: dict[str, list[Any]] = {
        "ids": [notification.id for notification, *_ in results],
        "tokens": [notification.lease_token for notification, *_ in results],
        **{name: [result.get(name) for _, result, _ in results] for name in _CHANGED},
        "numbers": [tried.number for *_, tried in results],
        "ended": [tried.ended for *_, tried in results],
        "outcomes": [tried.status for *_, tried in results],
        "reasons": [tried.reason for *_, tried in results],
    }
    recorded = set(fetch_rows(_RECORD, columns))
    rows_counted(StoredKind.MESSAGES, (notification.group_id for notification, *_ in results), ATTEMPT_OCTETS)
    return [(notification.id, notification.lease_token) in recorded for notification, *_ in results]


def is_lapsed(until: datetime, now: datetime) -> bool:
    """Whether a lease with this end is over."""
    return not now <= until <= now + _LONGEST_LEASE


@transaction.atomic(savepoint=False)
def lapsed_leases_release(*, now: datetime, absent: Collection[int] = ()) -> int:
    """Release leases that are over, and leases of `absent` workers. Return their number.

    An attempt that had begun is recorded without an outcome: the notification stays "perhaps received".
    """
    held = Notification.objects.filter(status=NotificationStatus.PENDING.value, lease_token__isnull=False)
    lapsed = held.filter(lease_until__lt=now) | held.filter(lease_until__gt=now + _LONGEST_LEASE)
    lapsed |= held.filter(worker__in=absent)
    rows = list(lapsed.select_for_update(skip_locked=True))
    if not rows:
        return 0
    known = NotificationAttempt.objects.filter(notification__in=rows, number=F("notification__attempts"))
    ended = set(known.values_list("notification_id", flat=True))
    NotificationAttempt.objects.bulk_create(
        attempt_without_outcome(row, now) for row in rows if row.attempts and row.id not in ended
    )
    Notification.objects.filter(id__in=[row.id for row in rows]).update(**RELEASED)
    return len(rows)


def absent_workers() -> set[int]:
    """Return the workers that have leases and no presence lock: they died."""
    held = {worker for (worker,) in fetch_rows(_HELD) if worker is not None}
    return held - {worker for (worker,) in fetch_rows(_PRESENT, [PRESENCE_CLASS])} if held else held


def attempt_without_outcome(row: Notification, now: datetime) -> NotificationAttempt:
    """Return the attempt that a notification has begun, and of which no worker knows the outcome."""
    ended = min(row.lease_until or now, now)
    began = lease_began(row.leased, row.lease_until or now)
    return NotificationAttempt(
        notification_id=row.id,
        number=row.attempts,
        ended=ended,
        status=DeliveryStatus.RETRY.value,
        reason=AttemptFailure.NO_OUTCOME.value,
        latency_ms=round((ended - began).total_seconds() * 1000),
    )


_FORGOTTEN_AFTER = timedelta(days=1)


def worker_seen(
    *,
    name: str,
    now: datetime,
    clock_ahead: timedelta = timedelta(0),
    failing: tuple[str, datetime] | None = None,
) -> None:
    """Record that a worker is alive, and delete workers that were not seen for a day.

    `clock_ahead`: how far the clock of its machine is ahead of the clock of the database. `failing`: the loop
    that has failed for the longest time, and since when. A worker that was seen in the future is also
    deleted: a clock was wrong, so it is unknown when the worker was seen.
    """
    loop, since = failing or ("", None)
    seen = {"seen": now, "clock_ahead": clock_ahead, "failing_loop": loop, "failing_since": since}
    WorkerHeartbeat.objects.update_or_create(name=name, defaults=seen)
    WorkerHeartbeat.objects.filter(Q(seen__lt=now - _FORGOTTEN_AFTER) | Q(seen__gt=now + AHEAD)).delete()


def worker_stuck(*, name: str, loop: str, now: datetime) -> None:
    """Record that a worker ends, because one of its loops was stuck."""
    stuck = {"stuck_loop": loop, "stuck": now}
    WorkerHeartbeat.objects.update_or_create(
        name=name, defaults=stuck, create_defaults={"seen": now, **stuck}
    )
