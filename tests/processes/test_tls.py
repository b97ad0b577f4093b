"""The platform with a certificate of its own, on a database of another server."""

import os
import signal
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests

from opsapi.embedded.layout import Layout
from tests.database import copy_migrated
from tests.eventually import eventually, is_running
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


def test_a_hangup_replaces_the_web_processes_with_a_renewed_certificate(served: RunningPlatform) -> None:
    before, worker = _shown(served), served.child("run_worker")
    renewed = _renew(served)
    assert _reloaded(served)
    assert _shown(served) == renewed != before
    assert _answers(served) == 200
    assert served.child("run_worker") == worker


def test_a_hangup_with_a_broken_certificate_leaves_the_earlier_certificate(served: RunningPlatform) -> None:
    before, key = _shown(served), Path(served.environment["OPSAPI_TLS_KEY"])
    content = key.read_bytes()
    key.write_bytes(b"")
    try:
        assert _reloaded(served)
        assert _shown(served) == before
        assert "the changed TLS certificate is not used" in served.log
        os.kill(served.child("gunicorn worker"), signal.SIGKILL)
        eventually(lambda: _shown(served) == before, message="a replaced worker has it too")
    finally:
        key.write_bytes(content)


def _reloaded(platform: RunningPlatform) -> bool:
    """Send SIGHUP. Whether another web process has replaced the present one."""
    web, worker = platform.child("gunicorn"), platform.child("gunicorn worker")
    os.kill(platform.pid, signal.SIGHUP)
    eventually(lambda: not is_running(worker), message="the old worker has ended")
    eventually(lambda: platform.find_child("gunicorn worker"), message="a new worker")
    return platform.child("gunicorn") == web


def _renew(platform: RunningPlatform) -> bytes:
    """Replace the files. Return the certificate (DER)."""
    make_certificate(platform.directory)
    return ssl.PEM_cert_to_DER_cert(Path(platform.environment["OPSAPI_TLS_CERT"]).read_text())


def _shown(platform: RunningPlatform) -> bytes | None:
    """The certificate of a new connection (DER); None without an answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        plain = socket.create_connection(("127.0.0.1", platform.port), PATIENCE)
        with plain, context.wrap_socket(plain) as secured:
            return secured.getpeercert(binary_form=True)
    except OSError:
        return None


def _answers(platform: RunningPlatform) -> int:
    url = f"https://127.0.0.1:{platform.port}/health/live"
    certificate = platform.environment["OPSAPI_TLS_CERT"]
    return requests.get(url, timeout=PATIENCE, verify=certificate).status_code
