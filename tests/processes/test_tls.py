"""The platform behind a certificate of its own."""

import socket
from contextlib import ExitStack

import pytest
import requests

from tests.processes.certificates import make_certificate
from tests.processes.platform import RunningPlatform

pytestmark = pytest.mark.processes

PATIENCE = 30.0
"""Seconds. Held up by twenty idle handshakes, ten seconds each on four threads, it takes longer."""


def test_it_speaks_tls_and_slow_handshakes_do_not_stop_it(prepared: RunningPlatform) -> None:
    certificate, key = make_certificate(prepared.directory)
    prepared.environment |= {"OPSAPI_TLS_CERT": str(certificate), "OPSAPI_TLS_KEY": str(key)}
    prepared.start()
    assert f"https://127.0.0.1:{prepared.port}/" in prepared.output

    url = f"https://127.0.0.1:{prepared.port}/health/live"
    with ExitStack() as idle, requests.Session() as session:
        for number in range(20):
            connection = idle.enter_context(socket.create_connection(("127.0.0.1", prepared.port)))
            connection.sendall(b"\x16\x03\x01" if number % 2 else b"")
        answers = [session.get(url, timeout=PATIENCE, verify=str(certificate)).status_code for _ in range(3)]
    assert answers == [200, 200, 200]
    assert prepared.stop() == 0
