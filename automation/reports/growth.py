"""Counts what a project stores in a day (UTC), and limits what its reports, turns and publications store.

Alerts, messages and changes are counted by kind and not limited: a limit would keep alerts from opening.

A process adds up the bytes of a project and writes the sums rarely, so that nothing waits for the row of the
project. A process that ends loses what it has not written: about WRITE_AT, of the last WRITE_EVERY.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum

from django.conf import settings
from django.db import DatabaseError, transaction

from events.log.changes import NewEvent
from events.types import EventType
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.sql import fetch_rows
from opsapi.wire_json import write_json

EVENT_OCTETS = 1_200
"""The bytes of a usual event, with its indexes."""
_EVENT_WITHOUT_FACTS = 600
ALERT_OCTETS = 1_700 + 300 + 2 * EVENT_OCTETS
"""The bytes of an alert with its incident, and the events of its opening and end."""
MESSAGE_OCTETS = 900
"""The bytes of a notification with its indexes, without its attempts."""
ATTEMPT_OCTETS = 270
ANSWER_OCTETS = 400
"""The bytes of the stored answer to a report with an Idempotency-Key, with its indexes."""
WORDS = "MB of events, measurements and automation configurations a day"
WRITE_AT = 8_000_000
WRITE_EVERY = timedelta(minutes=10)
_MB = 1_000_000


class StoredKind(StrEnum):
    """What a project stores, as the columns of `StoredDay` name it. Only REPORTS are limited."""

    REPORTS = "octets"
    ALERTS = "alert_octets"
    MESSAGES = "message_octets"
    CHANGES = "change_octets"


_COLUMNS = [kind.value for kind in StoredKind]
# Of a project that is deleted meanwhile, nothing is written.
_WRITE = f"""
INSERT INTO automation_storedday AS known (group_id, day, {", ".join(_COLUMNS)})
SELECT id, %(day)s, {", ".join(f"%({name})s" for name in _COLUMNS)}
  FROM accesslist_project WHERE id = %(group)s AND deleted IS NULL FOR KEY SHARE {{lock}}
ON CONFLICT (group_id, day) DO UPDATE
   SET {", ".join(f"{name} = known.{name} + excluded.{name}" for name in _COLUMNS)}
