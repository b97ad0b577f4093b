"""What one process of a run does before the others."""

import fcntl
from pathlib import Path

import pytest

from tests.shared import first_alone


def test_the_first_is_alone_and_the_others_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.shared.run_directory", lambda: tmp_path)
    with first_alone("block"):
        with (tmp_path / "block.lock").open("w") as lock, pytest.raises(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert not (tmp_path / "block.left").exists()
    with first_alone("block"), first_alone("block"):
        assert (tmp_path / "block.left").exists()


def test_a_first_that_fails_lets_the_others_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.shared.run_directory", lambda: tmp_path)
    with pytest.raises(ZeroDivisionError), first_alone("block"):
        raise ZeroDivisionError
    with first_alone("block"), first_alone("block"):
        pass
