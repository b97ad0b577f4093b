"""Sends responses without blocking threads: bytes that the socket does not accept yet wait here."""

import errno
import socket
import ssl
import time
from selectors import EVENT_READ, EVENT_WRITE

PIECE = 256 * 1024
PIECES_PER_EVENT = 4
# A response that the application returns at once is in memory completely. A response in parts, such as a CSV
# file of events, is produced this many bytes ahead of its reader. Then its thread waits.
AHEAD = 4 * 1024 * 1024
# A client must read a response within STALL_SECONDS plus the time for its bytes at this rate. A pause between
# two reads must not be longer than PAUSE_SECONDS.
STALL_SECONDS = 10.0
READ_BYTES_PER_SECOND = 16 * 1024
PAUSE_SECONDS = 30.0


class GoneError(BrokenPipeError):
    """The response cannot be sent: the client closed the connection, or does not read."""

    def __init__(self, reason: object, *, stalled: bool = False) -> None:
        """`stalled`: the connection is open, but the client does not read."""
        super().__init__(errno.EPIPE, str(reason))
        self.stalled = stalled


class PendingAnswer:
    """Replaces the socket to which gunicorn writes a response.

    A thread writes the response; afterwards the event loop sends the rest. The socket itself never blocks.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._data = bytearray()
        self._began = self._moved = 0.0
        self._sent = 0
        self._has_head = False
        self._gone: GoneError | None = None

    @property
    def held(self) -> int:
        """The number of bytes that are not sent yet."""
        return len(self._data)

    def deadline(self) -> float:
        """Return the time (monotonic) at which to give up on the client."""
        at_its_rate = self._began + STALL_SECONDS + self._sent / READ_BYTES_PER_SECOND
        return min(at_its_rate, self._moved + PAUSE_SECONDS)

    def sendall(self, data: bytes) -> None:
        """Send the next part, in a thread. The head is sent together with the first part of the body.

        Raises:
            GoneError: the response cannot be sent.
        """
        while self.held > AHEAD:
            self._wait()
        self._add(data)
        if self._has_head:
            self.flush()
        self._has_head = True

    def send(self, data: bytes) -> int:
        """Send bytes that precede the response, in a thread."""
        self._add(data)
        self.flush()
        return len(data)

    def shutdown(self, _how: int) -> None:
        """gunicorn calls this when a response fails. Raises OSError: only the event loop ends connections."""
        raise OSError(errno.ENOTCONN, "the event loop ends it")

    def close(self) -> None:
        """See `shutdown`."""

    def flush(self) -> int:
        """Send as much as the socket accepts, at most PIECES_PER_EVENT pieces.

        Return the event of the socket to wait for; 0 if everything is sent.

        Raises:
            GoneError: the response cannot be sent. All later calls raise it, too.
        """
        if self._gone:
            raise self._gone
        try:
            for _ in range(PIECES_PER_EVENT):
                if not self._data:
                    return 0
                self._send_piece()
        except ssl.SSLWantReadError:
            return EVENT_READ
        except (BlockingIOError, ssl.SSLWantWriteError):
            return EVENT_WRITE
        except OSError as error:
            self._gone = GoneError(error)
            raise self._gone from None
        return EVENT_WRITE if self._data else 0

    def _add(self, data: bytes) -> None:
        if not self._data:
            self._began = self._moved = time.monotonic()
            self._sent = 0
        self._data += data

    def _wait(self) -> None:
        """Send a piece, in a thread, and wait for the client until the deadline."""
        patience = self.deadline() - time.monotonic()
        try:
            self._sock.settimeout(max(patience, 0.001))
            self._send_piece()
        except OSError as error:
            self._gone = GoneError(error, stalled=isinstance(error, TimeoutError))
            raise self._gone from None
        finally:
            self._sock.setblocking(False)

    def _send_piece(self) -> None:
        with memoryview(self._data) as whole, whole[:PIECE] as piece:
            sent = self._sock.send(piece)
        del self._data[:sent]
        self._sent += sent
        self._moved = time.monotonic()
