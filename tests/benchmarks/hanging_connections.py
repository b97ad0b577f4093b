"""`python -m tests.benchmarks.hanging_connections PORT KIND`: an address whose connections hang.

It keeps 1,000 connections open, and replaces connections that the server closes. It writes a line as soon as
each connection has been opened once.
"""

import select
import socket
import ssl
import sys
import time
from dataclasses import dataclass

from tests.processes.deployed import NAME
from tests.processes.web_server import many_files

CONNECTIONS = 1_000
_ROUND_SECONDS = 1.0
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Hanging:
    """How a connection hangs: after which bytes, and whether a byte follows each second."""

    start: bytes = b""
    is_fed: bool = False
    needs_handshake: bool = True
    """Whether it completes the TLS handshake, at a server with TLS."""


_HEAD = f"GET /large HTTP/1.1\r\nHost: {NAME}\r\n".encode()
_POST = f"POST /small HTTP/1.1\r\nHost: {NAME}\r\nContent-Length: 100000\r\n".encode()
KINDS = {
    "sends nothing": Hanging(needs_handshake=False),
    "completes the TLS handshake": Hanging(),
    "sends a head, a byte a second": Hanging(_HEAD + b"X: ", is_fed=True),
    "sends a body, a byte a second": Hanging(_POST + b"\r\n{", is_fed=True),
    "sends a head of 7 kB, then a byte a second": Hanging(
        _POST + b"X: " + b"x" * 7_000 + b"\r\n\r\n{", is_fed=True
    ),
    "reads no answer": Hanging((_HEAD + b"\r\n") * 6),
}
WITH_TLS = "tls"


def main() -> None:
    """Keep the connections open until the process is ended."""
    port, kind = int(sys.argv[1]), KINDS[sys.argv[2]]
    context = None
    if WITH_TLS in sys.argv[3:] and kind.needs_handshake:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with many_files():
        held: list[socket.socket | None] = [None] * CONNECTIONS
        _keep(held, port, kind, context)
        sys.stdout.write("begun\n")
        sys.stdout.flush()
        while True:
            began = time.monotonic()
            _keep(held, port, kind, context)
            time.sleep(max(0.0, _ROUND_SECONDS - (time.monotonic() - began)))


def _keep(held: list[socket.socket | None], port: int, kind: Hanging, context: ssl.SSLContext | None) -> None:
    """Open the connections that are not open, and feed the others."""
    for place, connection in enumerate(held):
        if connection is None or not _goes_on(connection, kind):
            if connection is not None:
                connection.close()
            held[place] = _opened(port, kind, context)


def _opened(port: int, kind: Hanging, context: ssl.SSLContext | None) -> socket.socket | None:
    """A connection after its first bytes; None if the server closes it before."""
    connection = socket.socket()
    connection.settimeout(_TIMEOUT_SECONDS)
    try:
        connection.connect(("127.0.0.1", port))
        if context:
            connection = context.wrap_socket(connection)
        connection.sendall(kind.start)
    except OSError:
        connection.close()
        return None
    connection.setblocking(False)
    return connection


def _goes_on(connection: socket.socket, kind: Hanging) -> bool:
    """Whether the server keeps it open; sends the next byte. Nothing is read."""
    poller = select.poll()
    poller.register(connection, select.POLLRDHUP)
    if poller.poll(0):
        return False
    if kind.is_fed:
        try:
            connection.send(b"x")
        except (BlockingIOError, ssl.SSLWantWriteError):
            return True
        except OSError:
            return False
    return True


if __name__ == "__main__":
    main()
