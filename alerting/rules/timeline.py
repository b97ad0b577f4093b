"""The timeline of an alert: what happened, and what comes next. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import islice

from alerting.choices import DropReason
from alerting.rules.windows import WindowRule

MOST_OCCURRENCES = 20
"""The most occurrences of a window in a timeline."""


class TimelineEntryKind(StrEnum):
    """The kind of a moment. Moments of the same time are in this order."""

    BEGAN = "began"
    OPENED = "opened"
    SILENCED = "window began"
    UNSILENCED = "window ended"
    ACKNOWLEDGED = "acknowledged"
    UNACKNOWLEDGED = "acknowledgement taken back"
    LAPSED = "acknowledgement lapsed"
    RESENT = "sent again"
    OTHER = "recorded"
    CLOSED = "closed"
    CANCELLED = "cancelled"
    NOTIFIED = "notified"
    NOT_YET = "not told yet"
    NOT_NOTIFIED = "not told"


_ORDER = {kind: place for place, kind in enumerate(TimelineEntryKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineEntry:
    """A past or future moment of the timeline: text, reason, author and link."""

    at: datetime
    kind: TimelineEntryKind
    text: str
    reason: str | None = None
    who: str | None = None
    event_id: str | None = None
    notification_id: str | None = None
    window_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgementChange:
    """A change of the acknowledgement: valid until `until`, or removed if None."""

    at: datetime
    until: datetime | None


def in_order(entries: Iterable[TimelineEntry]) -> tuple[TimelineEntry, ...]:
    """By time, the oldest first."""
    return tuple(sorted(entries, key=lambda entry: (entry.at, _ORDER[entry.kind])))


FIRST_ENTRIES, NEWEST_ENTRIES = 30, 120
"""Maximum number of moments on a page: the first and the newest."""


def cut(entries: Sequence[TimelineEntry]) -> tuple[tuple[TimelineEntry, ...], int]:
    """The moments on a page, and how many are left out after the first FIRST_ENTRIES."""
    left_out = len(entries) - FIRST_ENTRIES - NEWEST_ENTRIES
    if left_out <= 0:
        return tuple(entries), 0
    return (*entries[:FIRST_ENTRIES], *entries[-NEWEST_ENTRIES:]), left_out


def lapses(changes: Sequence[AcknowledgementChange], end: datetime) -> Iterator[TimelineEntry]:
    """Expiries of acknowledgements before `end` that nobody had changed by then.

    The acknowledgements are in chronological order.
    """
    followed_by = [change.at for change in changes[1:]] + [end]
    for one, following in zip(changes, followed_by, strict=False):
        if one.until is not None and one.until < following:
            yield TimelineEntry(
                at=one.until, kind=TimelineEntryKind.LAPSED, text="The acknowledgement expired."
            )


def window_entries(
    windows: Iterable[WindowRule], *, since: datetime, until: datetime
) -> Iterator[TimelineEntry]:
    """When windows muted notifications between `since` and `until`, inclusive.

    Of a window that recurs, the first occurrences.
    """
    for window in windows:
        for begins, ends in islice(window.occurrences(since), MOST_OCCURRENCES):
            if begins > until:
                break
            yield TimelineEntry(
                at=max(begins, since),
                kind=TimelineEntryKind.SILENCED,
                text=f"Maintenance window {window.name} started to mute notifications.",
                window_id=window.id,
            )
            if ends <= until:
                yield TimelineEntry(
                    at=ends,
                    kind=TimelineEntryKind.UNSILENCED,
                    text=f"Maintenance window {window.name} ended.",
                    window_id=window.id,
                )


def settled_at(
    *, due: datetime, created: datetime, reason: str | None, resolved: datetime | None, now: datetime
) -> datetime:
    """When a notification without attempts was given up, as precisely as the log knows."""
    if reason == DropReason.ALERT_OVER and resolved is not None:
        return max(created, resolved)
    return min(max(due, created), now)
