"""The platform with a certificate of its own, on a database of another server."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
import requests

from opsapi.embedded.layout import Layout
from tests.database import copy_migrated
from tests.processes.certificates import make_certificate
from tests.processes.platform import RunningPlatform, installation
from tests.shared import run_directory

pytestmark = pytest.mark.processes

PATIENCE = 30.0
"""Seconds. Held up by twenty idle handshakes, ten seconds each on four threads, it takes longer."""


@pytest.fixture(scope="module")
def served(django_db_setup: None) -> Iterator[RunningPlatform]:
    """A running one."""
    with installation() as made:
        name = f"outside_{made.port}"
        copy_migrated(name)
        certificate, key = make_certificate(made.directory)
        made.environment |= {
            "DATABASE_URL": f"postgresql://opsapi@/{Layout(run_directory()).socket_dir}/{name}",
            "OPSAPI_TLS_CERT": str(certificate),
            "OPSAPI_TLS_KEY": str(key),
        }
        made.start()
        yield made
        assert made.stop() == 0


def test_an_outside_database_is_served_without_an_embedded_one(served: RunningPlatform) -> None:
    assert served.find_child("postgres") is None
    assert not (served.data_dir / "postgres").exists()
    assert _answers(served) == 200


def test_it_speaks_tls_and_slow_handshakes_do_not_stop_it(served: RunningPlatform) -> None:
    assert f"https://127.0.0.1:{served.port}/" in served.output
    with ExitStack() as idle:
        for number in range(20):
            connection = idle.enter_context(socket.create_connection(("127.0.0.1", served.port)))
            connection.sendall(b"\x16\x03\x01" if number % 2 else b"")
        assert [_answers(served) for _ in range(3)] == [200, 200, 200]


def _answers(platform: RunningPlatform) -> int:
    url = f"https://127.0.0.1:{platform.port}/health/live"
    certificate = platform.environment["OPSAPI_TLS_CERT"]
    return requests.get(url, timeout=PATIENCE, verify=certificate).status_code