RETURNING octets
"""  # noqa: S608 - the names are our own
_WRITE_OF_REPORT = _WRITE.format(lock="")
# A worker that sends messages does not wait for a request that deletes a project.
_WRITE_AFTER = _WRITE.format(lock="SKIP LOCKED")
_LIMITED_EVENTS = frozenset(
    {
        EventType.AUTOMATION_CONFIG_PUBLISHED_AUDIT,
        EventType.AUTOMATION_MOVE_BEGUN_AUDIT,
        EventType.AUTOMATION_MOVE_ENDED_AUDIT,
    }
)
"""The events of publications and turns, which are counted with these."""


@dataclass(slots=True)
class _Day:
    """The day of a project: limited bytes that all processes had written at `since`, and own bytes since.

    `others`: bytes of this process that are not limited, since they were written.
    """

    day: date
    since: datetime | None = None
    written: int = 0
    own: int = 0
    others: Counter[StoredKind] = field(default_factory=Counter)

    def is_due(self, today: date, now: datetime) -> bool:
        """Whether the own bytes must be written, and the bytes of others be read."""
        if self.since is None or self.day != today or self.own + self.others.total() >= WRITE_AT:
            return True
        return abs(now - self.since) >= WRITE_EVERY

    def begin(self, today: date, now: datetime) -> "_Day":
        """Begin to count again. Return what was counted until now and is to be written."""
        ended = _Day(self.day, own=self.own, others=self.others)
        written = 0 if self.day != today else self.written
        self.day, self.since, self.written, self.own, self.others = today, now, written, 0, Counter()
        return ended


_days: dict[str, _Day] = {}
_lock = threading.Lock()


def day_limited(*, group_id: str, now: datetime) -> None:
    """Call it before a report, a turn or an automation configuration is stored.

    Raises: ApiError: LIMIT_REACHED, if the project has stored OPSAPI_MAX_DAILY_MB today.
    """
    known = _written(group_id, now, _WRITE_OF_REPORT)
    if known.written + known.own >= settings.OPSAPI_MAX_DAILY_MB * _MB:
        note = "The setting is OPSAPI_MAX_DAILY_MB. The next day begins at midnight UTC."
        raise ApiError(ErrorCode.LIMIT_REACHED, WORDS, str(settings.OPSAPI_MAX_DAILY_MB), note=note)


def events_octets(events: Iterable[NewEvent]) -> int:
    """The bytes of events: an event with long names takes more than EVENT_OCTETS."""
    sizes = (len(write_json(event.facts.document())) if event.facts else 0 for event in events)
    return sum(max(EVENT_OCTETS, _EVENT_WITHOUT_FACTS + size) for size in sizes)


def day_counted(*, group_id: str, octets: int, now: datetime) -> None:
    """Count bytes that are stored and limited."""
    with _lock:
        _days.setdefault(group_id, _Day(_day_of(now))).own += octets


def rows_counted(kind: StoredKind, group_ids: Iterable[str | None], octets: int) -> None:
    """Count rows that are not limited, each of about `octets` bytes, by their projects.

    Rows without a project do not count. What is due is written after the transaction. What is counted first
    after midnight belongs to the day before.
    """
    numbers = Counter(group_id for group_id in group_ids if group_id is not None)
    _count(kind, {group_id: number * octets for group_id, number in numbers.items()})


def change_counted(*, group_id: str, events: Sequence[NewEvent], **_: object) -> None:
    """Count the events of a change. What is due is written after the transaction."""
    counted = [event for event in events if event.event_type not in _LIMITED_EVENTS]
    diffs = sum(len(write_json(event.diffs)) for event in counted if event.diffs)
    if counted:
        _count(StoredKind.CHANGES, {group_id: events_octets(counted) + diffs})


def _count(kind: StoredKind, octets: Mapping[str, int]) -> None:
    now = clock.now()
    today, due = _day_of(now), []
    with _lock:
        for group_id, number in octets.items():
            known = _days.setdefault(group_id, _Day(today))
            known.others[kind] += number
            if known.is_due(today, now):
                due.append(group_id)
    for group_id in due:
        # If that fails, it is logged, and the next count tries again.
        transaction.on_commit(_write_of(group_id, now), robust=True)


def _write_of(group_id: str, now: datetime) -> Callable[[], None]:
    """A function that writes what is due. Django names it in the log, which needs a function of its own."""

    def write_stored_octets() -> None:
        _written(group_id, now, _WRITE_AFTER)

    return write_stored_octets


def _day_of(now: datetime) -> date:
    return now.astimezone(UTC).date()


def _written(group_id: str, now: datetime, statement: str) -> _Day:
    """Write what is due, and return what is known of the day of a project."""
    today = _day_of(now)
    with _lock:
        known = _days.setdefault(group_id, _Day(today))
        ended = known.begin(today, now) if known.is_due(today, now) else None
    if ended:
        _write(group_id, known, ended, statement)
    return known


def _write(group_id: str, known: _Day, ended: _Day, statement: str) -> None:
    """Write what this process has counted, and read what all processes have written today.

    What is not written, because of a fault or a lock, is written later.
    """
    counted: Counter[StoredKind] = ended.others + Counter({StoredKind.REPORTS: ended.own})
    try:
        is_older = counted and ended.day != known.day
        if is_older and fetch_rows(statement, _values(group_id, ended.day, counted)):
            counted = Counter()
        rows = fetch_rows(statement, _values(group_id, known.day, counted))
    except DatabaseError:
        _count_again(known, counted)
        known.since = None
        raise
    if rows:
        [(known.written,)] = rows
    elif statement is _WRITE_AFTER:
        _count_again(known, counted)


def _count_again(known: _Day, counted: Counter[StoredKind]) -> None:
    with _lock:
        known.own += counted.pop(StoredKind.REPORTS, 0)
        known.others += counted


def _values(group_id: str, day: date, counted: Mapping[StoredKind, int]) -> dict[str, object]:
    return {"group": group_id, "day": day, **{kind.value: counted.get(kind, 0) for kind in StoredKind}}
