"""How many CSV files are written at a time, as each holds a thread of its web process to the last byte."""

from collections.abc import Generator
from threading import BoundedSemaphore
from weakref import finalize

from django.conf import settings

MOST_AT_ONCE = max(1, settings.OPSAPI_THREADS // 4)
"""So many in one web process; the other threads are for everybody else."""
FULL_RETRY_SECONDS = 30
_places = BoundedSemaphore(MOST_AT_ONCE)


class Download:
    """The parts of a file that is being written; its place is given back once, when it is closed.

    One that nobody closes gives it back when it is forgotten, also unread.
    """

    def __init__(self, parts: Generator[str], places: BoundedSemaphore) -> None:
        self._parts = parts
        self._give_back = finalize(self, places.release)

    def __iter__(self) -> "Download":
        return self

    def __next__(self) -> str:
        return next(self._parts)

    def close(self) -> None:
        """Write no more; what serves the response calls it however the response ended."""
        try:
            self._parts.close()
        finally:
            self._give_back()


def download(parts: Generator[str]) -> Download | None:
    """The file in a place of its own; None when this process writes MOST_AT_ONCE already."""
    return Download(parts, _places) if _places.acquire(blocking=False) else None
