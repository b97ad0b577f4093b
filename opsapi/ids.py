"""Identifiers: 24 lower-case hex characters, ordered by time."""

import hashlib
import re
import secrets
import threading
from datetime import UTC, datetime, timedelta

from opsapi import clock

ID_LENGTH = 24
ID_PATTERN = r"[0-9a-f]{24}"
_WELL_FORMED = re.compile(ID_PATTERN)
_RANDOM_BITS = 48
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class _Sequence:
    """Milliseconds since the epoch (48 bits), then 48 random bits that increase within a millisecond."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> int:
        fresh = _milliseconds(clock.now()) << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS - 1)
        with self._lock:
            # Within a millisecond, and after the clock was set back, IDs continue from the last one.
            self._last = fresh if fresh > self._last else self._last + 1 + secrets.randbits(16)
            return self._last


_sequence = _Sequence()


def new_id() -> str:
    """A new ID; within a process, each is greater than the previous one."""
    return f"{_sequence.next():024x}"


def derived_id(origin: str, *parts: str, time_digits: int = 8) -> str:
    """Return an ID computed from `origin`, another ID, and the parts: the same input gives the same ID.

    It begins with the first `time_digits` of the 12 hex digits of the time of `origin`. With 12 it sorts like
    `origin`; with 8 it sorts to about a minute, and 64 bits distinguish IDs of the same origin.
    """
    digest = hashlib.sha256("\0".join((origin, *parts)).encode()).hexdigest()
    return origin[:time_digits] + digest[: ID_LENGTH - time_digits]


def first_id(moment: datetime) -> str:
    """The smallest ID of that moment; earlier IDs are smaller."""
    return f"{max(0, _milliseconds(moment)) << _RANDOM_BITS:024x}"


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)


def is_id(text: str) -> bool:
    """Whether the text has the format of an ID."""
    return _WELL_FORMED.fullmatch(text) is not None
