"""Counts what reports, turns and publications of a project store in a day (UTC), and limits it.

A process adds up the bytes of a project and writes the sum rarely, so that reports do not wait for the row of
their project. A process that ends loses what it has not written: at most WRITE_AT, of the last WRITE_EVERY.
"""

import threading
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.conf import settings
from django.db import DatabaseError

from events.log.changes import NewEvent
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.sql import fetch_rows
from opsapi.wire_json import write_json

EVENT_OCTETS = 1_200
"""The bytes of a usual event, with its indexes."""
_EVENT_WITHOUT_FACTS = 600
ANSWER_OCTETS = 400
"""The bytes of the stored answer to a report with an Idempotency-Key, with its indexes."""
WORDS = "MB of events, measurements and automation configurations a day"
WRITE_AT = 8_000_000
WRITE_EVERY = timedelta(minutes=10)
_MB = 1_000_000

# Of a project that is deleted meanwhile, nothing is written.
_WRITE = """
INSERT INTO automation_storedday AS known (group_id, day, octets)
SELECT id, %(day)s, %(octets)s FROM accesslist_project WHERE id = %(group)s AND deleted IS NULL FOR KEY SHARE
ON CONFLICT (group_id, day) DO UPDATE SET octets = known.octets + excluded.octets
RETURNING octets
"""


@dataclass(slots=True)
class _Day:
    """The day of a project: the bytes all processes had written at `since`, and of this process since."""

    day: date
    since: datetime | None = None
    written: int = 0
    own: int = 0

    def is_due(self, today: date, now: datetime) -> bool:
        """Whether the own bytes must be written, and the bytes of others be read."""
        if self.since is None or self.day != today or self.own >= WRITE_AT:
            return True
        return abs(now - self.since) >= WRITE_EVERY


_days: dict[str, _Day] = {}
_lock = threading.Lock()


def day_limited(*, group_id: str, now: datetime) -> None:
    """Call it before a report, a turn or an automation configuration is stored.

    Raises: ApiError: LIMIT_REACHED, if the project has stored OPSAPI_MAX_DAILY_MB today.
    """
    today = now.astimezone(UTC).date()
    with _lock:
        known = _days.setdefault(group_id, _Day(today))
        is_due = known.is_due(today, now)
        ended = _Day(known.day, own=known.own)
        if is_due:
            written = 0 if known.day != today else known.written
            known.day, known.since, known.written, known.own = today, now, written, 0
    if is_due:
        _write(group_id, known, ended)
    if known.written + known.own >= settings.OPSAPI_MAX_DAILY_MB * _MB:
        note = "The setting is OPSAPI_MAX_DAILY_MB. The next day begins at midnight UTC."
        raise ApiError(ErrorCode.LIMIT_REACHED, WORDS, str(settings.OPSAPI_MAX_DAILY_MB), note=note)


def events_octets(events: Iterable[NewEvent]) -> int:
    """The bytes of events: an event with long names takes more than EVENT_OCTETS."""
    sizes = (len(write_json(event.facts.document())) if event.facts else 0 for event in events)
    return sum(max(EVENT_OCTETS, _EVENT_WITHOUT_FACTS + size) for size in sizes)


def day_counted(*, group_id: str, octets: int, now: datetime) -> None:
    """Count bytes that are stored."""
    with _lock:
        _days.setdefault(group_id, _Day(now.astimezone(UTC).date())).own += octets


def _write(group_id: str, known: _Day, ended: _Day) -> None:
    """Write what this process has counted, and read what all processes have written today."""
    own = ended.own
    try:
        if ended.day != known.day and own:
            fetch_rows(_WRITE, {"group": group_id, "day": ended.day, "octets": own})
            own = 0
        rows = fetch_rows(_WRITE, {"group": group_id, "day": known.day, "octets": own})
    except DatabaseError:
        with _lock:
            known.own, known.since = known.own + own, None
        raise
    known.written = next((octets for (octets,) in rows), 0)
