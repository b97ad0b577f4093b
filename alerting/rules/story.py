"""The timeline of an alert: what happened, and what comes next. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from alerting.choices import DropReason
from alerting.rules.windows import WindowSpan


class MomentKind(StrEnum):
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
    TOLD = "told"
    NOT_YET = "not told yet"
    NOT_TOLD = "not told"


_ORDER = {kind: place for place, kind in enumerate(MomentKind)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """A past or future moment of the timeline: text, reason, author and link."""

    at: datetime
    kind: MomentKind
    text: str
    reason: str | None = None
    who: str | None = None
    event_id: str | None = None
    notification_id: str | None = None
    window_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledging:
    """A change of the acknowledgement: valid until `until`, or removed if None."""

    at: datetime
    until: datetime | None


def in_order(moments: Iterable[Moment]) -> tuple[Moment, ...]:
    """By time, the oldest first."""
    return tuple(sorted(moments, key=lambda one: (one.at, _ORDER[one.kind])))


FIRST_MOMENTS, NEWEST_MOMENTS = 30, 120
"""Maximum number of moments on a page: the first and the newest."""


def cut(moments: Sequence[Moment]) -> tuple[tuple[Moment, ...], int]:
    """The moments on a page, and how many are left out after the first FIRST_MOMENTS."""
    left_out = len(moments) - FIRST_MOMENTS - NEWEST_MOMENTS
    if left_out <= 0:
        return tuple(moments), 0
    return (*moments[:FIRST_MOMENTS], *moments[-NEWEST_MOMENTS:]), left_out


def lapses(acknowledgings: Sequence[Acknowledging], end: datetime) -> Iterator[Moment]:
    """Expiries of acknowledgements before `end` that nobody had changed by then.

    The acknowledgements are in chronological order.
    """
    followed_by = [one.at for one in acknowledgings[1:]] + [end]
    for one, following in zip(acknowledgings, followed_by, strict=False):
        if one.until is not None and one.until < following:
            yield Moment(at=one.until, kind=MomentKind.LAPSED, text="The acknowledgement expired.")


def window_moments(windows: Iterable[WindowSpan], *, since: datetime, until: datetime) -> Iterator[Moment]:
    """When windows muted notifications between `since` and `until`, inclusive."""
    for one in windows:
        if one.end <= since or one.start > until:
            continue
        began = f"Maintenance window {one.name} started to mute notifications."
        yield Moment(at=max(one.start, since), kind=MomentKind.SILENCED, text=began, window_id=one.id)
        if one.end <= until:
            ended = f"Maintenance window {one.name} ended."
            yield Moment(at=one.end, kind=MomentKind.UNSILENCED, text=ended, window_id=one.id)


def settled_at(
    *, due: datetime, created: datetime, reason: str | None, resolved: datetime | None, now: datetime
) -> datetime:
    """When a notification without attempts was given up, as precisely as the log knows."""
    if reason == DropReason.ALERT_OVER and resolved is not None:
        return max(created, resolved)
    return min(max(due, created), now)
