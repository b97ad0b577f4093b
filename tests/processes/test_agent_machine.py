"""The agent on the machine of a real PostgreSQL server: what it measures, and when it does not."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from automation.agent.postgresql.check import postgresql_steps
from automation.agent.postgresql.connection import read
from automation.agent.postgresql.host import PostgresHost
from automation.agent.rates import Why
from opsapi.embedded.owner import server_owner
from tests.eventually import eventually
from tests.processes.platform import ROOT
from tests.processes.postgresql import STRANGER, DebianServer, servers

pytestmark = pytest.mark.processes

_CHECK = "import sys; from automation.agent.postgresql.check import postgresql_steps; \
print(*postgresql_steps(sys.argv[1:]), sep='\\n')"
_POLL = "import sys; from automation.agent.postgresql.host import *; \
from automation.agent.postgresql.connection import read; \
answer = PostgresHost(read(sys.argv[1])[0]).poll(); print(answer.reachable, answer.problem)"
_IN_OTHER_PROCESSES = ("unshare", "--pid", "--fork", "--mount-proc")
_OTHER_ROOT = """
mount -t tmpfs none /media
for entry in /*; do
    if [ -L "$entry" ]; then
        cp -P "$entry" "/media$entry"
    elif [ -d "$entry" ] && [ "$entry" != /media ]; then
        mkdir "/media$entry"
        mount --rbind "$entry" "/media$entry"
    fi
done
exec chroot /media env -C "$PWD" "$@"
"""
_IN_OTHER_ROOT = ("unshare", "--mount", "sh", "-euc", _OTHER_ROOT, "sh")
_HIDDEN = ("unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh")
_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has name spaces of its own")


@pytest.fixture(scope="module")
def server() -> Iterator[DebianServer]:
    """A server with a tablespace, a Unix socket, and a link to its write-ahead log on another file system."""
    with tempfile.TemporaryDirectory(dir=_elsewhere()) as other, ExitStack() as stack:
        _owned(Path(other))
        primary, _ = stack.enter_context(servers(18, unix_socket_directories=other))
        _owned(place := Path(f"{primary.data}.tablespace"))
        primary.ask(f"CREATE TABLESPACE other LOCATION '{place}'")
        primary.stop(signal.SIGINT)
        log = Path(primary.data, "pg_wal")
        shutil.copytree(log, Path(other, "log"))
        shutil.rmtree(log)
        log.symlink_to(Path(other, "log"))
        for path in Path(other).rglob("*"):
            _owned(path)
        access = Path(primary.data, "pg_hba.conf").read_text()
        primary.write("pg_hba.conf", f"{access}local all all scram-sha-256\n")
        primary.start()
        yield primary


def _elsewhere() -> str:
    """A directory on another file system than the servers, if the machine has one in memory."""
    memory, disk = Path("/dev/shm"), "/var/tmp"  # noqa: S108 - with names of their own
    return str(memory) if memory.is_dir() and memory not in Path(tempfile.gettempdir()).parents else disk


def _owned(path: Path) -> None:
    """Let the user of the servers have it."""
    if not path.exists():
        path.mkdir()
    owner = server_owner()
    if owner.is_lent:
        os.chown(path, owner.uid, owner.gid)


def free(path: str) -> float:
    """The bytes that programs can write there."""
    room = os.statvfs(path)
    return float(room.f_bavail * room.f_frsize)


def polled(host: PostgresHost) -> dict[str, float]:
    """The values of a poll."""
    return {sample.metric: sample.number for sample in host.poll().samples}


def checked(server: DebianServer, *within: str) -> str:
    """The line about the machine, by an agent in other surroundings."""
    lines = run(server.uri(), _CHECK, *within).splitlines()
    (line,) = [line for line in lines if ": the machine " in line]
    return line


def run(uri: str, program: str, *within: str) -> str:
    """What a program prints about a server, in other surroundings."""
    command = [*within, sys.executable, "-c", program, uri]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def socket_uri(server: DebianServer) -> str:
    """How the agent reaches the server without TCP."""
    (directory,) = server.ask("SHOW unix_socket_directories").split(",")
    own = server.uri().replace(server.address, "")
    return f"{own}?host={directory}&port={server.port}"


def test_the_disks_of_a_server_on_the_machine_are_as_statvfs_says(server: DebianServer) -> None:
    (access,) = read(server.uri())
    with closing(PostgresHost(access)) as host:
        found = polled(host)
    room = os.statvfs(server.data)
    used = float((room.f_blocks - room.f_bfree) * room.f_frsize)
    # Other programs write to the disks meanwhile.
    assert found["DISK_PARTITION_SPACE_FREE"] == pytest.approx(free(server.data), rel=0.05)
    assert found["PG_WAL_DISK_FREE"] == pytest.approx(free(f"{server.data}/pg_wal/"), rel=0.05)
    whole = used + free(server.data)
    assert found["DISK_PARTITION_SPACE_USED"] + found["DISK_PARTITION_SPACE_FREE"] == pytest.approx(
        whole, rel=0.01
    )
    for metric in ("DISK_PARTITION_SPACE_PERCENT_USED", "PG_TABLESPACE_DISK_PERCENT_USED"):
        assert found[metric] == pytest.approx(used / whole * 100, abs=5)
    assert "without" not in host.machine.note


def test_processor_and_memory_of_the_machine_are_measured(server: DebianServer) -> None:
    (access,) = read(server.uri())
    with closing(PostgresHost(access)) as host:
        polled(host)
        found: dict[str, float] = {}

        def spent() -> float:
            found.update(polled(host))
            return found.get("SYSTEM_CPU_USER", 0.0)

        eventually(spent, message="time was spent on programs")
    for kind in ("USER", "KERNEL", "NICE", "IOWAIT", "IRQ", "SOFTIRQ", "STEAL", "GUEST"):
        share = found[f"SYSTEM_CPU_{kind}"] / (os.cpu_count() or 1)
        assert found[f"SYSTEM_NORMALIZED_CPU_{kind}"] == pytest.approx(
            share, rel=1e-4
        )  # both are rounded to five digits
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < found["SYSTEM_MEMORY_USED"] < whole
    assert 0 < found["SYSTEM_MEMORY_PERCENT_USED"] < 100


def test_a_server_is_found_through_its_unix_socket(server: DebianServer) -> None:
    (access,) = read(socket_uri(server), "db7")
    with closing(PostgresHost(access)) as host:
        answer = host.poll()
    assert str(host.address) == f"db7:{server.port}"
    assert not answer.problem
    assert host.machine.note.startswith("is measured")
    assert "DISK_PARTITION_SPACE_FREE" in {sample.metric for sample in answer.samples}
    assert host.missing["SERVER_CERTIFICATE_DAYS"] is Why.ABSENT
    steps = list(postgresql_steps([socket_uri(server)], "db7"))
    assert not [step for step in steps if step.fault]
    assert str(access.socket_path) in steps[0].tried


def test_the_server_of_a_socket_is_down_while_its_socket_is_missing(server: DebianServer) -> None:
    uri = socket_uri(server)
    (access,) = read(uri)
    server.stop(signal.SIGINT)
    try:
        with closing(PostgresHost(access)) as host:
            answer = host.poll()
        (step,) = postgresql_steps([uri])
    finally:
        server.start()
    assert not answer.reachable
    assert "unix_socket_directories" in step.fault


@needs_root
def test_the_server_of_a_closed_socket_is_not_reported_as_down(server: DebianServer) -> None:
    assert "(Permission denied)" in run(socket_uri(server), _CHECK, *_NOBODY)
    reachable, problem = run(socket_uri(server), _POLL, *_NOBODY).split(maxsplit=1)
    assert reachable == "True"
    assert "Permission denied" in problem


def test_without_pg_monitor_the_processor_is_measured_and_the_disk_is_not(server: DebianServer) -> None:
    (access,) = read(server.uri(STRANGER))
    with closing(PostgresHost(access)) as host:
        found = polled(host)
    assert "SYSTEM_MEMORY_USED" in found
    assert "DISK_PARTITION_SPACE_FREE" not in found
    assert host.missing["DISK_PARTITION_SPACE_FREE"] is Why.ABSENT
    assert "does not say where its data directory is" in host.machine.note


@needs_root
def test_an_agent_of_another_user_finds_the_server(server: DebianServer) -> None:
    assert "the machine is measured" in checked(server, *_NOBODY)


@needs_root
@pytest.mark.parametrize(
    ("within", "reason"),
    [
        (_IN_OTHER_PROCESSES, "another machine or in a container"),
        (_IN_OTHER_ROOT, "on this machine in a container"),
        ((*_HIDDEN, *_NOBODY), "ProtectProc=default"),
    ],
    ids=["processes", "root", "hidden"],
)
def test_an_agent_that_cannot_see_the_server_says_that_it_does_not_measure_the_machine(
    server: DebianServer, within: tuple[str, ...], reason: str
) -> None:
    line = checked(server, *within)
    assert line.startswith("ok ")
    assert "the machine is not measured" in line
    assert reason in line
