"""A deadline for a whole exchange. With a time-out for each operation, a slow receiver has no limit."""

import io
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Deadline:
    """A time on the monotonic clock, `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Return the seconds left, always more than 0.

        Raises:
            TimeoutError: no time is left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        return left


_PIECE = 16_384
"""Bytes written at once: a TLS record, so that nothing is readable if the first piece fails."""


class BoundedSocket:
    """A connected socket (plain or TLS). The deadline ends every operation.

    It has the methods that `http.client` and urllib3 use of a connected socket. `deadline` is replaced for
    each exchange. `written`: the receiver may have read a part of the current request.

    Raises:
        TimeoutError: any operation that the deadline ends.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self.begin(deadline)

    def begin(self, deadline: Deadline) -> None:
        """Start another exchange."""
        self.deadline = deadline
        self.written = False

    def sendall(self, data: bytes) -> None:
        """Send in pieces, so that the deadline also applies to a slow receiver."""
        view = memoryview(data)
        while view:
            self._sock.settimeout(self.deadline.left())
            view = view[self._sock.send(view[:_PIECE]) :]
            self.written = True

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
