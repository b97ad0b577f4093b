"""The receivers that answered a process last, so that it need not find out with many messages at once."""

import threading

MOST = 200
"""So many are remembered, those that answered last; others cost one message more to find out."""


class Answering:
    """Keys of receivers whose last message from this process was answered; shared by its senders."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keys: dict[str, None] = {}

    def keys(self) -> frozenset[str]:
        """Those known to answer by now."""
        with self._lock:
            return frozenset(self._keys)

    def note(self, key: str, *, answered: bool) -> None:
        """What an attempt showed of a receiver; without effect where none was tried."""
        if not key:
            return
        with self._lock:
            self._keys.pop(key, None)
            if answered:
                self._keys[key] = None
            if len(self._keys) > MOST:
                self._keys.pop(next(iter(self._keys)))
