"""Requests as they go to a running server, and its answers with the time that they took."""

import socket
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any

from tests.hostile.wire import STATUS, everything

_WAIT = 60.0
_UNSENDABLE = {"REMOTE_ADDR"}
_NAMES = {"content_type": "Content-Type", "CONTENT_LENGTH": "Content-Length"}


@dataclass(frozen=True)
class TimedAnswer:
    """The answer to a request; status 0 if the server closed the connection without an answer."""

    status: int
    headers: str
    body: bytes
    seconds: float

    @property
    def text(self) -> str:
        """The whole answer."""
        return f"{self.headers}\n{self.body.decode('utf-8', 'replace')}"


def request_octets(method: str, target: str, body: bytes | None, headers: Mapping[str, Any]) -> bytes:
    """The request; `headers` as WSGI names them replace the usual ones."""
    lines = {"Host": "localhost"}
    if body is not None:
        lines |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    for name, value in headers.items():
        if name not in _UNSENDABLE:
            lines[_NAMES.get(name) or name.removeprefix("HTTP_").replace("_", "-").title()] = str(value)
    head = [f"{method} {target} HTTP/1.1".encode(), *(_line(name, value) for name, value in lines.items())]
    return b"\r\n".join([*head, b"", body or b""])


def _line(name: str, value: str) -> bytes:
    return f"{name}: ".encode() + value.encode("latin-1", "replace")


class HostileConnection:
    """A connection to the server, opened again after it is closed."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._socket: socket.socket | None = None

    def ask(self, octets: bytes, method: str) -> TimedAnswer:
        """The answer to a request whose length the server knows, on the connection of the one before."""
        reused = self._socket is not None
        began = time.perf_counter()
        try:
            return self._ask(octets, method, began)
        except (ConnectionError, HTTPException):
            self.close()
            if not reused:
                return TimedAnswer(0, "", b"", time.perf_counter() - began)
        return self.ask(octets, method)

    def _ask(self, octets: bytes, method: str, began: float) -> TimedAnswer:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self.port), _WAIT)
        with suppress(ConnectionError):  # it may refuse before it has heard everything
            self._socket.sendall(octets)
        with HTTPResponse(self._socket, method=method) as answer:
            answer.begin()
            body = answer.read()
            seconds = time.perf_counter() - began
            if answer.will_close:
                self.close()
            return TimedAnswer(answer.status, str(answer.headers), body, seconds)

    def close(self) -> None:
        """End it."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def ask_alone(port: int, pieces: Sequence[bytes]) -> TimedAnswer:
    """The answer to octets that may not say where a request ends: nothing more follows them.

    Of several answers the status is the highest.
    """
    began = time.perf_counter()
    with socket.create_connection(("127.0.0.1", port), timeout=_WAIT) as connection:
        with suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
        received = everything(connection)
    head, _, body = received.partition(b"\r\n\r\n")
    status = max(map(int, STATUS.findall(received)), default=0)
    return TimedAnswer(status, head.decode("latin-1"), body, time.perf_counter() - began)
