"""The spool: in order, once, bounded, and whole or not at all whatever happens between two steps."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from automation.agent.spool import MOST_IN_MEMORY, Spool, SpoolInUse

NOW = 1_795_000_000.0


class Clock:
    """A clock that stands still until it is moved."""

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
    clock.now += 55 * 60
    spool.put(body(2))
    assert len(spool) == 2
    clock.now += 1
    assert drained(spool) == [2]
    assert len([one for one in caplog.records if "too old" in one.getMessage()]) == 1


def test_the_oldest_give_way_when_it_is_full(tmp_path: Path, clock: Clock) -> None:
    spool = Spool(tmp_path / "spool", clock, largest=3 * len(body(0)))
    for number in range(5):
        spool.put(body(number))
    assert drained(spool) == [2, 3, 4]
    spool.close()


@pytest.mark.parametrize("torn", [b"", b'{"hosts": [', b"\0" * 100])
def test_a_torn_file_is_skipped_and_told(
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
    (tmp_path / "spool" / "000001795000000-0.json.tmp").write_bytes(b"{")
    (tmp_path / "spool" / "a file of somebody else").write_bytes(b"")
    again = Spool(tmp_path / "spool", clock)
    assert (len(again), files(tmp_path)) == (0, ["a file of somebody else"])
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
