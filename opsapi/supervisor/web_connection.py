"""A connection of the web worker.

It collects a request without a thread, gives it to gunicorn's parser, and keeps the response until the client
has read it: bytes that the socket does not accept yet wait here.
"""

import contextlib
import errno
import socket
import ssl
import struct
import time
from collections.abc import Hashable
from enum import StrEnum
from selectors import EVENT_READ, EVENT_WRITE
from types import SimpleNamespace
from typing import Any

from gunicorn import http
from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import TConn

from opsapi.supervisor.arrival import Arrival, ArrivalState

SEND_BYTES = 256 * 1024
SENDS_PER_EVENT = 4
RECEIVE_BYTES = 64 * 1024
RECEIVES_PER_EVENT = 16
DISCARD_BYTES = 256 * 1024
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

        Raises: GoneError: the response cannot be sent.
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
        """Send as much as the socket accepts, at most SENDS_PER_EVENT times SEND_BYTES.

        Return the event of the socket to wait for; 0 if everything is sent.

        Raises: GoneError: the response cannot be sent. All later calls raise it, too.
        """
        if self._gone:
            raise self._gone
        try:
            for _ in range(SENDS_PER_EVENT):
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
        with memoryview(self._data) as whole, whole[:SEND_BYTES] as piece:
            sent = self._sock.send(piece)
        del self._data[:sent]
        self._sent += sent
        self._moved = time.monotonic()


NOT_YET = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class ArrivedUnreader(SocketUnreader):  # type: ignore[misc]  # gunicorn has no types
    """Gives the parser the bytes that have arrived, in pieces as from a socket. Never waits for more."""

    def __init__(self, source: socket.socket) -> None:
        super().__init__(source)
        self._arrived = memoryview(b"")

    def feed(self, data: bytes) -> None:
        """Set the bytes of the next request; they may contain the start of a later request."""
        self._arrived = memoryview(data)

    def leftover(self) -> bytes:
        """Return the bytes after the request that was served."""
        rest = bytes(self.take_buffered()) + bytes(self._arrived)
        self._arrived = memoryview(b"")
        return rest

    def chunk(self, size_hint: int | None = None) -> bytes:
        """Return the next piece.

        A complete request needs no more bytes. A request that only counts as complete is refused without
        its missing bytes (`opsapi.supervisor.arrival`).

        Raises: NoMoreData: all pieces were returned, as if the client had closed the connection.
        """
        size = min(max(size_hint or 0, self.mxchunk), self.max_body_chunk)
        piece, self._arrived = bytes(self._arrived[:size]), self._arrived[size:]
        if not piece:
            raise NoMoreData
        return piece


class CheckedReader:
    """Reads a body. All failures are OSErrors, which applications expect."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes. Raises NoMoreData: the body is malformed."""
        try:
            return bytes(self._reader.read(size))
        except ParseException as error:
            raise NoMoreData(str(error)) from None


class ConnectionPhase(StrEnum):
    """What the event loop waits for. A request that waits for a thread or has one gives no phase."""

    HANDSHAKE = "the next step of the TLS handshake"
    REQUEST = "the rest of a request"
    ANSWER = "a reader of the answer"
    END = "the client's end of the connection"


