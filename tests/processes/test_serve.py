"""`manage.py serve`: one command runs everything, ends everything, and comes back after any kill."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from opsapi.embedded.layout import Layout
from tests.eventually import eventually, is_running
from tests.hostile.budget import LONG
from tests.integration.embedded.sql import ask
from tests.processes.platform import (
    ROOT,
    RunningPlatform,
    assert_one_line,
    descendants,
    prepared_installation,
)

pytestmark = pytest.mark.processes

# A busy machine needs longer to stop than the platform allows. The web process still has less time than a
# request has to arrive (10 s): it must not wait for one.
PATIENT = """
from opsapi.__main__ import main
from opsapi.supervisor import platform

platform.WEB_SECONDS, platform.WORKER_SECONDS, platform.DATABASE_SECONDS = 30.0, 30.0, 60.0
main()
"""


@pytest.fixture(scope="module")
def installed() -> Iterator[RunningPlatform]:
    """An installation that each test may end in its own way."""
    with prepared_installation(GUNICORN_CMD_ARGS="--graceful-timeout 9") as made:
        made.program = [sys.executable, "-c", PATIENT]
        yield made


@pytest.fixture
def serving(installed: RunningPlatform) -> RunningPlatform:
    """The same, started."""
    if not installed.is_up:
        installed.start()
    return installed


@pytest.fixture
def stopped(installed: RunningPlatform) -> RunningPlatform:
    """The same, not running."""
    if installed.is_up:
        assert installed.stop() == 0
    return installed


def test_a_start_goes_on_when_its_database_and_its_preparation_are_killed(stopped: RunningPlatform) -> None:
    stopped.launch()
    for role in ("postgres", "prepare", "postgres"):
        eventually(lambda: stopped.find_child("prepare"), message="the preparation runs")
        # After its database the preparation may run for a moment before the next database does.
        killed = eventually(lambda role=role: stopped.find_child(role), message=f"{role} runs")  # type: ignore[misc]  # mypy infers no default
        os.kill(killed, signal.SIGKILL)
        eventually(lambda killed=killed: not is_running(killed))  # type: ignore[misc]  # as above
    stopped.wait_ready()
    assert stopped.log.count("PostgreSQL stopped (signal 9), restarting") == 2
    assert "preparation failed (signal 9), trying again" in stopped.log
    assert "Traceback" not in stopped.log


def test_it_says_where_it_is_and_how_to_make_the_first_user(serving: RunningPlatform) -> None:
    assert f"Ops API is ready: {serving.base_url}/\n" in serving.output
    assert f"{serving.base_url}/admin/setup/#" in serving.output
    assert serving.get("/health/live").status_code == 200


def test_its_log_is_lines_with_a_time(serving: RunningPlatform) -> None:
    serving.get("/health/live")
    lines = serving.log.splitlines()
    assert lines
    assert [line for line in lines if not line.startswith("20")] == []


def test_a_second_one_on_the_same_directory_is_refused(serving: RunningPlatform) -> None:
    second = RunningPlatform(serving.directory / "second", OPSAPI_DATA_DIR=str(serving.data_dir))
    second.directory.mkdir(exist_ok=True)
    assert_one_line(second.fail_to_start(), f"in use by a running platform, process {serving.pid}")


def test_it_replaces_every_child_that_is_killed(serving: RunningPlatform) -> None:
    for role in ("postgres", "gunicorn", "gunicorn worker", "run_worker"):
        killed = serving.child(role)
        os.kill(killed, signal.SIGKILL)
        eventually(lambda killed=killed: not is_running(killed))  # type: ignore[misc]  # as above
        eventually(lambda role=role: serving.find_child(role), message=f"a new {role}")  # type: ignore[misc]  # as above
        eventually(serving.answers)
        eventually(lambda: _has_database(serving))


def test_it_starts_at_once_after_it_was_killed(serving: RunningPlatform) -> None:
    for signum in (signal.SIGTERM, signal.SIGKILL) if LONG else (signal.SIGKILL,):
        before = descendants(serving.pid)
        os.kill(serving.pid, signum)  # and no waiting
        old = serving.process
        serving.start()
        assert old is not None
        old.wait()
        assert not any(map(is_running, before))
        assert serving.answers()


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGINT] if LONG else [signal.SIGTERM])
def test_it_ends_everything_in_order_when_stopped(serving: RunningPlatform, signum: signal.Signals) -> None:
    with ExitStack() as connections:
        idle = [
            connections.enter_context(socket.create_connection(("127.0.0.1", serving.port))) for _ in range(3)
        ]
        idle[0].sendall(b"GET /health/live HTTP/1.1\r\nHost: lo")
        assert serving.stop(signum) == 0
    log = serving.log
    assert (
        log.index("stopping") < log.index("Shutting down: Master") < log.index("database system is shut down")
    )
    assert "Worker exiting" in log  # gunicorn did not have to kill it


def test_it_can_be_stopped_while_it_starts(platform: RunningPlatform) -> None:
    platform.launch()
    eventually(lambda: "creating the database" in platform.log)
    assert platform.stop() == 0


WAKEUP = """
import os
import signal
import sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # Tests under nohup inherit that it is ignored.
from opsapi.supervisor.platform import Wakeup
if sys.argv[1:]:  # The first terminal that the leader of a session opens is the terminal of the session.
    os.open(sys.argv[1], os.O_RDWR)
wakeup = Wakeup()
print("ready", flush=True)
while not wakeup.is_stop_requested():
    wakeup.wait(1.0)
    if wakeup.take_reload():
        print("reload", flush=True)
"""


@pytest.mark.parametrize("has_terminal", [True, False])
def test_a_hangup_is_a_request_to_reload_and_ends_it_only_with_its_terminal(
    has_terminal: bool, tmp_path: Path
) -> None:
    master, slave = os.openpty()
    output = tmp_path / "output.txt"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", WAKEUP, *([os.ttyname(slave)] if has_terminal else [])],
            cwd=ROOT,
            stdout=file,
            start_new_session=True,
        )
    os.close(slave)
    try:
        eventually(lambda: "ready" in output.read_text(), message="ready")
        process.send_signal(signal.SIGHUP)
        eventually(lambda: "reload" in output.read_text(), message="reload")
        assert process.poll() is None
        os.close(master)
        if not has_terminal:
            process.send_signal(signal.SIGHUP)
            eventually(lambda: output.read_text().count("reload") == 2, message="another reload")
            assert process.poll() is None
            process.terminate()
        eventually(lambda: process.poll() is not None, message="end")
        assert process.returncode == 0
    finally:
        process.kill()
        process.wait()


def _has_database(platform: RunningPlatform) -> bool:
    try:
        return bool(ask(Layout(platform.data_dir), "SELECT true"))
    except psycopg.OperationalError:
        return False
