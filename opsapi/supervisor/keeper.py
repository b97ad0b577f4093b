"""Keeps one thing running: starts it, and again when it ends, more and more slowly when it keeps ending."""

import logging
from typing import Protocol

from opsapi.embedded import EmbeddedDatabaseError

log = logging.getLogger("opsapi.supervisor")

LONGEST_DELAY = 30.0
# One that ran this long is sound: its next death counts as its first.
SOUND_AFTER = 60.0


class Kept(Protocol):
    """What can be kept running."""

    def start(self) -> None:
        """Starts it, or raises OSError or EmbeddedDatabaseError."""

    def poll(self) -> int | None:
        """The exit status when it has ended, else None."""


def restart_delay(deaths: int) -> float:
    """Seconds to wait after so many deaths in a row: none, then 1, 2, 4 … at most 30."""
    return 0.0 if deaths <= 1 else min(2.0 ** min(deaths - 2, 10), LONGEST_DELAY)


class Keeper:
    """Watches `kept`, which the first look starts."""

    def __init__(self, name: str, kept: Kept) -> None:
        self._name = name
        self._kept = kept
        self._started = 0.0
        self._deaths = 0
        self._due: float | None = 0.0

    def look(self, now: float) -> float:
        """Does what is due at `now`, a monotonic time; answers in how many seconds to look again at most."""
        if self._due is None and (status := self._kept.poll()) is not None:
            self._note_death(exit_words(status), now)
        if self._due is None:
            return LONGEST_DELAY
        if now < self._due:
            return self._due - now
        self._start(now)
        return LONGEST_DELAY if self._due is None else self._due - now

    def _start(self, now: float) -> None:
        self._due, self._started = None, now
        try:
            self._kept.start()
        except (OSError, EmbeddedDatabaseError) as error:
            self._note_death(str(error), now)

    def _note_death(self, reason: str, now: float) -> None:
        self._deaths = 1 if now - self._started >= SOUND_AFTER else self._deaths + 1
        delay = restart_delay(self._deaths)
        self._due = now + delay
        log.error("%s stopped (%s), restarting in %g s", self._name, reason, delay)


def exit_words(status: int) -> str:
    """An exit status of subprocess in words."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"
