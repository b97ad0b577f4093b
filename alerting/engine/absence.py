"""Notices that no worker ran for a time. Alerts in their delay then wait for reports."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from alerting.engine.rules import Clock
from automation.agents.rules import HEARTBEAT_TIMEOUT

LONGEST_PAUSE = timedelta(seconds=45)
"""If no worker searched for alerts to open for longer than this, no worker ran."""
SWEPT_AGAIN = timedelta(seconds=20)
"""A worker that runs sweeps again within this time."""


class Absence:
    """The last absence of all workers, as a worker sees it. The wait for reports ends by itself.

    `last_sweep` returns when a worker looked for heartbeat timeouts last. It is asked once.
    """

    def __init__(self, last_sweep: Callable[[], datetime | None], monotonic: Clock = time.monotonic) -> None:
        self._last_sweep, self._monotonic = last_sweep, monotonic
        self._searched: float | None = None
        self._began: datetime | None = None
        self._returned = 0.0

    def begin_search(self, now: datetime) -> None:
        """Note at the beginning of a search whether an absence has ended."""
        began = self._end_of_work(now)
        if began is not None and now - began > LONGEST_PAUSE - SWEPT_AGAIN:
            self._began, self._returned = began, self._monotonic()

    def end_search(self) -> None:
        """Note that a search was successful."""
        self._searched = self._monotonic()

    def since(self) -> datetime | None:
        """Return the beginning of the absence while the worker waits for reports; None otherwise."""
        is_over = self._monotonic() - self._returned >= HEARTBEAT_TIMEOUT.total_seconds()
        return None if is_over else self._began

    def _end_of_work(self, now: datetime) -> datetime | None:
        """Until when the platform can have run before this search; None if it is not known, or runs.

        Between the last search and the end of work, a report can have arrived: it confirms nothing.
        """
        if self._searched is not None:
            pause = timedelta(seconds=self._monotonic() - self._searched)
            return now - pause + SWEPT_AGAIN if pause > LONGEST_PAUSE else None
        swept = self._last_sweep()
        return None if swept is None else swept + SWEPT_AGAIN
