"""A connection of the web worker: gathers a request without a thread, gives it to gunicorn's parser, and
keeps the answer until it is read.
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
    """Gives the parser what has arrived, in pieces no larger than a socket would; no thread awaits more."""

    def __init__(self, source: socket.socket) -> None:
        super().__init__(source)
        self._arrived = memoryview(b"")

    def feed(self, data: bytes) -> None:
        """Takes the bytes of the next request and of what follows."""
        self._arrived = memoryview(data)

    def leftover(self) -> bytes:
        """What came after the request just served."""
        rest = bytes(self.take_buffered()) + bytes(self._arrived)
        self._arrived = memoryview(b"")
        return rest

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The next piece; raises NoMoreData after the last, as if the client had gone.

        Of a request that counts as whole, what has not arrived is never needed: it is refused without that.
        """
        size = min(max(size_hint or 0, self.mxchunk), self.max_body_chunk)
        piece, self._arrived = bytes(self._arrived[:size]), self._arrived[size:]
        if not piece:
            raise NoMoreData
        return piece


class CheckedReader:
    """A body reader whose every failure is an OSError, which applications expect of a body."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def read(self, size: int) -> bytes:
        """As the reader's; raises NoMoreData for a body that is malformed."""
        try:
            return bytes(self._reader.read(size))
        except ParseException as error:
            raise NoMoreData(str(error)) from None


class ConnectionPhase(StrEnum):
    """What the event loop waits for: nothing, where the request has a thread or waits for one."""

    REQUEST = "the rest of a request"
    ANSWER = "a reader of the answer"
    END = "the client's end of the connection"


class WebConnection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection that gathers its requests, and keeps its answers until they are read."""

    arrival: Arrival
    until: float
    caller: Hashable
    phase: ConnectionPhase | None = None
    answer: PendingAnswer | None = None
    keeps_alive: bool = False
    held: int = 0
    parser: Any
    _rest: bytes = b""

    def await_request(self, now: float, idle_seconds: float) -> None:
        """Begins with the next request; its first byte has to come within `idle_seconds`."""
        self.arrival = Arrival(now)
        self.until = now + idle_seconds

    def await_next(self, now: float, idle_seconds: float) -> ArrivalState:
        """The same after an answer; the client may have sent the request, or some of it, already."""
        self.answer = None
        self.await_request(now, idle_seconds)
        rest, self._rest = self._rest, b""
        return self.take(rest) if rest else ArrivalState.PART

    def is_idle(self) -> bool:
        """Whether nothing is lost when it is closed."""
        return self.phase is ConnectionPhase.END or (
            self.phase is ConnectionPhase.REQUEST and not self.arrival.data
        )

    def deadline(self) -> float:
        """When to give up on what is awaited."""
        if self.phase is ConnectionPhase.ANSWER and self.answer:
            return self.answer.deadline()
        return self.until if self.is_idle() else self.arrival.deadline()

    def bytes_held(self) -> int:
        """Of requests and the answer."""
        return len(self.arrival.data) + len(self._rest) + (self.answer.held if self.answer else 0)

    def receive(self) -> ArrivalState | None:
        """Reads what is there. None: the peer has gone."""
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
        """Adds bytes to the request; the wait for it counts from its first byte."""
        if not self.arrival.data:
            self.arrival = Arrival(time.monotonic())
        verdict = self.arrival.add(piece)
        if verdict is ArrivalState.PART and self.arrival.take_expectation():
            with contextlib.suppress(OSError):  # it may have gone: the next read shows it
                self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return verdict

    def init(self) -> None:
        """Called by a thread that was given a whole request."""
        if self.parser is None:
            self.parser = http.get_parser(self.cfg, self.sock, self.client)
            self.parser.unreader = ArrivedUnreader(self.sock)
            self.initialized = True
        self.sock.setblocking(False)  # gunicorn has set it to blocking
        self.parser.unreader.feed(bytes(self.arrival.data))
        self.arrival = Arrival(time.monotonic())

    def to_be_answered(self) -> SimpleNamespace:
        """Return what gunicorn needs to answer a request, with the answer in place of the socket."""
        self.answer = PendingAnswer(self.sock)
        return SimpleNamespace(sock=self.answer, client=self.client, server=self.server)

    def answered(self, *, keeps_alive: bool) -> None:
        """Its thread has done with the request."""
        self.keeps_alive = keeps_alive
        self._rest = self.parser.unreader.leftover() if keeps_alive else b""

    def flush(self) -> int:
        """As the answer's: which event to wait for, 0 when it has gone out; raises GoneError."""
        return self.answer.flush() if self.answer else 0

    def hang_up(self, until: float) -> None:
        """Closes our side; the client's is awaited. Raises OSError when it has gone."""
        self.until = until
        self.sock.setblocking(False)
        self.sock.shutdown(socket.SHUT_WR)

    def has_gone(self) -> bool:
        """Reads on after `hang_up`: whether the client has closed its side."""
        try:
            return not self.sock.recv(PIECE)
        except NOT_YET:
            return False
        except OSError:
            return True

    def abandon(self) -> None:
        """Closing it will drop what the kernel has of the answer."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def _has_no_more(self, piece: bytes) -> bool:
        """Whether to save the system call that would show it: the event loop notices later bytes."""
        return len(piece) < PIECE and not isinstance(self.sock, ssl.SSLSocket)
