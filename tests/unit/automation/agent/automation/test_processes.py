"""Which process runs with a directory of data, as its lock file and its open files say."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest

from automation.agent.automation.processes import LOCK, running_pid
from tests.each import each


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory of data with an empty lock file."""
    return _data(tmp_path, "data")


def _data(directory: Path, name: str) -> Path:
    place = directory / name
    place.mkdir(exist_ok=True)
    (place / LOCK).touch()
    return place


@contextmanager
def running(program: str, *opened: Path) -> Iterator[int]:
    """A process with this name that has these files open; its number."""
    descriptors = [os.open(path, os.O_RDWR) for path in opened]
    command = [program, "-c", "input()"]
    with subprocess.Popen(
        command, executable=sys.executable, stdin=subprocess.PIPE, pass_fds=descriptors
    ) as started:
        for descriptor in descriptors:
            os.close(descriptor)
        try:
            yield started.pid
        finally:
            started.kill()


def name_in_lock(data: Path, pid: int) -> None:
    """Write a number into the lock file, as a server does."""
    (data / LOCK).write_text(f"{pid}\n")


def test_a_server_runs_while_it_has_its_lock_file_open(data: Path) -> None:
    with running("mongod", data / LOCK) as pid:
        assert running_pid(data) is None  # It has not written its number yet.
        name_in_lock(data, pid)
        assert running_pid(data) == pid
    assert running_pid(data) is None


def test_a_server_is_found_by_another_path_of_its_data(data: Path) -> None:
    link, moved = data.with_name("link"), data.with_name("moved")
    link.symlink_to(data)
    with running("mongod", data / LOCK) as pid:
        name_in_lock(data, pid)
        assert running_pid(link) == pid
        data.rename(moved)
        assert running_pid(moved) == pid


@each("program", ["mongod", "mongosh", "mongodump"])
def test_another_process_with_the_number_of_an_earlier_server_does_not_run_with_its_data(
    data: Path, tmp_path: Path, program: str
) -> None:
    other = _data(tmp_path, "other")
    with running(program, other / LOCK) as pid:
        name_in_lock(data, pid)
        name_in_lock(other, pid)
        assert (running_pid(data), running_pid(other)) == (None, pid)


@each("error", [PermissionError, OSError])
@each(("module", "name"), [(os, "scandir"), (os.path, "samestat")])
def test_a_server_whose_open_files_are_not_known_is_not_taken_for_stopped(
    data: Path, module: ModuleType, name: str, error: type[OSError]
) -> None:
    """In another user namespace, an agent can list open files, but not what they are."""

    def refuse(*_: object) -> None:
        raise error

    with running("mongod") as pid, pytest.MonkeyPatch.context() as patch:
        name_in_lock(data, pid)
        assert running_pid(data) is None
        patch.setattr(module, name, refuse)
        assert running_pid(data) == pid
