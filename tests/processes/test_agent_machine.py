"""The agent on the machine of a real PostgreSQL server: what it measures, and when it does not."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

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
    """A server with a tablespace, and a link to its write-ahead log in memory or on the disk of /var/tmp."""
    with servers(18) as (primary, _), tempfile.TemporaryDirectory(dir=_elsewhere(primary.data)) as other:
        Path(other).chmod(0o711)
        owner = server_owner()
        place = Path(f"{primary.data}.tablespace")
        place.mkdir()
        os.chown(place, owner.uid, owner.gid)
        primary.ask(f"CREATE TABLESPACE other LOCATION '{place}'")
        primary.stop(signal.SIGINT)
        log = Path(primary.data, "pg_wal")
        shutil.copytree(log, f"{other}/log")
        for path in Path(other, "log").rglob("*"):
            os.chown(path, owner.uid, owner.gid)
        os.chown(f"{other}/log", owner.uid, owner.gid)
        shutil.rmtree(log)
        log.symlink_to(f"{other}/log")
        primary.start()
        yield primary
        primary.end()


def _elsewhere(directory: str) -> str:
    """A directory on another file system, if the machine has memory as a file system."""
    memory = Path("/dev/shm")  # noqa: S108 - with a name of its own
    return str(memory) if memory.is_dir() and not directory.startswith("/dev/shm/") else "/var/tmp"  # noqa: S108


def free(path: str) -> float:
    """The bytes that programs can write there."""
    room = os.statvfs(path)
    return float(room.f_bavail * room.f_frsize)


def polled(host: PostgresHost) -> dict[str, float]:
    """The values of a poll."""
    return {sample.metric: sample.number for sample in host.poll().samples}


def checked(server: DebianServer, *within: str) -> str:
    """The line about the machine, by an agent in other surroundings."""
    command = [*within, sys.executable, "-c", _CHECK, server.uri()]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    (line,) = [line for line in answer.stdout.splitlines() if ": the machine " in line]
    return line


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
        assert found[f"SYSTEM_NORMALIZED_CPU_{kind}"] == pytest.approx(share)
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < found["SYSTEM_MEMORY_USED"] < whole
    assert 0 < found["SYSTEM_MEMORY_PERCENT_USED"] < 100


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
        (_IN_OTHER_ROOT, "container of its own"),
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
