"""`python -m tests.benchmarks.handshake_flood PORT`: begins TLS handshakes without end.

An address keeps 1,000 connections open. When the server answers a handshake, the connection is reset and
another begins. It writes a line as soon as every first connection has an answer.
"""

import selectors
import socket
import ssl
import struct
import sys

from tests.processes.deployed import NAME
from tests.processes.web_server import many_files

CONNECTIONS = 1_000
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def main() -> None:
    """Begin handshakes until the process is ended."""
    port, hello, answers = int(sys.argv[1]), _client_hello(), 0
    with many_files(), selectors.DefaultSelector() as selector:
        for _ in range(CONNECTIONS):
            _connect(port, selector)
        while True:
            for key, events in selector.select():
                connection: socket.socket = key.data
                if events & selectors.EVENT_WRITE:
                    connection.send(hello)
                    selector.modify(connection, selectors.EVENT_READ, connection)
                    continue
                answers += bool(connection.recv(1 << 16))
                selector.unregister(connection)
                connection.close()
                _connect(port, selector)
            if answers >= CONNECTIONS:
                answers = -sys.maxsize
                sys.stdout.write("begun\n")
                sys.stdout.flush()


def _client_hello() -> bytes:
    """The first message of a handshake. Servers accept it again and again."""
    context = ssl.create_default_context()
    sent = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=NAME).do_handshake()
    except ssl.SSLWantReadError:
        return sent.read()
    raise AssertionError("a handshake ended without a server")


def _connect(port: int, selector: selectors.BaseSelector) -> None:
    connection = socket.socket()
    connection.setblocking(False)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
    connection.connect_ex(("127.0.0.1", port))
    selector.register(connection, selectors.EVENT_WRITE, connection)


if __name__ == "__main__":
    main()
