"""The timeline of an alert: what happened when, and what is still to come. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from alerting.choices import DropReason
from alerting.rules.windows import WindowSpan


class MomentKind(StrEnum):
    """What a moment of the story is; of what happened at once the first in this order stands first."""

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
    """One thing that happened, or is to come: in words, with its reason, who did it, and what tells more."""

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
    """An event of the alert's acknowledgement: given until then, or with None taken back."""

    at: datetime
    until: datetime | None


def in_order(moments: Iterable[Moment]) -> tuple[Moment, ...]:
    """By time, the oldest first."""
    return tuple(sorted(moments, key=lambda one: (one.at, _ORDER[one.kind])))


FIRST_MOMENTS, NEWEST_MOMENTS = 30, 120
"""So many moments a page tells: the first and the newest."""


def cut(moments: Sequence[Moment]) -> tuple[tuple[Moment, ...], int]:
    """The moments a page tells, and how many are left out behind the first FIRST_MOMENTS of them."""
    left_out = len(moments) - FIRST_MOMENTS - NEWEST_MOMENTS
    if left_out <= 0:
        return tuple(moments), 0
    return (*moments[:FIRST_MOMENTS], *moments[-NEWEST_MOMENTS:]), left_out


def lapses(acknowledgings: Sequence[Acknowledging], end: datetime) -> Iterator[Moment]:
    """Where an acknowledgement ended by its own time, before `end`, and nobody had changed it by then.

    The acknowledgings are in the order they happened.
    """
    followed_by = [one.at for one in acknowledgings[1:]] + [end]
    for one, following in zip(acknowledgings, followed_by, strict=False):
        if one.until is not None and one.until < following:
            yield Moment(at=one.until, kind=MomentKind.LAPSED, text="The acknowledgement expired.")


def window_moments(windows: Iterable[WindowSpan], *, since: datetime, until: datetime) -> Iterator[Moment]:
    """Where windows held notifications back between `since` and `until`, inclusive."""
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
    """When a notification that was never tried was given up, as near as the log tells."""
    if reason == DropReason.ALERT_OVER and resolved is not None:
        return max(created, resolved)
    return min(max(due, created), now)
