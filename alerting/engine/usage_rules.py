"""The share of workers' time that a project used. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

SHARE_SECONDS: Final = 20.0
"""The seconds of workers' time that a project may use in a minute before the console shows a notice."""
UNIT_SECONDS: Final = 0.5
"""Projects that differ by less than this take equal turns."""
LEAST_COUNTED_SECONDS: Final = 0.1
"""Shorter work is not counted: counting it would take longer than it is worth."""
NOTICE_MINUTES: Final = 10
"""Minutes after an excess in which the console shows a notice, and no further event is recorded."""


@dataclass(frozen=True, slots=True)
class Usage:
    """The seconds that a project used in a minute, and in the minute before.

    `exceeded`: the last minute in which it exceeded its share; None if it never did.
    """

    minute: int = 0
    seconds: float = 0.0
    seconds_before: float = 0.0
    exceeded: int | None = None

    def at(self, now: datetime) -> "Usage":
        """The usage as it counts now."""
        minute = minute_of(now)
        if self.minute == minute:
            return self
        before = self.seconds if self.minute == minute - 1 else 0.0
        return replace(self, minute=minute, seconds=0.0, seconds_before=before)

    def add(self, seconds: float, now: datetime) -> "Usage":
        """The usage after more work, which marks the minute if it exceeds the share."""
        current = self.at(now)
        current = replace(current, seconds=current.seconds + seconds)
        return replace(current, exceeded=current.minute) if current.seconds > SHARE_SECONDS else current

    def has_exceeded(self, now: datetime) -> bool:
        """Whether it exceeded its share in the last NOTICE_MINUTES."""
        return self.exceeded is not None and self.exceeded in noticed_minutes(now)


def minute_of(now: datetime) -> int:
    """The number of the minute."""
    return int(now.timestamp() // 60)


def noticed_minutes(now: datetime) -> range:
    """The minutes in which an excess still causes a notice."""
    minute = minute_of(now)
    return range(minute - NOTICE_MINUTES + 1, minute + 1)
