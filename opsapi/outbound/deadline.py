"""One end of time for a whole exchange. A time-out per operation would let a receiver drip for ever."""

import io
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class Deadline:
    """A moment on the monotonic clock, `seconds` from now."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left, always above zero.

        Raises:
            TimeoutError: when none are left.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("the deadline has passed")
        return left


_PIECE = 16_384
"""Bytes given to the socket at once: one record of TLS, so what fails at the first piece cannot be read."""


class BoundedSocket:
    """A connected socket (plain or TLS) whose every operation ends with the deadline.

    It has what `http.client` and urllib3 use of a socket once it is connected. `deadline` is replaced for
    each exchange; `written` says whether the receiver may have read a part of the current request.

    Raises:
        TimeoutError: from any operation that the deadline ends.
    """

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self.begin(deadline)

    def begin(self, deadline: Deadline) -> None:
        """Begin another exchange."""
        self.deadline = deadline
        self.written = False

    def sendall(self, data: bytes) -> None:
        """Send it in pieces, so that a receiver that hardly reads is held to the deadline too."""
        view = memoryview(data)
        while view:
            self._sock.settimeout(self.deadline.left())
            view = view[self._sock.send(view[:_PIECE]) :]
            self.written = True

    def makefile(self, _mode: str) -> io.BufferedReader:
        """A reader of what arrives; `http.client` always asks for `rb`."""
        return io.BufferedReader(_BoundedReader(self._sock, self))

    def fileno(self) -> int:
        """The descriptor, to see whether something can be read."""
        return self._sock.fileno()

    def settimeout(self, seconds: float | None) -> None:
        """Nothing: callers set a time-out per operation, and the deadline stands above it."""

    def close(self) -> None:
        """Close the socket once its readers are closed too."""
        self._sock.close()


class _BoundedReader(io.RawIOBase):
    def __init__(self, sock: socket.socket, bounded: BoundedSocket) -> None:
        self._sock = sock
        self._bounded = bounded
        # The socket's own raw file counts as a user of it: closing the connection waits for the reader.
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer") -> int | None:
        self._sock.settimeout(self._bounded.deadline.left())
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()
