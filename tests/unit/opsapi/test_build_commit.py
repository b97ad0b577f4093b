"""The commit that runs, read from a checkout without git."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from opsapi.environment import UNKNOWN, build_commit

A, B = "a" * 40, "b" * 40


def test_a_configured_commit_wins(tmp_path: Path) -> None:
    _lay(tmp_path / ".git", {"HEAD": B})
    assert build_commit(A.upper(), tmp_path) == A


@pytest.mark.parametrize("value", ["a" * 39, "a" * 41, "g" * 40, "v1.0", " " + A, A + "\n"])
def test_a_configured_value_that_is_no_commit_is_refused(tmp_path: Path, value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match=r"^OPSAPI_BUILD: .* is not 40 hex digits$"):
        build_commit(value, tmp_path)


@pytest.mark.parametrize(
    ("files", "commit"),
    [
        ({"HEAD": f"{A}\n"}, A),
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": f"{A}\n"}, A),
        ({"HEAD": "ref: refs/heads/a/b\n", "refs/heads/a/b": f"{A}\n"}, A),
        (
            {
                "HEAD": "ref: refs/heads/main\n",
                "packed-refs": f"# pack\n{B} refs/heads/x\n{A} refs/heads/main\n",
            },
            A,
        ),
        (
            {
                "HEAD": "ref: refs/heads/main\n",
                "packed-refs": f"{B} refs/heads/main\n",
                "refs/heads/main": f"{A}\n",
            },
            A,
        ),
        ({"HEAD": "ref: refs/heads/unborn\n"}, UNKNOWN),
        ({"HEAD": "ref: refs/heads/main\n", "packed-refs": f"{A} refs/heads/other\n"}, UNKNOWN),
        ({"HEAD": "garbage"}, UNKNOWN),
        ({"HEAD": ""}, UNKNOWN),
        ({}, UNKNOWN),
    ],
)
def test_the_commit_of_a_checkout(tmp_path: Path, files: dict[str, str], commit: str) -> None:
    _lay(tmp_path / ".git", files)
    assert build_commit("", tmp_path) == commit


@pytest.mark.parametrize("packed", [True, False])
def test_the_commit_of_a_worktree(tmp_path: Path, packed: bool) -> None:
    git = tmp_path / "main" / ".git"
    reference = {"packed-refs": f"{A} refs/heads/topic\n"} if packed else {"refs/heads/topic": A}
    _lay(git, {"HEAD": B, **reference})
    _lay(git / "worktrees" / "topic", {"HEAD": "ref: refs/heads/topic\n", "commondir": "../..\n"})
    _lay(tmp_path / "topic", {".git": "gitdir: ../main/.git/worktrees/topic\n"})
    assert build_commit("", tmp_path / "topic") == A


def test_no_checkout_at_all(tmp_path: Path) -> None:
    assert build_commit("", tmp_path) == UNKNOWN


def _lay(directory: Path, files: dict[str, str]) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_text(text)
