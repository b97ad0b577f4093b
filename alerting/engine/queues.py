"""The queues of the workers: WITH clauses that list projects, destinations or agents with work, and claims.

Each clause returns each of them once, and NULL at the end. It reads an index from value to value, so the
length of a queue does not matter.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from alerting.engine.claim_rules import AT_ONE_DESTINATION, Candidate, LeasedNotification
from opsapi.sql import each_value, fetch_rows

LONGEST_PAUSE = timedelta(hours=2)
"""Retry-After is honoured up to an hour, so a longer pause means that the clock has stepped back."""

PROJECTS_WITH_SIGNALS = each_value(
    "waiting",
    "group_id",
    table="events_signal",
    where="failed IS NULL AND held_by IS NULL",
    order="group_id",
)
"""`waiting(group_id)`: the projects with signals to evaluate now.

A held signal is not read: it waits for other reports of its agent.
"""

PROJECTS_WITH_UNDECIDED = each_value(
    "waiting",
    "group_id",
    table="alerting_notification",
    where="status = 'PENDING' AND destination = '' AND lease_token IS NULL",
    order="group_id, due",
)
"""`waiting(group_id)`: the projects with notifications without a destination."""

DESTINATIONS_WITH_MESSAGES = each_value(
    "waiting",
    "destination",
    table="alerting_notification",
    where="status = 'PENDING' AND destination > '' AND lease_token IS NULL",
    order="destination",
)
"""`waiting(destination)`: the destinations with notifications that are due or become due."""

PROJECTS_WITH_TRACKED = each_value(
    "tracking", "group_id", table="alerting_alert", where="status = 'TRACKING'", order="group_id, opens"
)
"""`tracking(group_id)`: the projects with alerts whose delay has not passed, or that are due to open."""

PROJECTS_WITH_OVER = each_value(
    "ending",
    "group_id",
    table="alerting_alert",
    where="over IS NOT NULL AND status IN ('TRACKING', 'OPEN')",
    order="group_id, updated",
)
"""`ending(group_id)`: the projects with alerts that are over according to late reports."""

AGENTS_WITH_LATE = each_value(
    "reporting",
    "agent_id",
    table="events_signal",
    where="failed IS NULL AND agent_id IS NOT NULL",
    order="agent_id, coalesce(observed, created)",
)
"""`reporting(agent_id)`: the agents with late reports whose signals are not evaluated, or are held."""

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
) AS waiting ORDER BY turn, due, id LIMIT %(limit)s
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
       coalesce(place.failures = 0 AND place.answered IS NOT NULL, false)
  FROM alerting_notification AS n LEFT JOIN alerting_destination AS place ON place.id = n.destination
 WHERE n.status = 'PENDING' AND n.lease_token IS NOT NULL
"""


def undecided_notifications(*, now: datetime, limit: int, without: Collection[str]) -> list[str]:
    """Return the ids of the next due notifications without a destination; leave out projects."""
    rows = fetch_rows(_UNDECIDED, {"now": now, "limit": limit, "without": list(without)})
    return [notification_id for (notification_id,) in rows]


def claim_candidates(*, now: datetime) -> list[Candidate]:
    """Return the due notifications that may be sent, the first of each destination and subject."""
    values = {"now": now, "most": AT_ONE_DESTINATION, "clock_stepped_back": now + LONGEST_PAUSE}
    return [Candidate(*row) for row in fetch_rows(_CANDIDATES, values)]


def leased_notifications() -> list[LeasedNotification]:
    """Return the leases of all notifications."""
    return [LeasedNotification(*row) for row in fetch_rows(_LEASED)]
