"""The age of data on the disk, and data that is set aside for an initial sync and removed after it."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from automation.agent.automation import old_data
from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.old_data import (
    data_since,
    old_directories,
    place_to_set_aside,
    remove_old,
    set_aside,
)
from tests.each import each

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
ASIDE = "db.before-resync-20991121T120000Z"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with data below the allowed directory."""
    place = tmp_path / "allowed" / "db"
    (place / "journal").mkdir(parents=True)
    (place / "storage.bson").write_bytes(b"x")
    return place


def fault(data: Path, *others: Path) -> str:
    """Why the data cannot be set aside."""
    with pytest.raises(MoveFailed) as raised:
        place_to_set_aside(data, [data.parent], {other.name: other for other in others}, (), NOON)
    return str(raised.value)


def test_data_began_when_the_server_wrote_its_first_file(data: Path) -> None:
    os.utime(data / "storage.bson", (NOON.timestamp(), NOON.timestamp()))
    (data / "collection.wt").write_bytes(b"later")
    assert data_since(data) == NOON
    assert data_since(data / "journal") is None


def test_data_is_set_aside_under_a_name_next_to_it_and_its_place_is_empty(data: Path) -> None:
    data.chmod(0o750)
    place, aside = place_to_set_aside(data, [data.parent], {}, (), NOON)
    assert (place, aside) == (data, data.with_name(ASIDE))
    set_aside(place, aside)
    assert (aside / "storage.bson").read_bytes() == b"x"
    assert list(data.iterdir()) == []
    assert data.stat().st_mode & 0o777 == 0o750
    assert old_directories(data) == [aside]


def test_data_behind_a_link_is_set_aside_where_it_is(data: Path) -> None:
    link = data.with_name("link")
    link.symlink_to(data)
    assert place_to_set_aside(link, [data.parent], {}, (), NOON) == (data, data.with_name(ASIDE))
    data.with_name(ASIDE).mkdir()
    assert old_directories(link) == [data.with_name(ASIDE)]


def test_the_name_of_old_data_must_be_allowed_too(data: Path) -> None:
    with pytest.raises(MoveFailed, match="AUTOMATION_DIRS"):
        place_to_set_aside(data, [data], {}, (), NOON)


def _put(name: str) -> Callable[[Path], object]:
    """Write an empty file into the data."""

    def put(data: Path) -> None:
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).touch()

    return put


@each(
    ("change", "why"),
    [
        (lambda data: (data / "link").symlink_to("/"), "symbolic link"),
        (_put("other/mongod.lock"), "another server"),
        (_put("journal/other/storage.bson"), "another server"),
        (_put("notes.txt"), "notes.txt is not of the server: move it out of"),
        (_put("backup/monday.tgz"), "monday.tgz is not of the server"),
        (_put("shop/index/dump.bson"), "dump.bson is not of the server"),
        (lambda data: data.with_name(ASIDE).mkdir(), "already there"),
    ],
)
def test_a_directory_whose_rename_would_move_more_is_left_alone(
    tmp_path_factory: pytest.TempPathFactory, change: Callable[[Path], object], why: str
) -> None:
    data = tmp_path_factory.mktemp("allowed") / "db"
    data.mkdir()
    change(data)
    before = sorted(data.iterdir())
    assert why in fault(data)
    assert sorted(data.iterdir()) == before


def test_all_files_that_a_server_writes_are_set_aside(data: Path) -> None:
    for name in (
        *("WiredTiger", "WiredTiger.turtle.set", "_mdb_catalog.wt", "mongod.lock", "mongodb-27017.sock"),
        *("journal/WiredTigerLog.0000000001", "diagnostic.data/metrics.interim", "_tmp/extsort-1"),
        *("local/collection-1.wt", "shop/index/1.wt", "rollback/shop.orders/removed.1.bson"),
        *("key.store/local/WiredTiger", "former.log", "former.log.2099-11-20T12-00-00", "audit.json"),
        *("audit.json.2099-11-20T12-00-00.gz", "logs/server", "server.pid", "metrics/metrics.1"),
    ):
        _put(name)(data)
    written = [data / name for name in ("audit.json", "logs/server", "server.pid", "metrics")]
    aside = data.with_name(ASIDE)
    assert place_to_set_aside(data, [data.parent], {}, [data, *written], NOON) == (data, aside)


def test_the_files_of_the_agent_are_not_moved_with_the_data(data: Path) -> None:
    assert "inside" in fault(data, data / "opsapi-agent" / "mongod.conf")


def test_a_mount_point_is_left_alone(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "journal")
    assert "mount point" in fault(data)
    monkeypatch.setattr(os.path, "ismount", lambda path: Path(path) == data)
    assert "mount point" in fault(data)


