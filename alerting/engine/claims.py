"""Claim: leases the notifications that a worker may send next.

`engine.claim_rules` chooses among the candidates that are read here. Workers claim one after the other, so
the limits of destinations, hosts and projects apply to all workers together.
"""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from alerting.engine.claim_rules import LeasedNotification, RunningRequest, choose
from alerting.engine.leases import is_lapsed, is_prolonged, lease_began
from alerting.engine.ledger import Ledger
from alerting.engine.models import Notification
from alerting.engine.postgresql import POSTGRESQL

UNDECIDED_AT_ONCE = 200
AT_ONCE = 64
"""The most notifications with a destination in one claim: a worker sends the first before it claims more."""


def claim(
    *,
    worker: int,
    slots: int,
    clock: Callable[[], datetime],
    limit: int = AT_ONCE,
    without: Collection[str] = (),
    ledger: Ledger = POSTGRESQL,
) -> list[Notification]:
    """Lease the next notifications for a worker, except of the projects `without`.

    Return the notifications to send, the most urgent first, and then due notifications without a
    destination: addressing them needs no slot.
    """
    with ledger.transaction():
        ledger.begin_claim()
        now = clock()  # not before: leases begin now, however long this worker has waited for the lock
        leased = _release_lapsed_and_read(ledger, now)
        undecided = ledger.undecided(now=now, limit=min(UNDECIDED_AT_ONCE, limit * 4), without=without)
        candidates = [
            candidate for candidate in ledger.candidates(now=now) if candidate.project not in without
        ]
        chosen = []
        if candidates:  # most of the time there are none
            running = [_running(row, worker) for row in leased if row.destination]
            chosen = choose(candidates, running, slots=slots, now=now)[:limit]
        if not chosen and not undecided:
            return []
        return ledger.take(ids=[*chosen, *undecided], worker=worker, now=now)


def _running(row: LeasedNotification, worker: int) -> RunningRequest:
    return RunningRequest(
        destination=row.destination,
        project=row.project,
        host=row.host,
        began=lease_began(row.leased, row.until),
        # Further mails do not wait until a slow mail server replies.
        steady=row.steady or is_prolonged(row.leased, row.until),
        mine=row.worker == worker,
    )


def _release_lapsed_and_read(ledger: Ledger, now: datetime) -> Sequence[LeasedNotification]:
    """Release the leases that have ended, and read the leased notifications."""
    leased = ledger.leased()
    if any(is_lapsed(row.until, now) for row in leased):
        ledger.release_lapsed(now=now)
        return ledger.leased()
    return leased
