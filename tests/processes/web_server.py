"""Our gunicorn alone, with an application that needs no database: it starts in a second or two."""

import os
import resource
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.eventually import eventually
from tests.processes.platform import ROOT, children, free_port

PATIENCE = 30.0
"""Seconds. The server gives up on slow clients after ten: an answer before that has not waited for them."""
_STOP_SECONDS = 60.0


class WebServer:
    """A running one, with one worker process."""

    def __init__(
        self, port: int, process: subprocess.Popen[bytes], log: Path, context: ssl.SSLContext | None
    ) -> None:
        self.port = port
        self.pid = process.pid
        self._log = log
        self._context = context

    @property
    def log(self) -> str:
        """What it wrote to stderr."""
        return self._log.read_text()

    @property
    def worker(self) -> int:
        """The process id of its worker."""
        (worker,) = children(self.pid)
        return worker

    def connect(self, address: str = "127.0.0.1") -> socket.socket:
        """A connection from the address."""
        return self.secured(self.connect_plain(address))

    def connect_plain(self, address: str = "127.0.0.1") -> socket.socket:
        """The same, without TLS."""
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE, (address, 0))

    def secured(self, connection: socket.socket) -> socket.socket:
        """The connection with TLS, if the server has a certificate."""
        return self._context.wrap_socket(connection) if self._context else connection

    def answers(self, address: str = "127.0.0.1") -> bool:
        """Whether a new connection from the address is answered."""
        with self.connect(address) as connection:
            connection.sendall(get("/small", close=True))
            return everything(connection).startswith(b"HTTP/1.1 200 ")


@contextmanager
def web_server(
    directory: Path, *before: str, certificate: tuple[Path, Path] | None = None, **environment: str
) -> Iterator[WebServer]:
    """Started by way of the command `before`, with settings in addition to the tests' own."""
    port, log = free_port(), directory / "web.log"
    settings = {
        **os.environ,
        "OPSAPI_DATA_DIR": str(directory / "var"),
        "OPSAPI_ENCRYPTION_KEYS": "e" * 64,
        "OPSAPI_BIND": f"127.0.0.1:{port}",
        "OPSAPI_WORKERS": "1",
        "OPSAPI_THREADS": "2",
        **environment,
    }
    context = None
    if certificate:
        settings |= {"OPSAPI_TLS_CERT": str(certificate[0]), "OPSAPI_TLS_KEY": str(certificate[1])}
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.load_verify_locations(certificate[0])
    command = [sys.executable, "-m", "gunicorn", "--config", "python:opsapi.gunicorn_conf"]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [*before, *command, "tests.processes.answers:application"], cwd=ROOT, env=settings, stderr=file
        )
    try:
        server = WebServer(port, process, log, context)
        eventually(lambda: process.poll() is not None or _is_up(server), message="the web server answers")
        assert process.poll() is None, server.log
        yield server
    finally:
        process.terminate()
        process.wait(_STOP_SECONDS)


@contextmanager
def many_files() -> Iterator[None]:
    """In the block, this process can open as many files as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def get(path: str, *, close: bool = False, client: str = "") -> bytes:
    """A GET as it goes over the wire, from a proxy if `client` is the address of its client."""
    headers = ["Host: localhost"]
    if close:
        headers.append("Connection: close")
    if client:
        headers.append(f"X-Forwarded-For: {client}")
    return "\r\n".join([f"GET {path} HTTP/1.1", *headers, "", ""]).encode()


def client_hello() -> bytes:
    """The first bytes of a client with TLS. The server signs an answer to them."""
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def everything(connection: socket.socket) -> bytes:
    """What comes until the end of the connection."""
    received = bytearray()
    while piece := connection.recv(1 << 16):
        received += piece
    return bytes(received)


def _is_up(server: WebServer) -> bool:
    try:
        return server.answers()
    except OSError:
        return False
