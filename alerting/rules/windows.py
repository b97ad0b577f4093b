"""Maintenance windows: whether a window is pending, active or over, and which window silences. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class WindowState(StrEnum):
    """The state of a window; it follows from the time alone and is never stored."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    EXPIRED = "EXPIRED"


def window_state(start: datetime, end: datetime, now: datetime) -> WindowState:
    """Whether a window is to come, in effect, or over: `start` is inclusive, `end` exclusive."""
    if now < start:
        return WindowState.PENDING
    return WindowState.ACTIVE if now < end else WindowState.EXPIRED


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowSpan:
    """A maintenance window of the alert's category: `end` is exclusive."""

    id: str
    start: datetime
    end: datetime
    description: str | None = None

    @property
    def name(self) -> str:
        """The description, or the id."""
        return f"“{self.description}”" if self.description else self.id


def covering(windows: Iterable[WindowSpan], moment: datetime) -> WindowSpan | None:
    """Of the windows of an alert's category, the active window that ends last.

    Delivery and the page of an alert both use it.
    """
    active = [
        window for window in windows if window_state(window.start, window.end, moment) is WindowState.ACTIVE
    ]
    return max(active, key=lambda window: (window.end, window.id), default=None)
