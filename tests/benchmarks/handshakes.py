"""The wait of other addresses while an address floods the shipped nginx with TLS handshakes.

nginx has one process and no web process behind it, so the answer is its own. The firewall of the guide, which
limits the connections of an address, is absent. Without nginx on this machine there are no lines.
"""

import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.figures import Line, percentile
from tests.benchmarks.size import Pace
from tests.processes.deployed import NAME, Deployed
from tests.processes.platform import ROOT

ROW = "handshakes"
_LIMIT_MS = 1_000.0
_NO_DATABASE = "postgresql://nobody@127.0.0.1:1/nothing"
_OTHER_ADDRESS = "127.0.0.2"
_REQUEST = f"GET /health/live HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n".encode()
_TIMEOUT_SECONDS = 60.0


def measure(pace: Pace) -> list[Line]:
    """Two lines for each kind of key."""
    if shutil.which("nginx") is None:
        return []
    lines = []
    for key, rsa_bits in (("ECDSA key", None), ("RSA key of 2,048 bits", 2048)):
        waits = _waits(rsa_bits, pace.rounds * pace.seconds)
        for share, name in ((0.5, "median"), (1.0, "longest")):
            value = percentile(waits, share)
            lines.append(Line(ROW, f"{name} wait of others, {key}", "ms", value, _LIMIT_MS, "promise"))
    return lines


def _waits(rsa_bits: int | None, seconds: float) -> list[float]:
    """Milliseconds of each request of another address, each on a new connection."""
    with tempfile.TemporaryDirectory() as directory:
        site = Deployed(Path(directory), _NO_DATABASE, rsa_bits=rsa_bits)
        command = [sys.executable, "-m", "tests.benchmarks.handshake_flood", str(site.port)]
        with site.nginx(), subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as flood:
            try:
                assert flood.stdout is not None
                assert flood.stdout.readline() == b"begun\n", "the flood ended"
                context = ssl.create_default_context(cafile=str(site.certificate))
                end, waits = time.monotonic() + seconds, []
                while time.monotonic() < end:
                    waits.append(_wait(site.port, context))
                assert flood.poll() is None, "the flood ended"
                return waits
            finally:
                flood.terminate()


def _wait(port: int, context: ssl.SSLContext) -> float:
    """Milliseconds from the begin of a connection until the end of its answer."""
    began = time.monotonic()
    plain = socket.create_connection(("127.0.0.1", port), _TIMEOUT_SECONDS, (_OTHER_ADDRESS, 0))
    with context.wrap_socket(plain, server_hostname=NAME) as connection:
        connection.sendall(_REQUEST)
        answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
    assert answer.startswith(b"HTTP/1.1 503 "), answer[:100]
    return (time.monotonic() - began) * 1000
