"""The key file of servers of a machine."""

import os
from pathlib import Path

import pytest

from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.key_files import seen_key_file, write_key_file
from automation.plan.values import KeyFile

KEY = "a2V5IG9uZQ=="


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The place of a key file, in a directory that is not there yet."""
    return tmp_path / "keys" / "file"


def test_a_key_file_is_written_for_one_user_and_seen(place: Path) -> None:
    assert seen_key_file(place, KEY) is KeyFile.MISSING
    write_key_file(place, KEY)
    assert (place.stat().st_mode & 0o777, place.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert seen_key_file(place, KEY) is KeyFile.SAME
    assert [path.name for path in place.parent.iterdir()] == ["file"]
    assert seen_key_file(place, "other") is KeyFile.DIFFERENT


def test_white_space_makes_no_difference(place: Path) -> None:
    place.parent.mkdir()
    place.touch(0o600)
    place.write_text(f" {KEY[:4]}\n{KEY[4:]}\t\n")
    assert seen_key_file(place, KEY) is KeyFile.SAME


def test_a_key_file_that_others_can_read_is_written_again(place: Path) -> None:
    write_key_file(place, KEY)
    place.chmod(0o640)
    assert seen_key_file(place, KEY) is KeyFile.MISSING
    write_key_file(place, KEY)
    assert seen_key_file(place, KEY) is KeyFile.SAME


def test_nothing_but_a_file_of_the_agent_is_replaced(place: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("other")
    place.parent.mkdir(0o700)
    place.symlink_to(target)
    assert seen_key_file(place, KEY) is None
    with pytest.raises(MoveFailed, match="is not a file"):
        write_key_file(place, KEY)
    assert (place.is_symlink(), target.read_text()) == (True, "other")
    place.unlink()
    place.mkdir()
    assert seen_key_file(place, KEY) is None
    with pytest.raises(MoveFailed):
        write_key_file(place, KEY)


def test_a_directory_that_others_can_write_is_refused(place: Path) -> None:
    place.parent.mkdir()
    place.parent.chmod(0o770)
    with pytest.raises(MoveFailed, match="directory of the key file"):
        write_key_file(place, KEY)
    assert not [*place.parent.iterdir()]


def test_a_failed_write_leaves_the_file_before(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_key_file(place, KEY)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_key_file(place, "other")
    assert seen_key_file(place, KEY) is KeyFile.SAME
    assert [path.name for path in place.parent.iterdir()] == ["file"]
