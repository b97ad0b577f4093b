"""How long signals and due messages have waited for a worker: do evaluation and delivery make progress?"""

from datetime import datetime, timedelta
from typing import NamedTuple

from opsapi.clock import age_words
from opsapi.sql import fetch_rows

LATE_AFTER = timedelta(minutes=1)
"""A signal or message that has waited for longer is late."""

# Each statement begins with SELECT, because other statements count as writes. It is one value, so it can be
# part of another statement.

# A signal with a time in the future was written while a clock was wrong: its age is unknown.
_OLDEST_SIGNAL = """
SELECT created FROM events_signal WHERE failed IS NULL AND created <= %(now)s ORDER BY id LIMIT 1
"""

# The first part reads the messages whose receivers are not decided yet, and the second part the oldest of
# each destination that accepts messages. It goes through the index from one destination to the next, so the
# length of a queue does not matter. A destination that failed, never answered, or asked for a pause holds its
# messages back, and so does its host. A destination that was just tried makes progress.
_OLDEST_MESSAGE = """
SELECT least(
    (SELECT min(due) FROM alerting_notification
      WHERE status = 'PENDING' AND destination = '' AND lease_token IS NULL AND due <= %(now)s),
    (WITH RECURSIVE waiting(destination) AS (
        (SELECT destination FROM alerting_notification
          WHERE status = 'PENDING' AND destination > '' AND lease_token IS NULL
          ORDER BY destination LIMIT 1)
        UNION ALL
        SELECT (SELECT n.destination FROM alerting_notification AS n
                 WHERE n.status = 'PENDING' AND n.destination > '' AND n.lease_token IS NULL
                   AND n.destination > waiting.destination
                 ORDER BY n.destination LIMIT 1)
          FROM waiting WHERE waiting.destination IS NOT NULL
    )
    SELECT min(greatest(first.due, place.tried))
      FROM waiting
      JOIN alerting_destination AS place ON place.id = waiting.destination
     CROSS JOIN LATERAL (
           SELECT due FROM alerting_notification AS n
            WHERE n.status = 'PENDING' AND n.destination > '' AND n.lease_token IS NULL
              AND n.destination = place.id AND n.due <= %(now)s
            ORDER BY n.due LIMIT 1) AS first
     WHERE place.failures = 0 AND place.answered IS NOT NULL AND place.pace_ms = 0
       AND (place.next_try IS NULL OR place.next_try <= %(now)s)
       AND NOT EXISTS (SELECT FROM alerting_unreachablehost AS down WHERE down.host = place.host)))
"""

_OLDEST_OF_BOTH = f"SELECT ({_OLDEST_SIGNAL}), ({_OLDEST_MESSAGE})"


class LongestWaits(NamedTuple):
    """How long the oldest unevaluated signal and the oldest due message have waited; zero without any.

    Messages that are held back on purpose do not count: by their destination or its host, a maintenance
    window, an acknowledgement, or a delay.
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
    [(signal, message)] = fetch_rows(_OLDEST_OF_BOTH, {"now": now})
    return LongestWaits(_wait(signal, now), _wait(message, now))


def evaluation_late_words(now: datetime) -> str | None:
    """Why alerts are late, None if they are not."""
    moments = [moment for (moment,) in fetch_rows(_OLDEST_SIGNAL, {"now": now})]
    return _evaluation_words(_wait(moments[0] if moments else None, now))


def delivery_late_words(now: datetime) -> str | None:
    """Why messages are late, None if they are not."""
    [(moment,)] = fetch_rows(_OLDEST_MESSAGE, {"now": now})
    return _delivery_words(_wait(moment, now))


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
