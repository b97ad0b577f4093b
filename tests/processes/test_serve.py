"""`manage.py serve`: one command runs everything, ends everything, and comes back after any kill."""

import os
import signal
import socket
import sys
from contextlib import ExitStack

import psycopg
import pytest

from opsapi.embedded.layout import Layout
from opsapi.first_steps import BOOTSTRAP
from tests.eventually import eventually, is_running
from tests.integration.embedded.sql import ask
from tests.processes.platform import ROOT, Platform, assert_one_line, descendants

pytestmark = pytest.mark.processes


def test_it_says_where_it_is_and_how_to_make_the_first_user(running: Platform) -> None:
    assert f"Ops API is ready: {running.base_url}/\n" in running.output
    assert BOOTSTRAP in running.output
    assert running.get("/health/live").status_code == 200


def test_its_log_is_lines_with_a_time(running: Platform) -> None:
    running.get("/health/live")
    lines = running.log.splitlines()
    assert lines
    assert [line for line in lines if not line.startswith("20")] == []


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_everything_in_order_when_told_to_stop(platform: Platform, signum: signal.Signals) -> None:
    platform.start()
    with ExitStack() as connections:
        idle = [
            connections.enter_context(socket.create_connection(("127.0.0.1", platform.port)))
            for _ in range(3)
        ]
        idle[0].sendall(b"GET /health/live HTTP/1.1\r\nHost: lo")
        assert platform.stop(signum) == 0
    log = platform.log
    assert (
        log.index("stopping") < log.index("Shutting down: Master") < log.index("database system is shut down")
    )
    assert not any("is killed" in line for line in log.splitlines())


def test_it_can_be_stopped_while_it_starts(platform: Platform) -> None:
    platform.launch()
    eventually(lambda: "making the database" in platform.log)
    assert platform.stop() == 0


def test_it_replaces_every_child_that_is_killed(platform: Platform) -> None:
    platform.start()
    for role in ("postgres", "gunicorn", "gunicorn worker", "run_worker"):
        killed = platform.child(role)
        os.kill(killed, signal.SIGKILL)
        eventually(lambda killed=killed: not is_running(killed))  # type: ignore[misc]  # mypy infers no default
        eventually(lambda role=role: platform.find_child(role), message=f"a new {role}")  # type: ignore[misc]  # as above
        eventually(platform.answers)
        eventually(lambda: _has_database(platform))
    assert platform.stop() == 0


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM])
def test_it_starts_at_once_after_it_was_killed(platform: Platform, signum: signal.Signals) -> None:
    platform.start()
    assert platform.manage("bootstrap", "ada").returncode == 0
    before = descendants(platform.pid)
    os.kill(platform.pid, signum)  # and no waiting
    old = platform.process
    platform.start()
    assert old is not None
    old.wait()
    assert not any(map(is_running, before))
    assert platform.answers()
    assert "bootstrap" not in platform.output


def test_it_ends_with_the_parent_it_was_given_and_starts_at_once(platform: Platform) -> None:
    serve = f"{sys.executable} {ROOT / 'manage.py'} serve --parent $$"
    platform.launch("sh", "-c", f"{serve}; true")
    platform.wait_ready()
    processes = descendants(platform.pid)
    platform.kill()
    platform.start()  # at once: it waits for the other to finish
    assert not any(map(is_running, processes))
    assert platform.answers()


def test_a_second_one_on_the_same_directory_is_refused(running: Platform) -> None:
    second = Platform(running.directory / "second", OPSAPI_DATA_DIR=str(running.data_dir))
    second.directory.mkdir()
    assert_one_line(second.fail_to_start(), f"in use: the platform runs there, process {running.pid}")


def _has_database(platform: Platform) -> bool:
    try:
        return bool(ask(Layout(platform.data_dir), "SELECT true"))
    except psycopg.OperationalError:
        return False
