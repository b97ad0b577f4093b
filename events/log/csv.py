"""Search results as a CSV file, streamed while it is read (RFC 4180), a few files at a time."""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from threading import RLock
from weakref import finalize

from django.conf import settings

from events.log.csv_cells import csv_lines, json_cell, text_cell
from events.log.models import Event
from events.log.search import LOOKED_BACK, EventSearch, SearchPage, search_page
from events.wording import about, acting
from opsapi.clock import wire_time

MOST_ROWS = 1_000_000
"""Maximum number of events in a file, and of events searched for it."""
LONGEST = timedelta(minutes=10)
"""Maximum time to write a file, because it occupies a thread of the web process."""
COLUMNS = (
    "id",
    "created",
    "eventTypeName",
    "groupId",
    "groupName",
    "orgId",
    "alertId",
    "who",
    "remoteAddress",
    "target",
    "details",
    "changes",
)
_AT_ONCE = 1_000
_IN_A_PART = 100
"""Small enough that a slow reader gets a page before the web process times out (10 s)."""
_MINUTES = f"{LONGEST // timedelta(minutes=1)} minutes"

Names = Callable[[Collection[str]], Mapping[str, str]]
"""Project IDs → names of the readable projects."""


Clock = Callable[[], datetime]


def events_csv(search: EventSearch, *, names: Names, clock: Clock) -> Generator[str]:
    """Parts of the file, newest first. A file that is cut says so in its last record.

    Each page is a separate statement, so that no transaction stays open during a download.
    """
    ends = clock() + LONGEST
    yield csv_lines([COLUMNS])
    read, page = 0, SearchPage((), None)
    while read < MOST_ROWS and clock() < ends:
        page = search_page(search, size=_AT_ONCE, place=page.next)
        yield from _parts(page, names)
        if page.next is None:
            return
        read += _AT_ONCE if page.looked_to is None else LOOKED_BACK
    yield csv_lines([_cut(page, f"{MOST_ROWS:,} events" if read >= MOST_ROWS else _MINUTES)])


def _parts(page: SearchPage, names: Names) -> Iterator[str]:
    if page.events:
        known = names({event.group_id for event in page.events if event.group_id})
    for start in range(0, len(page.events), _IN_A_PART):
        yield csv_lines(_record(event, known) for event in page.events[start : start + _IN_A_PART])


def _record(event: Event, names: Mapping[str, str]) -> tuple[str, ...]:
    details = event.details
    return (
        event.id,
        wire_time(event.created),
        event.event_type,
        event.group_id or "",
        text_cell(names.get(event.group_id or "", "")),
        event.org_id or "",
        event.alert_id or "",
        text_cell(acting(details) or ""),
        text_cell(details.get("remoteAddress", "")),
        text_cell(about(details)),
        json_cell(details),
        json_cell(event.diffs),
    )


def _cut(page: SearchPage, after: str) -> tuple[str, ...]:
    """A record with the usual number of cells, as all records of a file (RFC 4180, 2.4)."""
    until = f" older than {wire_time(page.next.created)}" if page.next else ""
    text = f"The file ends after {after}; there may be more{until}. Choose a time range."
    return (text, *[""] * (len(COLUMNS) - 1))


MOST_AT_ONCE = max(1, settings.OPSAPI_THREADS // 4)
"""Maximum number of downloads in a web process; the other threads serve everybody else."""
FULL_RETRY_SECONDS = 30


class Full(StrEnum):
    """Why a download must wait; the value is the text for the operator."""

    OF_ALL = "The server is creating the maximum number of files."
    OF_ONE = "Your previous file is still being created. You can download one file at a time."


class DownloadSlots:
    """The download slots of a process: `most`, and at most one per operator."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held_by: set[str] = set()
        # A download that is garbage-collected releases its slot in whichever thread that happens.
        self._lock = RLock()

    def take(self, user_id: str) -> Full | None:
        """A slot for the operator, or the reason why there is none."""
        with self._lock:
            if user_id in self._held_by:
                return Full.OF_ONE
            if len(self._held_by) >= self._most:
                return Full.OF_ALL
            self._held_by.add(user_id)
            return None

    def give_back(self, user_id: str) -> None:
        """Release the operator's slot."""
        with self._lock:
            self._held_by.remove(user_id)


_slots = DownloadSlots(MOST_AT_ONCE)


class Download:
    """The parts of a file. Its slot is released once, when the file is closed.

    A file that nobody closes, or reads, releases it when it is garbage-collected.
    """

    def __init__(self, parts: Generator[str], places: DownloadSlots, user_id: str) -> None:
        self._parts = parts
        self._give_back = finalize(self, places.give_back, user_id)

    def __iter__(self) -> "Download":
        return self

    def __next__(self) -> str:
        return next(self._parts)

    def close(self) -> None:
        """Stop writing. The server calls this at the end of every response."""
        try:
            self._parts.close()
        finally:
            self._give_back()


def download(parts: Generator[str], *, user_id: str) -> Download | Full:
    """The file in a slot of the operator, or the reason why this process cannot write it now."""
    return _slots.take(user_id) or Download(parts, _slots, user_id)
