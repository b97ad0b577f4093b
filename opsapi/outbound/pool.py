"""Connections with a deadline, which are kept for the next message to the same destination.

`owner` identifies a destination. Only its requests use its connections. Connections are kept for a short time
and in limited number. A forked process does not inherit them.
"""

import atexit
import io
import os
import socket
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from urllib3.connection import HTTPConnection

from opsapi.outbound.guard import Address
from opsapi.outbound.trust import is_late_refusal
from opsapi.outgoing_proxy import OutgoingProxy

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Deadline:
    """A time on the monotonic clock, `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, always more than 0. Raises TimeoutError: no time is left."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        return left

    def at_most(self, seconds: float) -> "Deadline":
        """Return the deadline `seconds` from now, or this deadline if it is earlier."""
        sooner = Deadline(seconds)
        sooner._end = min(sooner._end, self._end)
        return sooner


_PIECE = 16_384
"""Bytes written at once: a TLS record, so that nothing is readable if the first piece fails."""


class BoundedSocket:
    """A connected socket (plain or TLS). The deadline ends every operation.

    It has the methods that `http.client` and urllib3 use of a connected socket. `deadline` is replaced for
    each exchange. `written`: the receiver may have read a part of the current request.

    Raises: TimeoutError: any operation that the deadline ends.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self.begin(deadline)

    def begin(self, deadline: Deadline) -> None:
        self.deadline = deadline
        self.written = False

    def sendall(self, data: bytes) -> None:
        """Send in pieces, so that the deadline also applies to a slow receiver."""
        view = memoryview(data)
        while view:
            self._sock.settimeout(self.deadline.left())
            view = view[self._send(view[:_PIECE]) :]
            self.written = True

    def _send(self, piece: memoryview) -> int:
        try:
            return self._sock.send(piece)
        except OSError:
            if not self.written and (refusal := self._late_refusal()):
                raise refusal from None
            raise

    def _late_refusal(self) -> OSError | None:
        """Return the error if the receiver has refused TLS before it closed the connection."""
        try:
            self._sock.recv(1)
        except OSError as error:
            return error if is_late_refusal(error) else None
        return None

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return a reader of the response; `http.client` always uses `rb`."""
        return io.BufferedReader(_BoundedReader(self._sock, self))

    def fileno(self) -> int:
        """Return the descriptor, to check for readable data."""
        return self._sock.fileno()

    def settimeout(self, seconds: float | None) -> None:
        """Ignored: callers set a time-out per operation, but the deadline applies."""

    def close(self) -> None:
        """Close the socket when its readers are closed, too."""
        self._sock.close()


class _BoundedReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, bounded: BoundedSocket) -> None:
        self._sock = sock
        self._bounded = bounded
        # The raw file of the socket counts as a user, so closing the connection waits for the reader.
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        self._sock.settimeout(self._bounded.deadline.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


IDLE_SECONDS = 10.0
AGE_SECONDS = 60.0
"""Maximum age of a connection. Afterwards the name is resolved and the certificate checked again."""
MOST = 64
MOST_FOR_ONE = 4
"""The maximum number of messages in progress to a destination."""

Clock = Callable[[], float]


@dataclass(slots=True, eq=False)
class OpenConnection:
    """A connection to a checked address, or through a proxy.

    `addresses` are the checked addresses of the receiver: the address that is connected, or all of them if
    the proxy chooses. `is_new`: it was not used for a request yet. `is_sent`: the whole current request was
    written.
    """

    http: HTTPConnection
    sock: BoundedSocket
    addresses: Sequence[Address]
    opened: float
    is_new: bool = True
    is_sent: bool = False
    proxy: OutgoingProxy | None = None

    def close(self) -> None:
        self.http.close()


@dataclass(slots=True)
class Pool:
    """The idle connections of this process. The first have been idle for the longest time."""

    clock: Clock = time.monotonic
    _idle: list[tuple[Hashable, float, OpenConnection]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _is_timed: bool = False

    def take(self, key: Hashable, *, may_use: Callable[[Sequence[Address]], bool]) -> OpenConnection | None:
        """Return an idle connection that its receiver has not closed; None without one."""
        while (connection := self._pop(key)) is not None:
            # Readable data means that the receiver closed the connection, or belongs to no request.
            if connection.http.is_connected and may_use(connection.addresses):
                connection.is_new = False
                return connection
            connection.close()
        return None

    def keep(self, key: Hashable, connection: OpenConnection, *, seconds: float = IDLE_SECONDS) -> None:
        """Keep a connection for at most `seconds`. Beyond the limits, the longest idle are closed."""
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
        now = self.clock()
        self._close(lambda until: until <= now)

    def close_all(self) -> None:
        self._close(lambda _: True)

    def forget(self) -> None:
        """Forget the connections in a forked process, which keep belonging to its parent."""
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
        """Close idle connections on time, even if nothing more is sent."""
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
