"""Maintenance windows: where one stands (decisions 6). Pure."""

from datetime import datetime
from enum import StrEnum


class WindowState(StrEnum):
    """Where a window stands; follows from the time alone and is never stored."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    EXPIRED = "EXPIRED"


def window_state(start: datetime, end: datetime, now: datetime) -> WindowState:
    """Whether a window is to come, in effect, or over: `start` is inclusive, `end` exclusive."""
    if now < start:
        return WindowState.PENDING
    return WindowState.ACTIVE if now < end else WindowState.EXPIRED