@each("name", ["journal", "gone.wt"])
def test_entries_that_a_running_server_removes_meanwhile_do_not_matter(
    data: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (data / "gone.wt").write_bytes(b"x")
    walk = os.walk

    def remove_and_walk(top: Path, **options: Any) -> Iterator[tuple[str, list[str], list[str]]]:
        for step in walk(top, **options):
            gone = data / name
            if gone.is_dir():
                gone.rmdir()
            gone.unlink(missing_ok=True)
            yield step

    monkeypatch.setattr(os, "walk", remove_and_walk)
    assert place_to_set_aside(data, [data.parent], {}, (), NOON) == (data, data.with_name(ASIDE))


def test_old_data_needs_as_much_space_as_it_has(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(data)
    (data / "collection.wt").write_bytes(b"x" * 100_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=10_000))
    assert "10000 are free" in fault(data)


@contextmanager
def refusing(monkeypatch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """A disk that refuses what `name` does."""

    def refuse(*_: object, **__: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    with monkeypatch.context() as patch:
        patch.setattr(Path if hasattr(Path, name) else old_data, name, refuse)
        yield


@each("name", ["rename", "mkdir", "sync_directory"])
def test_data_that_cannot_be_set_aside_stays_in_its_place(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    data = tmp_path_factory.mktemp("disk") / "db"
    data.mkdir()
    (data / "storage.bson").write_bytes(b"x")
    with refusing(monkeypatch, name), pytest.raises(OSError, match="cross-device"):
        set_aside(data, data.with_name(ASIDE))
    assert (data / "storage.bson").read_bytes() == b"x"
    assert old_directories(data) == []


def test_other_directories_and_links_are_no_old_data(data: Path) -> None:
    for name in (f"{ASIDE}.old", "other.before-resync-20991121T120000Z", "db.before-resync-20991321T120000Z"):
        data.with_name(name).mkdir()
    data.with_name(ASIDE).symlink_to(data)
    assert old_directories(data) == []
    data.with_name(ASIDE).unlink()
    data.with_name(ASIDE).write_bytes(b"a file")
    assert old_directories(data) == []


@each("name", ["db", f"{ASIDE}.old", "other.before-resync-20991121T120000Z"])
def test_only_old_data_is_removed(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    data = tmp_path_factory.mktemp("allowed") / "db"
    data.mkdir()
    other = data.with_name(name)
    other.mkdir(exist_ok=True)
    with pytest.raises(MoveFailed):
        remove_old(other, data, [data.parent], (), ())
    assert other.is_dir()


@contextmanager
def used(lock: Path, how: str) -> Iterator[None]:
    """A process that runs with data. `how`: the function that locks its file, or `number` for its content."""
    code = "import fcntl, sys; file = open(sys.argv[1], 'r+'); how = sys.argv[2]\n"
    code += "if how != 'number': getattr(fcntl, how)(file, fcntl.LOCK_EX)\nprint(flush=True); input()"
    command = ["mongod", "-c", code, str(lock), how]
    lock.touch()
    pipe = subprocess.PIPE
    with subprocess.Popen(command, executable=sys.executable, stdin=pipe, stdout=pipe) as server:
        assert server.stdout is not None
        server.stdout.readline()
        if how == "number":
            lock.write_text(f"{server.pid}\n")
        yield
        server.kill()


@each("how", ["flock", "lockf", "number"])
def test_data_with_which_a_server_runs_is_neither_moved_nor_removed(
    tmp_path_factory: pytest.TempPathFactory, how: str
) -> None:
    data = tmp_path_factory.mktemp("allowed") / "db"
    aside = data.with_name(ASIDE)
    data.mkdir()
    aside.mkdir()
    with used(data / "mongod.lock", how), pytest.raises(MoveFailed, match="a server runs"):
        set_aside(data, data.with_name("elsewhere"))
    with used(aside / "mongod.lock", how), pytest.raises(MoveFailed, match="a server runs"):
        remove_old(aside, data, [data.parent], (), ())
    assert sorted(data.parent.glob("*/mongod.lock")) == [data / "mongod.lock", aside / "mongod.lock"]
    (aside / "mongod.lock").write_text("1\n")
    remove_old(aside, data, [data.parent], (), ())
    assert not aside.exists()


def test_a_link_with_the_name_of_old_data_is_not_followed(data: Path, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    data.with_name(ASIDE).symlink_to(tmp_path / "kept")
    with pytest.raises(MoveFailed):
        remove_old(data.with_name(ASIDE), data, [tmp_path], (), ())
    assert (tmp_path / "kept").is_dir()


def test_logs_in_old_data_are_kept_for_log_rotation(data: Path) -> None:
    aside = data.with_name(ASIDE)
    rotated = "mongod.log.2099-11-20T12-00-00"
    for name in ("mongod.log", rotated, "collection.wt"):
        (data / name).write_text(name)
    set_aside(data, aside)
    (data / "mongod.log").write_text("new")
    logs = [data / "mongod.log", data.parent / "audit.json"]
    remove_old(aside, data, [data.parent], logs, logs)
    assert not aside.exists()
    assert {path.name: path.read_text() for path in data.iterdir()} == {
        "mongod.log": "new",
        rotated: rotated,
        "mongod.log.2099-11-21T12-00-00": "mongod.log",
    }


def test_writes_that_were_rolled_back_and_logs_of_former_settings_are_kept(data: Path) -> None:
    aside = data.with_name(ASIDE)
    for name in ("rollback/shop.orders/removed.1.bson", "former.log", "former.log.1", "server.pid"):
        _put(name)(data)
    set_aside(data, aside)
    remove_old(aside, data, [data.parent], [data / "server.pid"], ())
    assert not aside.exists()
    files = ["former.log", "former.log.1", "rollback/shop.orders/removed.1.bson"]
    assert _files(data) == files
    # A second initial sync: the names are in use.
    set_aside(data, aside)
    for name in files:
        _put(name)(data)
    remove_old(aside, data, [data.parent], (), ())
    stamp = "2099-11-21T12-00-00"
    old = [f"former.log.{stamp}", f"former.log.1.{stamp}", f"rollback.{stamp}/shop.orders/removed.1.bson"]
    assert _files(data) == sorted([*files, *old])
    place_to_set_aside(data, [data.parent], {}, (), NOON)


def _files(data: Path) -> list[str]:
    return sorted(str(path.relative_to(data)) for path in data.rglob("*") if path.is_file())


def test_old_data_with_a_foreign_file_is_not_removed(data: Path) -> None:
    aside = data.with_name(ASIDE)
    set_aside(data, aside)
    _put("notes.txt")(aside)
    with pytest.raises(MoveFailed, match=r"notes\.txt is not of the server"):
        remove_old(aside, data, [data.parent], (), ())
    assert (aside / "storage.bson").exists()
