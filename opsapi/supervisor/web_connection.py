"""A connection of the web worker: gathers a request without a thread, then gives it to gunicorn's parser."""

import contextlib
import socket
import ssl
import time
from typing import Any

from gunicorn import http
from gunicorn.http.errors import NoMoreData, ParseException
from gunicorn.http.unreader import SocketUnreader
from gunicorn.workers.gthread import TConn

from opsapi.supervisor.arrival import Arrival, Verdict

PIECE = 64 * 1024
PIECES_PER_EVENT = 16
# What a thread waits for the peer of a whole request: to take the answer, or the rest of an oversized body.
STALL_SECONDS = 10.0
NOT_YET = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class ArrivedUnreader(SocketUnreader):  # type: ignore[misc]  # gunicorn has no types
    """Gives the parser what has arrived in pieces no larger than a socket would, then reads the socket."""

    def __init__(self, source: socket.socket) -> None:
        super().__init__(source)
        self._arrived = memoryview(b"")
        self._until = 0.0

    def feed(self, data: bytes, until: float) -> None:
        """Takes the bytes of the next request and of what follows; the rest has to come before `until`."""
        self._arrived = memoryview(data)
        self._until = until

    def leftover(self) -> bytes:
        """What came after the request just served."""
        rest = bytes(self.take_buffered()) + bytes(self._arrived)
        self._arrived = memoryview(b"")
        return rest

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The next piece; raises NoMoreData when the peer stalls, as if it had gone."""
        size = min(max(size_hint or 0, self.mxchunk), self.max_body_chunk)
        piece, self._arrived = bytes(self._arrived[:size]), self._arrived[size:]
        if piece:
            return piece
        self.sock.settimeout(max(self._until - time.monotonic(), 0.001))
        try:
            return bytes(self.sock.recv(size))
        except TimeoutError:
            raise NoMoreData from None
        finally:
            self.sock.settimeout(STALL_SECONDS)


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


class Connection(TConn):  # type: ignore[misc]  # gunicorn has no types
    """A connection that gathers its requests."""

    arrival: Arrival
    idle_until: float
    held: int = 0
    parser: Any

    def await_request(self, now: float, idle_seconds: float) -> None:
        """Begins with the next request; its first byte has to come within `idle_seconds`."""
        self.sock.setblocking(False)
        self.arrival = Arrival(now)
        self.idle_until = now + idle_seconds

    def deadline(self) -> float:
        """When to give up on the request being awaited."""
        return self.arrival.deadline() if self.arrival.data else self.idle_until

    def receive(self) -> Verdict | None:
        """Reads what is there. None: the peer has gone."""
        verdict = Verdict.PART
        try:
            for _ in range(PIECES_PER_EVENT):
                piece = self.sock.recv(PIECE)
                if not piece:
                    return None
                verdict = self.take(piece)
                if verdict is not Verdict.PART:
                    break
        except NOT_YET:
            return verdict
        except OSError:
            return None
        return verdict

    def take(self, piece: bytes) -> Verdict:
        """Adds bytes to the request; the wait for it counts from its first byte."""
        if not self.arrival.data:
            self.arrival = Arrival(time.monotonic())
        verdict = self.arrival.add(piece)
        if verdict is Verdict.PART and self.arrival.take_expectation():
            with contextlib.suppress(OSError):  # it may have gone: the next read will tell
                self.sock.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        return verdict

    def init(self) -> None:
        """Called by a thread that was given a whole request."""
        if self.parser is None:
            self.parser = http.get_parser(self.cfg, self.sock, self.client)
            self.parser.unreader = ArrivedUnreader(self.sock)
            self.initialized = True
        self.sock.settimeout(STALL_SECONDS)
        now = time.monotonic()
        self.parser.unreader.feed(bytes(self.arrival.data), now + STALL_SECONDS)
        self.arrival = Arrival(now)
