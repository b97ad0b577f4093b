"""Trials of writes: a database that refuses writes still answers reads."""

import time
from collections.abc import Callable

_COUNTS_FOR = 1.0
"""A successful write is not repeated for this many seconds, because anybody can ask at any rate."""


class WriteTrial:
    """Checks whether a write succeeds."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._succeeded = float("-inf")

    def forget(self) -> None:
        """Check again at the next call."""
        self._succeeded = float("-inf")

    def run(self) -> None:
        """Write, unless a write succeeded within the last second.

        Raises: Error: of Django, if the write fails.
        """
        if time.monotonic() - self._succeeded < _COUNTS_FOR:
            return
        self._write()
        self._succeeded = time.monotonic()
