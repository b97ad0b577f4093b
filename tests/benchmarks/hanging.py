"""The longest wait of another address while the connections of an address hang.

The servers are the web process alone, without and with TLS, and the shipped nginx in front of it. Without
nginx on this machine its lines are absent.
"""

import select
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.figures import Line
from tests.benchmarks.hanging_connections import KINDS, WITH_TLS
from tests.benchmarks.size import Pace
from tests.processes.certificates import make_certificate
from tests.processes.deployed import NAME, Deployed
from tests.processes.platform import ROOT
from tests.processes.web_server import everything, web_server

ROW = "hanging"
_LIMIT_MS = 1_000.0
_NO_DATABASE = "postgresql://nobody@127.0.0.1:1/nothing"
_OTHER_ADDRESS = "127.0.0.2"
_REQUEST = f"GET /small HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode()
_TIMEOUT_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class _FloodedServer:
    name: str
    port: int
    context: ssl.SSLContext | None


def measure(pace: Pace) -> list[Line]:
    """A line for each server and kind of connection."""
    lines = []
    for serving in (_alone, _alone_with_tls, _behind_nginx):
        with tempfile.TemporaryDirectory() as directory, serving(Path(directory)) as server:
            if server is None:
                continue
            for kind, hanging in KINDS.items():
                if hanging.start or server.context or not hanging.needs_handshake:
                    wait = _longest_wait(server, kind, pace.seconds)
                    lines.append(Line(ROW, f"{server.name}: {kind}", "ms", wait, _LIMIT_MS, "promise"))
    return lines


@contextmanager
def _alone(directory: Path) -> Iterator[_FloodedServer]:
    with web_server(directory) as server:
        yield _FloodedServer("alone", server.port, None)


@contextmanager
def _alone_with_tls(directory: Path) -> Iterator[_FloodedServer]:
    certificate, key = make_certificate(directory, NAME)
    with web_server(directory, certificate=(certificate, key)) as server:
        context = ssl.create_default_context(cafile=str(certificate))
        yield _FloodedServer("alone with TLS", server.port, context)


@contextmanager
def _behind_nginx(directory: Path) -> Iterator[_FloodedServer | None]:
    if shutil.which("nginx") is None:
        yield None
        return
    with web_server(directory, OPSAPI_TRUSTED_PROXIES="127.0.0.1/32") as server:
        site = Deployed(directory, _NO_DATABASE)
        site.web_port = server.port
        with site.nginx():
            context = ssl.create_default_context(cafile=str(site.certificate))
            yield _FloodedServer("behind nginx", site.port, context)


def _longest_wait(server: _FloodedServer, kind: str, seconds: float) -> float:
    """Milliseconds, while the connections are opened and for so many seconds afterwards."""
    command = [sys.executable, "-m", "tests.benchmarks.hanging_connections", str(server.port), kind]
    command += [WITH_TLS] if server.context else []
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as hanging:
        try:
            assert hanging.stdout is not None
            longest, begun, end = 0.0, False, float("inf")
            while time.monotonic() < end:
                longest = max(longest, _wait(server))
                assert hanging.poll() is None, "the program with the connections ended"
                if not begun and _has_line(hanging.stdout.fileno()):
                    begun, end = True, time.monotonic() + seconds
            return longest
        finally:
            hanging.terminate()


def _has_line(file: int) -> bool:
    return bool(select.select([file], [], [], 0)[0])


def _wait(server: _FloodedServer) -> float:
    """Milliseconds from the begin of a connection until the end of its answer."""
    began = time.monotonic()
    connection = socket.create_connection(("127.0.0.1", server.port), _TIMEOUT_SECONDS, (_OTHER_ADDRESS, 0))
    if server.context:
        connection = server.context.wrap_socket(connection, server_hostname=NAME)
    with connection:
        connection.sendall(_REQUEST)
        answer = everything(connection)
    assert answer.startswith(b"HTTP/1.1 200 "), answer[:100]
    return (time.monotonic() - began) * 1000
