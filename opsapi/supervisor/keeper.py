"""Keeps a process running: restarts it when it ends, with growing delays if it ends repeatedly."""

import logging
from typing import Protocol

from opsapi.embedded import EmbeddedDatabaseError

log = logging.getLogger("opsapi.supervisor")

LONGEST_DELAY = 30.0
# After a run of this length, the next end counts as the first.
SOUND_AFTER = 60.0


class Kept(Protocol):
    """A process that can be kept running."""

    def start(self) -> None:
        """Start it.

        Raises:
            OSError, EmbeddedDatabaseError: it cannot be started.
        """

    def poll(self) -> int | None:
        """Return the exit status if it has ended, otherwise None."""


def restart_delay(deaths: int) -> float:
    """Return the seconds to wait after this many ends in a row: 0, then 1, 2, 4 … at most 30."""
    return 0.0 if deaths <= 1 else min(2.0 ** min(deaths - 2, 10), LONGEST_DELAY)


class Keeper:
    """Watches `kept`. The first `look` starts it."""

    def __init__(self, name: str, kept: Kept) -> None:
        self._name = name
        self._kept = kept
        self._started = 0.0
        self._deaths = 0
        self._due: float | None = 0.0

    def look(self, now: float) -> float:
        """Start the process if it is due at `now` (monotonic). Return the seconds until the next look."""
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
    """Return an exit status of subprocess in words."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"