class WebConnection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection that collects its requests, and keeps its responses until they are read."""

    arrival: Arrival
    until: float
    caller: Hashable
    requester: Hashable
    phase: ConnectionPhase | None = None
    answer: PendingAnswer | None = None
    keeps_alive: bool = False
    held: int = 0
    parser: Any
    _rest: bytes = b""

    def await_request(self, now: float, idle_seconds: float) -> None:
        """Wait for a request, whose first byte must arrive within `idle_seconds`."""
        self.arrival = Arrival(now)
        self.until = now + idle_seconds

    def await_next(self, now: float, idle_seconds: float) -> ArrivalState:
        """Wait for the request after a response. Bytes of it may have arrived already; return its state."""
        self.answer = None
        self.await_request(now, idle_seconds)
        rest, self._rest = self._rest, b""
        return self.take(rest) if rest else ArrivalState.PART

    def is_idle(self) -> bool:
        """Whether the connection can be closed without losing a request or a response."""
        return self.phase in (ConnectionPhase.END, ConnectionPhase.HANDSHAKE) or (
            self.phase is ConnectionPhase.REQUEST and not self.arrival.data
        )

    def deadline(self) -> float:
        """Return the time (monotonic) at which to give up waiting."""
        if self.phase is ConnectionPhase.ANSWER and self.answer:
            return self.answer.deadline()
        return self.until if self.is_idle() else self.arrival.deadline()

    def bytes_held(self) -> int:
        """Return the number of bytes in memory, of requests and of the response."""
        return len(self.arrival.data) + len(self._rest) + (self.answer.held if self.answer else 0)

    def shake_hands(self) -> int | None:
        """Take the next step of the TLS handshake. Runs in a thread: a signature takes a millisecond or more.

        Return the event of the socket to wait for; 0 if the handshake is complete; None if it has failed.
        """
        try:
            self.sock.do_handshake()
        except ssl.SSLWantReadError:
            return EVENT_READ
        except ssl.SSLWantWriteError:
            return EVENT_WRITE
        except OSError:  # SSLError is an OSError.
            return None
        return 0

    def receive(self) -> ArrivalState | None:
        """Read the bytes that have arrived. Return the state of the request; None if the client has gone."""
        verdict = ArrivalState.PART
        try:
            for _ in range(RECEIVES_PER_EVENT):
                piece = self.sock.recv(RECEIVE_BYTES)
                if not piece:
                    return None
                verdict = self.take(piece)
                if verdict is not ArrivalState.PART or self._has_no_more(piece):
                    break
        except NOT_YET:
            return verdict
        except OSError:
            return None
        return verdict

    def take(self, piece: bytes) -> ArrivalState:
        """Add bytes to the request, and return its state. The time-out starts at the first byte."""
        if not self.arrival.data:
            self.arrival = Arrival(time.monotonic())
        verdict = self.arrival.add(piece)
        if verdict is ArrivalState.PART and self.arrival.take_expectation():
            with contextlib.suppress(OSError):  # The client may have gone: the next read notices it.
                self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return verdict

    def init(self) -> None:
        """Prepare the parser. gunicorn calls this in the thread of a complete request."""
        if self.parser is None:
            self.parser = http.get_parser(self.cfg, self.sock, self.client)
            self.parser.unreader = ArrivedUnreader(self.sock)
            self.initialized = True
        self.sock.setblocking(False)  # gunicorn sets it to blocking.
        self.parser.unreader.feed(bytes(self.arrival.data))
        self.arrival = Arrival(time.monotonic())

    def to_be_answered(self) -> SimpleNamespace:
        """Return the connection for gunicorn, with a `PendingAnswer` in place of the socket."""
        self.answer = PendingAnswer(self.sock)
        return SimpleNamespace(sock=self.answer, client=self.client, server=self.server)

    def answered(self, *, keeps_alive: bool) -> None:
        """Note that the thread has finished the request."""
        self.keeps_alive = keeps_alive
        self._rest = self.parser.unreader.leftover() if keeps_alive else b""

    def discard_body(self) -> bool:
        """Discard the part of the body that the application did not read. Runs in the thread of the request.

        Return whether another request can follow. gunicorn's `finish_body` reads a KiB at a time, which takes
        half a second for the largest body.

        Raises: NoMoreData: the body is malformed.
        """
        body = self.parser.mesg.body
        while not body.failed and body.read(DISCARD_BYTES):
            pass
        return not body.failed

    def flush(self) -> int:
        """See `PendingAnswer.flush`."""
        return self.answer.flush() if self.answer else 0

    def hang_up(self, until: float) -> None:
        """Close our side, and wait for the client's side until then. Raises OSError: the client has gone."""
        self.until = until
        self.sock.setblocking(False)
        self.sock.shutdown(socket.SHUT_WR)

    def has_gone(self) -> bool:
        """Whether the client has closed its side. Discards bytes that arrive after `hang_up`."""
        try:
            return not self.sock.recv(RECEIVE_BYTES)
        except NOT_YET:
            return False
        except OSError:
            return True

    def abandon(self) -> None:
        """Make the kernel drop unsent bytes when the connection is closed."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _has_no_more(self, piece: bytes) -> bool:
        """Whether the piece is certainly the last for now. The event loop notices later bytes."""
        return len(piece) < RECEIVE_BYTES and not isinstance(self.sock, ssl.SSLSocket)
