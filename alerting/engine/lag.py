"""How long signals and due messages have waited for a worker: do evaluation and delivery make progress?"""

from datetime import datetime, timedelta
from typing import NamedTuple

from alerting.engine.queues import DESTINATIONS_WITH_MESSAGES, PROJECTS_WITH_SIGNALS, PROJECTS_WITH_UNDECIDED
from alerting.engine.usage_rules import noticed_minutes
from automation.quantities import counted_words
from opsapi.clock import age_words
from opsapi.sql import fetch_rows

LATE_AFTER = timedelta(minutes=1)
"""A signal or message that has waited for longer is late."""

# A project that exceeded its share waits while other projects have work. This is by design, and a notice says
# it.
_IS_OVER_SHARE = """
EXISTS (SELECT FROM alerting_projectusage AS used
         WHERE used.group_id = waiting.group_id AND used.exceeded BETWEEN %(first)s AND %(last)s)
"""


def _of_projects(*parts: str) -> str:
    """Return a statement about the rows of all parts, which have the columns `group_id` and `since`.

    Its row has the oldest time of the projects within their share, and the number of other projects that
    have waited for longer than LATE_AFTER. It begins with SELECT, because other statements count as writes.
    """
    rows = " UNION ALL ".join(f"SELECT * FROM ({part}) AS part" for part in parts)  # noqa: S608 - constants
    return f"""
SELECT min(since) FILTER (WHERE NOT is_over),
       count(DISTINCT group_id) FILTER (WHERE is_over AND since < %(late)s)
  FROM (SELECT group_id, since, {_IS_OVER_SHARE} AS is_over FROM ({rows}) AS waiting) AS waiting
"""  # noqa: S608 - built from constants


# A signal with a time in the future was written while a clock was wrong: its age is unknown.
_SIGNALS = _of_projects(
    f"""
{PROJECTS_WITH_SIGNALS}
SELECT waiting.group_id, first.created AS since FROM waiting CROSS JOIN LATERAL (
       SELECT created FROM events_signal AS signal
        WHERE signal.group_id = waiting.group_id AND signal.failed IS NULL AND signal.held_by IS NULL
          AND signal.created <= %(now)s
        ORDER BY signal.group_id, signal.id LIMIT 1) AS first
""",  # noqa: S608 - built from constants
    """
SELECT NULL AS group_id, min(created) AS since FROM events_signal
 WHERE group_id IS NULL AND failed IS NULL AND held_by IS NULL AND created <= %(now)s
""",
)

# The first parts read the messages whose receivers are not decided yet, and the last part the oldest of each
# destination that accepts messages. A destination that failed, never answered, or asked for a pause holds its
# messages back, and so does its host. A destination that was just tried makes progress.
_MESSAGES = _of_projects(
    f"""
{PROJECTS_WITH_UNDECIDED}
SELECT waiting.group_id, first.due AS since FROM waiting CROSS JOIN LATERAL (
       SELECT due FROM alerting_notification AS n
        WHERE n.status = 'PENDING' AND n.destination = '' AND n.lease_token IS NULL
          AND (n.group_id, n.due) >= (waiting.group_id, '-infinity')
          AND (n.group_id, n.due) <= (waiting.group_id, %(now)s)
        ORDER BY n.group_id, n.due LIMIT 1) AS first
""",  # noqa: S608 - built from constants
    """
SELECT NULL AS group_id, min(due) AS since FROM alerting_notification
 WHERE status = 'PENDING' AND destination = '' AND lease_token IS NULL AND group_id IS NULL
   AND due <= %(now)s
""",
    f"""
{DESTINATIONS_WITH_MESSAGES}
SELECT place.group_id, greatest(first.due, place.tried) AS since
  FROM waiting
  JOIN alerting_destination AS place ON place.id = waiting.destination
 CROSS JOIN LATERAL (
       SELECT due FROM alerting_notification AS n
        WHERE n.status = 'PENDING' AND n.destination > '' AND n.lease_token IS NULL
          AND n.destination = place.id AND n.due <= %(now)s
        ORDER BY n.due LIMIT 1) AS first
 WHERE place.failures = 0 AND place.answered IS NOT NULL AND place.pace_ms = 0
   AND (place.next_try IS NULL OR place.next_try <= %(now)s)
   AND NOT EXISTS (SELECT FROM alerting_unreachablehost AS down WHERE down.host = place.host)
""",  # noqa: S608 - built from constants
)

_BOTH = f"SELECT * FROM ({_SIGNALS}) AS signals, ({_MESSAGES}) AS messages"  # noqa: S608 - built from constants


class LongestWaits(NamedTuple):
    """How long the oldest unevaluated signal and the oldest due message have waited; zero without any.

    Messages that are held back on purpose do not count: by their destination or its host, a maintenance
    window, an acknowledgement, or a delay. Projects that have exceeded their share of the workers' time do
    not count either (`engine.usage_rules`).
    """

    signal: timedelta
    message: timedelta

    @property
    def evaluation_words(self) -> str | None:
        """Why alerts are late, None if they are not."""
        return _evaluation_words(self.signal)

    @property
    def delivery_words(self) -> str | None:
        """Why messages are late, None if they are not."""
        return _delivery_words(self.message)


def longest_waits(now: datetime) -> LongestWaits:
    """Return how long signals and messages have waited, in one statement."""
    [(signal, _, message, _)] = fetch_rows(_BOTH, _parameters(now))
    return LongestWaits(_wait(signal, now), _wait(message, now))


def evaluation_late_words(now: datetime) -> str | None:
    """Why alerts are late, None if they are not."""
    [(moment, _)] = fetch_rows(_SIGNALS, _parameters(now))
    return _evaluation_words(_wait(moment, now))


def delivery_late_words(now: datetime) -> str | None:
    """Why messages are late, None if they are not."""
    [(moment, _)] = fetch_rows(_MESSAGES, _parameters(now))
    return _delivery_words(_wait(moment, now))


def evaluation_share_words(now: datetime) -> str | None:
    """How many projects that exceeded their share wait for evaluation, in words; None if there are none."""
    [(_, projects)] = fetch_rows(_SIGNALS, _parameters(now))
    return _share_words(projects, "signals")


def delivery_share_words(now: datetime) -> str | None:
    """How many projects that exceeded their share wait for delivery, in words; None if there are none."""
    [(_, projects)] = fetch_rows(_MESSAGES, _parameters(now))
    return _share_words(projects, "messages")


def _parameters(now: datetime) -> dict[str, object]:
    minutes = noticed_minutes(now)
    return {"now": now, "late": now - LATE_AFTER, "first": minutes.start, "last": minutes.stop - 1}


def _share_words(projects: int, what: str) -> str | None:
    if not projects:
        return None
    have, their = ("has", "its") if projects == 1 else ("have", "their")
    counted = counted_words(projects, "project")
    return f"{counted} {have} exceeded {their} share of the workers' time: {their} {what} are late"


def _wait(since: datetime | None, now: datetime) -> timedelta:
    return max(now - since, timedelta(0)) if since else timedelta(0)


def _evaluation_words(wait: timedelta) -> str | None:
    if wait <= LATE_AFTER:
        return None
    return f"alerts are late: the oldest signal has waited for evaluation for {age_words(wait)}"


def _delivery_words(wait: timedelta) -> str | None:
    if wait <= LATE_AFTER:
        return None
    return f"messages are late: the oldest due message has waited for a worker for {age_words(wait)}"
