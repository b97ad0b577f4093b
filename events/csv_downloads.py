"""How many CSV files are written at a time, as each holds a thread of its web process to the last byte."""

from collections.abc import Generator
from enum import StrEnum
from threading import RLock
from weakref import finalize

from django.conf import settings

MOST_AT_ONCE = max(1, settings.OPSAPI_THREADS // 4)
"""So many in one web process; the other threads are for everybody else."""
FULL_RETRY_SECONDS = 30


class Full(StrEnum):
    """Why a file has to wait; the value is how it is told."""

    OF_ALL = "The server is creating the maximum number of files."
    OF_ONE = "Your previous file is still being created. You can download one file at a time."


class Places:
    """The places of a process for files: `most`, and one at the most for each operator."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held_by: set[str] = set()
        # A download that is forgotten gives its place back wherever its thread happens to be.
        self._lock = RLock()

    def take(self, user_id: str) -> Full | None:
        """A place for the operator; or why there is none."""
        with self._lock:
            if user_id in self._held_by:
                return Full.OF_ONE
            if len(self._held_by) >= self._most:
                return Full.OF_ALL
            self._held_by.add(user_id)
            return None

    def give_back(self, user_id: str) -> None:
        """The operator's place is free again."""
        with self._lock:
            self._held_by.remove(user_id)


_places = Places(MOST_AT_ONCE)


class Download:
    """The parts of a file that is being written; its place is given back once, when it is closed.

    One that nobody closes gives it back when it is forgotten, also unread.
    """

    def __init__(self, parts: Generator[str], places: Places, user_id: str) -> None:
        self._parts = parts
        self._give_back = finalize(self, places.give_back, user_id)

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


def download(parts: Generator[str], *, user_id: str) -> Download | Full:
    """The file in a place of the operator; or why this process does not write it now."""
    return _places.take(user_id) or Download(parts, _places, user_id)
