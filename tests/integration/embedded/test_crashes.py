"""What a start finds after a crash: lock files, dying servers, orphans."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from opsapi.embedded import server as server_module
from opsapi.embedded.layout import SOCKET_NAME
from opsapi.embedded.server import Server
from opsapi.supervisor import StartError
from opsapi.supervisor.platform import DirectoryLock
from tests.eventually import eventually, is_running
from tests.hostile.budget import LONG
from tests.integration.embedded.sql import ask, connect, run_sql


@pytest.fixture
def stranger() -> Iterator["subprocess.Popen[bytes]"]:
    """A living process that has nothing to do with us."""
    with subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"]) as process:
        yield process
        process.kill()


def test_a_stale_pid_file_naming_a_stranger_is_not_believed(
    server: Server, stranger: "subprocess.Popen[bytes]"
) -> None:
    server.start()
    server.wait_ready()
    pid_file, socket = server.layout.pid_file, server.layout.socket_dir / SOCKET_NAME
    text = pid_file.read_text().replace(str(server.pid), str(stranger.pid), 1)
    server.stop()
    pid_file.write_text(text)
    socket.with_name(f"{SOCKET_NAME}.lock").write_text(text)
    socket.touch()

    server.start()
    server.wait_ready()
    assert ask(server.layout, "SELECT 1") == 1
    server.stop()
    assert stranger.poll() is None


Held = tuple["subprocess.Popen[str]", int]


@pytest.fixture
def held(server: Server) -> Iterator[Held]:
    """Another process, which holds the directory of the server, and the process of the server."""
    command = [sys.executable, "-m", "tests.integration.embedded.holder", str(server.layout.data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            yield holder, int(holder.stdout.readline())
        finally:
            holder.kill()


BROKEN = [b"", b"12", b"\xff\x00\xfe", b"\n", b"no number", b"-1\n", b"0\n", b"9" * 99]


@pytest.mark.parametrize("content", BROKEN if LONG else BROKEN[:3])
def test_a_broken_pid_file_is_no_obstacle(server: Server, content: bytes) -> None:
    server.layout.pid_file.write_bytes(content)
    server.start()
    server.wait_ready()
    assert ask(server.layout, "SELECT 1") == 1


def test_a_killed_server_recovers_what_was_committed(server: Server) -> None:
    server.start()
    server.wait_ready()
    run_sql(server.layout, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    _kill(server.pid)
    eventually(lambda: server.poll() is not None)

    server.start()
    server.wait_ready()
    assert ask(server.layout, "SELECT count(*) FROM kept") == 1000


def test_orphans_of_a_killed_server_are_ended_first(server: Server) -> None:
    server.start()
    server.wait_ready()
    with connect(server.layout) as connection:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        # Computing, it notices neither the death of its server nor that of its client.
        connection.pgconn.send_query(b"DO $$ BEGIN LOOP END LOOP; END $$")
        computes = f"SELECT state = 'active' FROM pg_stat_activity WHERE pid = {row[0]}"  # noqa: S608 - a number
        eventually(lambda: ask(server.layout, computes), message="it computes")
        _kill(server.pid)
        eventually(lambda: server.poll() is not None)
        assert is_running(row[0])

        server.start()
        assert not is_running(row[0])
        server.wait_ready()
        connection.pgconn.finish()
    assert ask(server.layout, "SELECT 1") == 1


@pytest.mark.parametrize("round_", range(3 if LONG else 1))
def test_a_start_right_after_its_holder_was_killed_works(server: Server, held: Held, round_: int) -> None:
    holder, pid = held
    run_sql(server.layout, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    holder.kill()

    lock = DirectoryLock(server.layout.data_dir)
    lock.acquire()
    server.start()
    server.wait_ready()
    assert not is_running(pid)
    assert ask(server.layout, "SELECT count(*) FROM kept") == 1000
    holder.wait()
    lock.release()


def test_a_server_ends_when_its_holder_is_killed(server: Server, held: Held) -> None:
    holder, pid = held
    holder.kill()
    holder.wait()
    eventually(lambda: not is_running(pid))
    with pytest.raises(psycopg.OperationalError):
        connect(server.layout)


def test_a_second_start_on_the_same_directory_is_refused(server: Server, held: Held) -> None:
    holder, pid = held
    with pytest.raises(StartError, match=rf"in use by a running platform, process {holder.pid}"):
        DirectoryLock(server.layout.data_dir).acquire()
    assert is_running(pid)
    holder.kill()
    holder.wait()
    eventually(lambda: not is_running(pid))


@pytest.fixture
def obstacle(server: Server) -> Path:
    """Where a directory makes each checkpoint PANIC, as a disk does that is full at that moment."""
    return server.layout.cluster / "pg_logical" / "replorigin_checkpoint.tmp"


def test_a_server_that_panics_while_it_recovers_ends_and_recovers_when_the_cause_is_gone(
    server: Server, obstacle: Path
) -> None:
    server.start()
    server.wait_ready()
    run_sql(server.layout, "CREATE TABLE kept AS SELECT generate_series(1, 1000) AS n")
    _kill(server.pid)
    eventually(lambda: server.poll() is not None)
    obstacle.mkdir()
    for _ in range(2):
        server.start()
        eventually(lambda: server.poll() is not None, message="it ends")
    obstacle.rmdir()
    server.start()
    server.wait_ready()
    assert ask(server.layout, "SELECT count(*) FROM kept") == 1000


def test_a_server_that_lives_on_after_a_panic_is_killed(
    server: Server, obstacle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.start()
    server.wait_ready()
    assert server.pid is not None
    with connect(server.layout, role="postgres") as connection:
        os.kill(server.pid, signal.SIGSTOP)  # so that it notices no death
        obstacle.mkdir()
        connection.pgconn.send_query(b"CHECKPOINT")
        eventually(lambda: server._log and server._log.panicked, message="a PANIC")
        assert server.poll() is None
        monkeypatch.setattr(server_module, "PANIC_PATIENCE", 0.0)
        assert server.poll() == -signal.SIGKILL
        connection.pgconn.finish()
    obstacle.rmdir()
    server.start()
    server.wait_ready()
    assert ask(server.layout, "SELECT 1") == 1


def _kill(pid: int | None) -> None:
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
