"""Directories a server can live in, servers that end with their test, and other users."""

import os
import pickle
import pwd
import shutil
import subprocess
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from tests.shared import made_once

only_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another user")

MakeServer = Callable[[Path], Server]
Run = Callable[[Callable[[], Any]], Any]


@pytest.fixture
def parent() -> Iterator[Path]:
    """A directory everybody may walk through; pytest's own is closed to the server's user."""
    with _directory() as path:
        yield path


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    """The same, for a module."""
    with _directory() as path:
        yield path


@contextmanager
def _directory() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="opsapi-embedded-"))
    path.chmod(0o711)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def make_server(parent: Path) -> Iterator[MakeServer]:
    """Servers that are stopped, whatever happens, before their directory is removed."""
    made: list[Server] = []

    def make(data_dir: Path) -> Server:
        made.append(Server(Layout(data_dir), durable=False))
        return made[-1]

    yield make
    for server in reversed(made):
        server.stop()
        if server.layout.socket_dir != server.layout.home and server.layout.socket_dir.exists():
            server.layout.socket_dir.rmdir()


@pytest.fixture(scope="session")
def template() -> Path:
    """The home of a server that was started once; making one again takes a second each time."""
    return Layout(made_once("embedded", _start_once) / "var").home


def _start_once(directory: Path) -> None:
    server = Server(Layout(directory / "var"), durable=False)
    server.start()
    server.stop()


@pytest.fixture
def server(parent: Path, template: Path, make_server: MakeServer) -> Server:
    """A server whose cluster is created, not started."""
    server = make_server(parent / "var")
    _copy(template, server.layout)
    return server


def _copy(template: Path, layout: Layout) -> None:
    layout.data_dir.mkdir(mode=0o711)
    subprocess.run(["cp", "-a", str(template), str(layout.home)], check=True)


@pytest.fixture
def as_nobody() -> Run:
    """Runs a function in a child process of the user nobody, and returns its result or exception."""

    def run(function: Callable[[], Any]) -> Any:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            _in_child(function, write)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            result = pickle.loads(file.read())  # noqa: S301 written by our own child
        os.waitpid(child, 0)
        if isinstance(result, Exception):
            raise result
        return result

    return run


def _in_child(function: Callable[[], Any], write: int) -> None:
    status = 1
    try:
        nobody = pwd.getpwnam("nobody")
        os.setgroups([])
        os.setgid(nobody.pw_gid)
        os.setuid(nobody.pw_uid)
        os.write(write, pickle.dumps(_outcome(function)))
        status = 0
    except BaseException:  # noqa: BLE001 - printed; the child ends in any case
        traceback.print_exc()
    finally:
        os._exit(status)


def _outcome(function: Callable[[], Any]) -> Any:
    try:
        return function()
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return error


@pytest.fixture(scope="module")
def shared_server(directory: Path, template: Path) -> Iterator[Layout]:
    """A running server for tests that only look at it."""
    server = Server(Layout(directory / "shared"), durable=False)
    _copy(template, server.layout)
    server.start()
    server.wait_ready()
    yield server.layout
    server.stop()
