"""The time by the clock of the platform: times of the document are compared with it."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Callable

_TOLERATED = timedelta(seconds=30)
"""The date of an answer has whole seconds, and the answer takes some time."""


class PlatformClock:
    """Corrects the clock of this machine if the last answer of the platform differs from it."""

    def __init__(self, machine: Callable[[], datetime]) -> None:
        """`machine`: the clock of this machine."""
        self._machine, self._ahead = machine, timedelta(0)

    def __call__(self) -> datetime:
        """The present time."""
        return self._machine() - self._ahead

    def set(self, date: datetime | None) -> None:
        """Set the clock by the date of an answer. Without a date, nothing changes."""
        if date is not None:
            ahead = self._machine() - date
            self._ahead = ahead if abs(ahead) > _TOLERATED else timedelta(0)
