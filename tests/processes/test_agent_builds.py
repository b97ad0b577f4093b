"""Builds on the machine: of a real server that the tests pack, and on a disk that is full."""

import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from automation.agent.automation.build_faults import BuildError, BuildFault, DownloadLimits
from automation.agent.automation.builds import Build, Builds, choose, this_kind
from tests.processes.build_archives import file_url, member, packed, packed_build, script
from tests.processes.disk import small_disk
from tests.processes.mongod import VERSION, binary
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.processes

NO_SPARE = DownloadLimits(spare=0)
COMMIT = "c9a99c120371d4d4c52cbb15dac34a36ce8d3b1d"
MEGABYTES = 40
"""The size of an archive that cannot be compressed, and of its content."""


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpReceiver]:
    """A server of archives."""
    monkeypatch.setenv("no_proxy", "*")
    with HttpReceiver().running() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def large() -> bytes:
    """The archive of a build with a large file."""
    noise = random.Random(1).randbytes(MEGABYTES << 20)
    return packed([(member("bin/mongod"), script(COMMIT)), (member("noise"), noise)], level=0)


@pytest.mark.mongod
def test_a_real_server_is_downloaded_after_a_cut_and_only_as_the_named_commit(
    tmp_path: Path, receiver: HttpReceiver
) -> None:
    program = binary(VERSION)
    archive = packed_build(program.read_bytes(), level=0)
    build = documented(program, receiver.url("/mongodb.tgz"))
    machine, base = Builds(tmp_path / "base", [tmp_path]), tmp_path / "base"
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(archive)
    receiver.behave(lambda handler: handler.wfile.write(head + archive[: len(archive) // 2]))
    assert fault_of(machine, build) is BuildFault.CUT
    receiver.answer(200, {}, archive)
    assert fault_of(machine, replace(build, commit="0" * 40)) is BuildFault.OTHER_COMMIT
    assert [path for path in base.iterdir() if path.is_dir()] == []
    place = machine.ensure(build)
    assert place.joinpath("bin", "mongod").read_bytes() == program.read_bytes()


def test_a_full_disk_is_named_and_the_next_try_succeeds(tmp_path: Path, large: bytes) -> None:
    build = Build("6.0.5", file_url(tmp_path, large), COMMIT, frozenset())
    with small_disk(tmp_path / "disk") as disk:
        machine = Builds(disk.path / "base", [disk.path], limits=NO_SPARE)
        for left in (0, MEGABYTES // 2, MEGABYTES * 3 // 2):
            disk.fill(leave=left)
            assert fault_of(machine, build) is BuildFault.DISK_FULL
            disk.free()
        machine.ensure(build)
        names = sorted(path.name for path in disk.path.joinpath("base").iterdir())
        assert names == [".opsapi-agent.lock", build.directory]


def test_a_disk_that_fills_up_during_the_download_is_named(
    tmp_path: Path, receiver: HttpReceiver, large: bytes
) -> None:
    # Without its length, the agent cannot ask for room first.
    receiver.behave(lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n" + large))
    build = Build("6.0.5", receiver.url(), COMMIT, frozenset())
    with small_disk(tmp_path / "disk") as disk:
        machine = Builds(disk.path / "base", [disk.path], limits=NO_SPARE)
        disk.fill(leave=MEGABYTES // 2)
        assert fault_of(machine, build) is BuildFault.DISK_FULL


def documented(program: Path, url: str) -> Build:
    """The build of a program, as the document of its machine has it."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    kind, commit = this_kind(), re.findall(r'"gitVersion": "(\w+)"', said)
    entry: dict[str, Any] = {"platform": kind.platform, "architecture": kind.architecture, "modules": []}
    return choose(VERSION, [{**entry, "url": url, "gitVersion": commit[0]}], kind)


def fault_of(machine: Builds, build: Build) -> BuildFault:
    """Why the build is not there."""
    with pytest.raises(BuildError) as caught:
        machine.ensure(build)
    assert machine.find(build) is None
    return caught.value.fault
