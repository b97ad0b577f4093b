"""Claim: leases the notifications that a worker may send next.

`rules.claim_order` chooses among the candidates that are read here. Workers claim one after the other, so the
limits of destinations, hosts and projects apply to all workers together.
"""

from collections.abc import Callable, Collection
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from alerting.models import Notification
from alerting.rules.claim_order import AT_ONE_DESTINATION, Candidate, RunningRequest, choose
from alerting.selectors.queues import DESTINATIONS_WITH_MESSAGES, PROJECTS_WITH_UNDECIDED
from alerting.services.leases import is_lapsed, lapsed_leases_release, lease_began, leases_take
from opsapi.sql import execute, fetch_rows

UNDECIDED_AT_ONCE = 200
AT_ONCE = 64
"""The most notifications with a destination in one claim: a worker sends the first before it claims more."""
LONGEST_PAUSE = timedelta(hours=2)
"""Retry-After is honoured up to an hour, so a longer pause means that the clock has stepped back."""
_CLAIM_LOCK = 0x6F70636C61696D  # "opclaim"

# The statistics of a queue are always out of date. If they show a small table, PostgreSQL scans all of it for
# each candidate: 174,000 scans for 600 messages of a new installation. Every step of a claim has an index, so
# scans are disabled. All workers wait for this lock, so PostgreSQL ends a claim that is idle for 10 s.
_BEGIN_CLAIM = """
SELECT pg_advisory_xact_lock(%s), set_config('idle_in_transaction_session_timeout', '10s', true),
       set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)
"""

# Due notifications without a destination, projects in turn. Most are decided quickly, and afterwards have a
# destination, another due time or a result. Only the first rows of each project are read, so the length of a
# queue does not matter. Only this index has the order of project and due time, so PostgreSQL reads neither
# the log of a project nor other queues.
_UNDECIDED = f"""
{PROJECTS_WITH_UNDECIDED}
SELECT id FROM (
    SELECT first.id, first.due,
           row_number() OVER (PARTITION BY waiting.group_id ORDER BY first.due, first.sequence) AS turn
      FROM waiting CROSS JOIN LATERAL (
           SELECT n.id, n.due, n.sequence FROM alerting_notification AS n
            WHERE n.status = 'PENDING' AND n.destination = '' AND n.lease_token IS NULL
              AND (n.group_id, n.due) >= (waiting.group_id, '-infinity')
              AND (n.group_id, n.due) <= (waiting.group_id, %(now)s)
            ORDER BY n.group_id, n.due LIMIT %(limit)s) AS first
     WHERE waiting.group_id <> ALL(%(without)s)
    UNION ALL
    (SELECT id, due, row_number() OVER (ORDER BY due, sequence) AS turn FROM (
        SELECT id, due, sequence FROM alerting_notification
         WHERE status = 'PENDING' AND destination = '' AND lease_token IS NULL AND group_id IS NULL
           AND due <= %(now)s
         ORDER BY due LIMIT %(limit)s) AS of_no_project)
) AS waiting ORDER BY turn, due LIMIT %(limit)s
"""  # noqa: S608 - built from constants

# For each destination that may be tried, the due notifications that are the first for their subject. Only the
# first rows of each are read, so the length of a queue does not matter. The subselect replaces NOT EXISTS,
# which PostgreSQL may plan as a join of whole queues. The columns are the fields of `Candidate`.
_CANDIDATES = f"""
{DESTINATIONS_WITH_MESSAGES}
SELECT first.id, place.id, place.group_id, place.host, first.due, first.sequence,
       place.failures = 0 AND place.answered IS NOT NULL,
       down.host IS NOT NULL, place.tried, place.pace_ms * interval '1 millisecond'
  FROM waiting
  JOIN alerting_destination AS place ON place.id = waiting.destination
  LEFT JOIN alerting_unreachablehost AS down ON down.host = place.host
 CROSS JOIN LATERAL (
       SELECT n.id, n.due, n.sequence FROM alerting_notification AS n
        WHERE n.status = 'PENDING' AND n.destination > '' AND n.lease_token IS NULL
          AND n.destination = place.id AND n.due <= %(now)s
          AND (SELECT other.id FROM alerting_notification AS other
                WHERE other.status = 'PENDING' AND other.destination > ''
                  AND other.destination = n.destination AND other.subject = n.subject
                  AND (other.lease_token IS NOT NULL
                       OR ((other.sequence, other.id) < (n.sequence, n.id)
                           AND (other.due <= %(now)s OR other.first_attempt IS NOT NULL)))
                LIMIT 1) IS NULL
        ORDER BY n.due, n.sequence
        LIMIT CASE WHEN place.failures = 0 AND place.answered IS NOT NULL AND place.pace_ms = 0
                   THEN %(most)s ELSE 1 END) AS first
 WHERE (place.next_try IS NULL OR place.next_try <= %(now)s OR place.next_try > %(clock_stepped_back)s)
   AND (down.host IS NULL OR down.next_try <= %(now)s OR down.next_try > %(clock_stepped_back)s)
"""  # noqa: S608 - built from constants

_LEASED = """
SELECT n.destination, n.group_id, coalesce(place.host, ''), n.lease_until, n.leased, n.worker,
       place.failures = 0 AND place.answered IS NOT NULL
  FROM alerting_notification AS n LEFT JOIN alerting_destination AS place ON place.id = n.destination
 WHERE n.status = 'PENDING' AND n.lease_token IS NOT NULL
"""


@transaction.atomic
def claim(
    *,
    worker: int,
    slots: int,
    clock: Callable[[], datetime],
    limit: int = AT_ONCE,
    without: Collection[str] = (),
) -> list[Notification]:
    """Lease the next notifications for a worker, except of the projects `without`.

    Return the notifications to send, the most urgent first, and then due notifications without a
    destination: addressing them needs no slot.
    """
    execute(_BEGIN_CLAIM, [_CLAIM_LOCK])
    now = clock()  # not before: leases begin now, however long this worker has waited for the lock
    leased = _release_lapsed_and_read(now)
    waiting = fetch_rows(
        _UNDECIDED, {"now": now, "limit": min(UNDECIDED_AT_ONCE, limit * 4), "without": list(without)}
    )
    undecided = [notification_id for (notification_id,) in waiting]
    found = fetch_rows(
        _CANDIDATES, {"now": now, "most": AT_ONE_DESTINATION, "clock_stepped_back": now + LONGEST_PAUSE}
    )
    candidates = [each for each in (Candidate(*row) for row in found) if each.project not in without]
    running = [
        RunningRequest(
            destination=destination,
            project=project,
            host=host,
            began=lease_began(since, until),
            steady=bool(steady),
            mine=holder == worker,
        )
        for destination, project, host, until, since, holder, steady in leased
        if destination
    ]
    chosen = choose(candidates, running, slots=slots, now=now)[:limit]
    return leases_take(ids=[*chosen, *undecided], worker=worker, now=now) if chosen or undecided else []


def _release_lapsed_and_read(now: datetime) -> list[tuple[Any, ...]]:
    """Release the leases that have ended, and read the leased notifications."""
    leased = fetch_rows(_LEASED)
    if any(is_lapsed(row[3], now) for row in leased):
        lapsed_leases_release(now=now)
        return fetch_rows(_LEASED)
    return leased
