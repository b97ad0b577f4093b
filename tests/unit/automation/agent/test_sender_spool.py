"""The spool: in order, once, bounded, and whole or not at all whatever happens between two steps."""

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from automation.agent.sender import MOST_IN_MEMORY, Spool, SpoolInUse
from automation.agent.sender import OLDEST_SECONDS as OLDEST

NOW = 1_795_000_000.0


class Clock:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    """The time."""
    return Clock()


@pytest.fixture
def spool(tmp_path: Path, clock: Clock) -> Iterator[Spool]:
    """An empty one."""
    made = Spool(tmp_path / "spool", clock)
    yield made
    made.close()


def body(number: int) -> bytes:
    """A report."""
    return json.dumps({"hosts": [], "number": number}).encode()


def drained(spool: Spool) -> list[int]:
    """The numbers of all reports, in order; they are gone then."""
    found = []
    while waiting := spool.first():
        found.append(json.loads(waiting[1])["number"])
        spool.remove(waiting[0])
    return found


def files(directory: Path) -> list[str]:
    """The reports on the disk."""
    return sorted(path.name for path in (directory / "spool").iterdir() if path.name != "lock")


def test_reports_come_out_in_order_and_once(spool: Spool, tmp_path: Path) -> None:
    for number in range(5):
        spool.put(body(number))
    assert len(spool) == 5
    assert drained(spool) == [0, 1, 2, 3, 4]
    assert files(tmp_path) == []


def test_they_wait_through_a_restart_under_the_same_key(spool: Spool, tmp_path: Path, clock: Clock) -> None:
    spool.put(body(1))
    first = spool.first()
    assert first is not None
    spool.close()
    again = Spool(tmp_path / "spool", clock)
    assert again.first() == first
    again.put(body(2))
    assert drained(again) == [1, 2]
    again.close()
    spool._lock = os.open(os.devnull, os.O_RDONLY)  # the fixture closes it


def test_order_holds_when_the_clock_is_set_back(spool: Spool, clock: Clock) -> None:
    spool.put(body(1))
    clock.now -= 600
    spool.put(body(2))
    assert drained(spool) == [1, 2]


def test_files_are_for_their_owner_alone(spool: Spool, tmp_path: Path) -> None:
    spool.put(body(1))
    (name,) = files(tmp_path)
    assert (tmp_path / "spool" / name).stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "spool").stat().st_mode & 0o777 == 0o700


def test_what_is_too_old_is_dropped(spool: Spool, clock: Clock, caplog: pytest.LogCaptureFixture) -> None:
    spool.put(body(1))
    clock.now += OLDEST
    spool.put(body(2))
    assert len(spool) == 2
    clock.now += 1
    assert drained(spool) == [2]
    assert len([record for record in caplog.records if "too old" in record.getMessage()]) == 1


def test_the_oldest_give_way_when_it_is_full(tmp_path: Path, clock: Clock) -> None:
    spool = Spool(tmp_path / "spool", clock, largest=3 * len(body(0)))
    for number in range(5):
        spool.put(body(number))
    assert drained(spool) == [2, 3, 4]
    spool.close()


@pytest.mark.parametrize("torn", [b"", b'{"hosts": [', b"\0" * 100])
def test_a_torn_file_is_skipped_and_reported(
    spool: Spool, tmp_path: Path, torn: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    spool.put(body(1))
    spool.put(body(2))
    (tmp_path / "spool" / files(tmp_path)[0]).write_bytes(torn)
    assert drained(spool) == [2]
    assert "cannot be read" in caplog.text


@pytest.mark.parametrize("step", ["open", "fsync", "rename"])
def test_a_write_that_fails_half_way_leaves_no_half_report(
    spool: Spool, tmp_path: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    spool.put(body(1))
    with monkeypatch.context() as broken:
        if step == "rename":
            broken.setattr(Path, "rename", fails)
        else:
            broken.setattr(os, step, fails)
        spool.put(body(2))
    assert len(files(tmp_path)) == 1
    assert drained(spool) == [1, 2]  # the second from memory


def test_while_the_disk_takes_nothing_the_newest_are_kept_in_memory(
    spool: Spool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "fsync", fails)
    for number in range(MOST_IN_MEMORY + 3):
        spool.put(body(number))
    assert drained(spool) == list(range(3, MOST_IN_MEMORY + 3))


def test_what_a_killed_agent_left_unfinished_is_cleared(spool: Spool, tmp_path: Path, clock: Clock) -> None:
    spool.close()
    (tmp_path / "spool" / f"000001795000000-{32 * '0'}.json.tmp").write_bytes(b"{")
    (tmp_path / "spool" / "work.tmp").write_bytes(b"of somebody else")
    again = Spool(tmp_path / "spool", clock)
    assert (len(again), files(tmp_path)) == (0, ["work.tmp"])
    again.close()
    spool._lock = os.open(os.devnull, os.O_RDONLY)


def test_a_second_agent_is_refused(spool: Spool, tmp_path: Path, clock: Clock) -> None:
    with pytest.raises(SpoolInUse):
        Spool(tmp_path / "spool", clock)


def test_another_body_takes_its_place_under_the_same_key(spool: Spool) -> None:
    spool.put(body(1))
    first = spool.first()
    assert first is not None
    spool.replace(first[0], body(7))
    again = spool.first()
    assert again == (first[0], body(7))


@pytest.mark.parametrize("code", [errno.EMFILE, errno.EIO])
def test_a_fault_of_the_machine_that_passes_costs_no_report(
    spool: Spool, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fails(*_: Any) -> bytes:
        raise OSError(code, os.strerror(code))

    spool.put(body(1))
    with monkeypatch.context() as broken:
        broken.setattr(Path, "read_bytes", fails)
        with pytest.raises(OSError, match=os.strerror(code)):
            spool.first()
    assert drained(spool) == [1]


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701])
def test_a_directory_that_is_open_to_others_is_refused_and_left_as_it_is(
    tmp_path: Path, clock: Clock, mode: int
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(mode)
    with pytest.raises(PermissionError, match="chmod 700"):
        Spool(shared, clock)
    assert (shared.stat().st_mode & 0o777, list(shared.iterdir())) == (mode, [])


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give directories away")
def test_a_directory_of_another_user_is_refused(tmp_path: Path, clock: Clock) -> None:
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    os.chown(other, 12345, 12345)
    with pytest.raises(PermissionError, match="another user"):
        Spool(other, clock)


def test_the_age_of_a_report_is_reported_by_the_clock_also_after_it_was_set_back(
    spool: Spool, clock: Clock
) -> None:
    spool.put(body(1))
    clock.now -= 600
    spool.put(body(2))
    clock.now += OLDEST + 1
    assert drained(spool) == [1]


def test_the_age_of_a_report_holds_through_a_restart(spool: Spool, tmp_path: Path, clock: Clock) -> None:
    spool.put(body(1))
    spool.close()
    clock.now += OLDEST + 1
    again = Spool(tmp_path / "spool", clock)
    assert drained(again) == []
    again.close()
    spool._lock = os.open(os.devnull, os.O_RDONLY)


def test_a_report_whose_name_is_not_synced_is_kept_once(
    spool: Spool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_: Path) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as broken:
        broken.setattr("automation.agent.files.sync_directory", fails)
        spool.put(body(1))
    assert files(tmp_path) == []
    assert drained(spool) == [1]
