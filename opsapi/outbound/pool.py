"""Connections that are kept for the next message to the same destination.

A destination is known by its `owner`: nothing else uses its connections. They are kept for a short time and
in bounded number; no process inherits them from the process that forked it.
"""

import atexit
import os
import threading
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field

from urllib3.connection import HTTPConnection

from opsapi.outbound.deadline import BoundedSocket
from opsapi.outbound.guard import Address

IDLE_SECONDS = 10.0
AGE_SECONDS = 60.0
"""Maximum age of a connection; then the name is resolved and the certificate checked again."""
MOST = 64
MOST_FOR_ONE = 4
"""As many as a destination can have messages in progress."""

Clock = Callable[[], float]


@dataclass(slots=True, eq=False)
class OpenConnection:
    """A connection to a checked address. `is_new`: it has had no request."""

    http: HTTPConnection
    sock: BoundedSocket
    address: Address
    opened: float
    is_new: bool = True

    def close(self) -> None:
        """Close the connection."""
        self.http.close()


@dataclass(slots=True)
class Pool:
    """The idle connections of this process, the longest idle first."""

    clock: Clock = time.monotonic
    _idle: list[tuple[Hashable, float, OpenConnection]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_timed: bool = False

    def take(self, key: Hashable, *, may_use: Callable[[Address], bool]) -> OpenConnection | None:
        """An unused connection that its receiver has not closed; None if there is none."""
        while (found := self._pop(key)) is not None:
            # Readable data now means that the connection has ended, or that it does not belong to our
            # request.
            if found.http.is_connected and may_use(found.address):
                found.is_new = False
                return found
            found.close()
        return None

    def keep(self, key: Hashable, connection: OpenConnection, *, seconds: float = IDLE_SECONDS) -> None:
        """Keep it for at most `seconds`; if there are too many, the longest idle are closed."""
        now = self.clock()
        until = min(now + min(seconds, IDLE_SECONDS), connection.opened + AGE_SECONDS)
        with self._lock:
            self._idle.append((key, until, connection))
            of_key = [entry for entry in self._idle if entry[0] == key]
            surplus = of_key[:-MOST_FOR_ONE] or self._idle[:-MOST]
            self._idle = [entry for entry in self._idle if entry not in surplus]
        for _, _, closed in surplus:
            closed.close()
        self._time()

    def close_idle(self) -> None:
        """Close connections that were idle too long."""
        now = self.clock()
        self._close(lambda until: until <= now)

    def close_all(self) -> None:
        """Close all idle connections."""
        self._close(lambda _: True)

    def forget(self) -> None:
        """In a forked process: leave the connections to the process that opened them."""
        self._lock = threading.Lock()
        self._is_timed = False
        self.close_all()  # Only the descriptors of this process.

    def _pop(self, key: Hashable) -> OpenConnection | None:
        self.close_idle()
        with self._lock:
            for place in reversed(range(len(self._idle))):
                if self._idle[place][0] == key:
                    return self._idle.pop(place)[2]
        return None

    def _close(self, is_over: Callable[[float], bool]) -> None:
        with self._lock:
            over = [connection for _, until, connection in self._idle if is_over(until)]
            self._idle = [entry for entry in self._idle if not is_over(entry[1])]
        for connection in over:
            connection.close()

    def _time(self) -> None:
        """Close idle connections in time, even if nothing more is sent."""
        with self._lock:
            if self._is_timed or not self._idle:
                return
            self._is_timed = True
        timer = threading.Timer(IDLE_SECONDS, self._on_time)
        timer.daemon = True
        timer.start()

    def _on_time(self) -> None:
        self.close_idle()
        with self._lock:
            self._is_timed = False
        self._time()


POOL = Pool()
atexit.register(POOL.close_all)
os.register_at_fork(after_in_child=POOL.forget)
