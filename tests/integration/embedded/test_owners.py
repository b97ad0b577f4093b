"""Whose the server and its files are, and what is said when they are somebody else's."""

import os
import pwd
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.layout import Layout
from opsapi.embedded.owner import SYSTEM_USER, server_owner
from opsapi.embedded.server import Server
from tests.integration.embedded.conftest import MakeServer, Run, only_root
from tests.integration.embedded.sql import ask


@only_root
def test_for_root_it_runs_as_the_system_user(shared_server: Layout) -> None:
    pid = shared_server.pid_file.read_text().split("\n")[0]
    assert Path(f"/proc/{pid}").stat().st_uid == pwd.getpwnam(SYSTEM_USER).pw_uid
    assert shared_server.home.stat().st_uid == pwd.getpwnam(SYSTEM_USER).pw_uid


@pytest.mark.skipif(os.geteuid() == 0, reason="root lends the server another user")
def test_for_others_it_runs_as_themselves(shared_server: Layout) -> None:
    pid = shared_server.pid_file.read_text().split("\n")[0]
    assert Path(f"/proc/{pid}").stat().st_uid == os.geteuid()


@only_root
def test_an_ordinary_user_runs_it_as_root_does(parent: Path, as_nobody: Run) -> None:
    home = parent / "nobodys"
    home.mkdir()
    os.chown(home, pwd.getpwnam("nobody").pw_uid, pwd.getpwnam("nobody").pw_gid)

    def run() -> object:
        server = Server(Layout(home / "var"), durable=False)
        server.start()
        server.wait_ready()
        answer = ask(server.layout, "SELECT current_user")
        server.stop()
        return answer

    assert as_nobody(run) == "opsapi"
    assert (home / "var").stat().st_mode & 0o777 == 0o700


@only_root
def test_another_user_cannot_use_a_running_server(shared_server: Layout, as_nobody: Run) -> None:
    with pytest.raises(Exception, match=r"(?i)permission denied"):
        as_nobody(lambda: ask(shared_server, "SELECT 1"))


@only_root
def test_a_directory_of_another_owner_is_refused(parent: Path, make_server: MakeServer) -> None:
    server = make_server(parent / "var")
    server.layout.home.mkdir(parents=True, mode=0o700)
    nobody = pwd.getpwnam("nobody").pw_uid
    os.chown(server.layout.home, nobody, -1)
    with pytest.raises(EmbeddedDatabaseError, match=rf"postgres: belongs to user id {nobody}, not to"):
        server.start()


@only_root
def test_a_directory_closed_to_the_server_is_named_with_its_mode(
    parent: Path, make_server: MakeServer
) -> None:
    closed = parent / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(EmbeddedDatabaseError, match=rf"cannot enter {closed} \(mode 0700\)"):
        make_server(closed / "var").start()
    assert closed.stat().st_mode & 0o777 == 0o700


def test_the_modes_of_all_directories_above_stay_as_they_are(parent: Path, make_server: MakeServer) -> None:
    data_dir = parent / "one" / "two"
    data_dir.parent.mkdir(mode=0o751)
    above = [*data_dir.parents]
    before = [path.stat().st_mode for path in above]
    server = make_server(data_dir)
    server.start()
    server.stop()
    assert [path.stat().st_mode for path in above] == before


def test_a_directory_others_may_enter_is_refused(server: Server) -> None:
    server.layout.home.chmod(0o755)
    with pytest.raises(EmbeddedDatabaseError, match="mode 0755 gives other users access"):
        server.start()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_directory_that_cannot_be_written_is_named(parent: Path, make_server: MakeServer) -> None:
    (parent / "var").mkdir(mode=0o500)
    with pytest.raises(EmbeddedDatabaseError, match=r"postgres: cannot be created: Permission denied"):
        make_server(parent / "var").start()


@pytest.mark.parametrize("kind", ["link", "file", "open"])
def test_a_short_socket_directory_laid_by_somebody_else_is_refused(
    parent: Path, make_server: MakeServer, kind: str
) -> None:
    server = make_server(parent / ("x" * 120))
    place = server.layout.socket_dir
    target = parent / "target"
    target.mkdir(mode=0o700)
    {"link": lambda: place.symlink_to(target), "file": place.touch, "open": lambda: place.mkdir(0o755)}[
        kind
    ]()
    try:
        with pytest.raises(ImproperlyConfigured, match=rf"{place}, used in its place, is not a directory"):
            server.layout.django_database()
        with pytest.raises(EmbeddedDatabaseError, match=str(place)):
            server.start()
    finally:
        place.rmdir() if kind == "open" else place.unlink()


def test_the_owner_is_named_by_the_system() -> None:
    expected = SYSTEM_USER if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    assert server_owner().name == expected
