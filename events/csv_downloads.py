"""Limits parallel CSV downloads, because each occupies a thread of its web process to the end."""

from collections.abc import Generator
from enum import StrEnum
from threading import RLock
from weakref import finalize

from django.conf import settings

MOST_AT_ONCE = max(1, settings.OPSAPI_THREADS // 4)
"""Maximum number of downloads in a web process; the other threads serve everybody else."""
FULL_RETRY_SECONDS = 30


class Full(StrEnum):
    """Why a download must wait; the value is the text for the operator."""

    OF_ALL = "The server is creating the maximum number of files."
    OF_ONE = "Your previous file is still being created. You can download one file at a time."


class DownloadSlots:
    """The download slots of a process: `most`, and at most one per operator."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held_by: set[str] = set()
        # A download that is garbage-collected releases its slot in whichever thread that happens.
        self._lock = RLock()

    def take(self, user_id: str) -> Full | None:
        """A slot for the operator, or the reason why there is none."""
        with self._lock:
            if user_id in self._held_by:
                return Full.OF_ONE
            if len(self._held_by) >= self._most:
                return Full.OF_ALL
            self._held_by.add(user_id)
            return None

    def give_back(self, user_id: str) -> None:
        """Release the operator's slot."""
        with self._lock:
            self._held_by.remove(user_id)


_slots = DownloadSlots(MOST_AT_ONCE)


class Download:
    """The parts of a file. Its slot is released once, when the file is closed.

    A file that nobody closes, or reads, releases it when it is garbage-collected.
    """

    def __init__(self, parts: Generator[str], places: DownloadSlots, user_id: str) -> None:
        self._parts = parts
        self._give_back = finalize(self, places.give_back, user_id)

    def __iter__(self) -> "Download":
        return self

    def __next__(self) -> str:
        return next(self._parts)

    def close(self) -> None:
        """Stop writing. The server calls this at the end of every response."""
        try:
            self._parts.close()
        finally:
            self._give_back()


def download(parts: Generator[str], *, user_id: str) -> Download | Full:
    """The file in a slot of the operator, or the reason why this process cannot write it now."""
    return _slots.take(user_id) or Download(parts, _slots, user_id)
