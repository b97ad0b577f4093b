"""An HTTP client that costs next to nothing, so that the server is what is measured: raw connections."""

import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass

Address = tuple[str, int]
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_PIECE = 1 << 20
TIMEOUT_SECONDS = 30.0


class UnexpectedAnswer(Exception):  # noqa: N818 - an answer, not an error
    """The server did not answer as the benchmark needs it."""


@dataclass(frozen=True, slots=True)
class LoadAnswer:
    """One response."""

    status: int
    head: bytes
    body: bytes


class LoadConnection:
    """A keep-alive connection that carries one request at a time."""

    def __init__(self, address: Address) -> None:
        self.socket = socket.create_connection(address, TIMEOUT_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent = 0.0
        self._arrived = bytearray()
        self._head_ends = self._ends = 0

    def send(self, request: bytes) -> None:
        """Send a request; `sent` is when, in seconds of a monotonic clock."""
        self.sent = time.monotonic()
        self.socket.sendall(request)

    def receive(self) -> LoadAnswer | None:
        """Read what has come; None while the answer is not whole. Raises UnexpectedAnswer at its end."""
        piece = self.socket.recv(_PIECE)
        if not piece:
            raise UnexpectedAnswer("the server closed the connection")
        self._arrived += piece
        if not self._ends and not self._read_head():
            return None
        return self._answer() if len(self._arrived) >= self._ends else None

    def exchange(self, request: bytes) -> LoadAnswer:
        """Send and wait for the answer."""
        self.send(request)
        while (answer := self.receive()) is None:
            pass
        return answer

    def close(self) -> None:
        """Hang up."""
        self.socket.close()

    def _read_head(self) -> bool:
        self._head_ends = self._arrived.find(b"\r\n\r\n") + 4
        if self._head_ends < 4:
            return False
        length = _LENGTH.search(self._arrived, 0, self._head_ends)
        if length is None:
            raise UnexpectedAnswer("an answer without Content-Length")
        self._ends = self._head_ends + int(length[1])
        return True

    def _answer(self) -> LoadAnswer:
        head, body = bytes(self._arrived[: self._head_ends]), bytes(self._arrived[self._head_ends :])
        self._arrived.clear()
        self._head_ends = self._ends = 0
        return LoadAnswer(int(head[9:12]), head, body)


def request(
    method: str, target: str, host: str, *, body: bytes = b"", headers: Mapping[str, str] | None = None
) -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body
