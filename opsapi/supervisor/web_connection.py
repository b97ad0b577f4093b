"""A connection of the web worker.

It collects a request without a thread, gives it to gunicorn's parser, and keeps the response until the client
has read it.
"""

import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Hashable
from enum import StrEnum
from types import SimpleNamespace
from typing import Any

from gunicorn import http
from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import TConn

from opsapi.supervisor.answer import PendingAnswer
from opsapi.supervisor.arrival import Arrival, ArrivalState

PIECE = 64 * 1024
PIECES_PER_EVENT = 16
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

        Raises:
            NoMoreData: all pieces were returned, as if the client had closed the connection.
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
        """Read at most `size` bytes.

        Raises:
            NoMoreData: the body is malformed.
        """
        try:
            return bytes(self._reader.read(size))
        except ParseException as error:
            raise NoMoreData(str(error)) from None


class ConnectionPhase(StrEnum):
    """What the event loop waits for. A request that waits for a thread or has one gives no phase."""

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
        return self.phase is ConnectionPhase.END or (
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

    def receive(self) -> ArrivalState | None:
        """Read the bytes that have arrived. Return the state of the request; None if the client has gone."""
        verdict = ArrivalState.PART
        try:
            for _ in range(PIECES_PER_EVENT):
                piece = self.sock.recv(PIECE)
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

    def flush(self) -> int:
        """See `PendingAnswer.flush`."""
        return self.answer.flush() if self.answer else 0

    def hang_up(self, until: float) -> None:
        """Close our side, and wait for the client's side until then.

        Raises:
            OSError: the client has gone.
        """
        self.until = until
        self.sock.setblocking(False)
        self.sock.shutdown(socket.SHUT_WR)

    def has_gone(self) -> bool:
        """Whether the client has closed its side. Discards bytes that arrive after `hang_up`."""
        try:
            return not self.sock.recv(PIECE)
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
        return len(piece) < PIECE and not isinstance(self.sock, ssl.SSLSocket)
