"""An answer on its way to its reader: what the socket does not take at once waits here, not in a thread."""

import errno
import socket
import ssl
import time
from selectors import EVENT_READ, EVENT_WRITE

PIECE = 256 * 1024
PIECES_PER_EVENT = 4
# An answer that the application gives at once is in memory completely. An answer in parts, such as a file of
# events, gets this many bytes ahead of its reader; then its thread waits.
AHEAD = 4 * 1024 * 1024
# A reader takes its answer within this time, longer where it takes so much in a second, without long pauses.
STALL_SECONDS = 10.0
READ_BYTES_PER_SECOND = 16 * 1024
PAUSE_SECONDS = 30.0


class GoneError(BrokenPipeError):
    """Nobody takes the answer: the client has gone, or does not read."""

    def __init__(self, reason: object, *, stalled: bool = False) -> None:
        """`stalled` says that the client is there and does not read."""
        super().__init__(errno.EPIPE, str(reason))
        self.stalled = stalled


class PendingAnswer:
    """What gunicorn writes an answer to, in place of the socket, which never blocks.

    A thread fills it; afterwards the event loop flushes it.
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
        """How many bytes wait."""
        return len(self._data)

    def deadline(self) -> float:
        """When to give up on the reader of what waits."""
        at_its_rate = self._began + STALL_SECONDS + self._sent / READ_BYTES_PER_SECOND
        return min(at_its_rate, self._moved + PAUSE_SECONDS)

    def sendall(self, data: bytes) -> None:
        """In a thread, the next part; raises GoneError. The head waits for what follows it."""
        while self.held > AHEAD:
            self._wait()
        self._add(data)
        if self._has_head:
            self.flush()
        self._has_head = True

    def send(self, data: bytes) -> int:
        """In a thread: what has to go out before the answer."""
        self._add(data)
        self.flush()
        return len(data)

    def shutdown(self, _how: int) -> None:
        """An answer failed halfway: raises OSError, for the event loop ends the connection, not gunicorn."""
        raise OSError(errno.ENOTCONN, "the event loop ends it")

    def close(self) -> None:
        """See `shutdown`."""

    def flush(self) -> int:
        """Gives the socket what it takes, some pieces at most; raises GoneError, from then on always.

        Returns which event of the socket to wait for, 0 when nothing is left.
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
        """One more piece, in a thread, with patience."""
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
