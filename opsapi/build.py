"""The commit that is running, for the version header and the root document."""

import re
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

COMMIT = re.compile(r"[0-9a-f]{40}")
UNKNOWN = "0" * 40


def build_commit(configured: str, root: Path) -> str:
    """Return 40 hex digits: `configured`, otherwise the commit checked out at `root`, otherwise 40 zeros.

    Git is not run: it may be absent, and it refuses a checkout of another owner.

    Raises:
        ImproperlyConfigured: `configured` is not 40 hex digits.
    """
    if configured:
        if not COMMIT.fullmatch(configured.lower()):
            raise ImproperlyConfigured(f"OPSAPI_BUILD: {configured!r} is not 40 hex digits")
        return configured.lower()
    try:
        return _checked_out(_git_directory(root / ".git"))
    except (OSError, UnicodeDecodeError):
        return UNKNOWN  # There is no checkout, or it is not readable.


def _git_directory(dot_git: Path) -> Path:
    """Return `.git`, or the directory in the file `.git` of a worktree (gitrepository-layout(5))."""
    if dot_git.is_dir():
        return dot_git
    return (dot_git.parent / dot_git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()


def _checked_out(git: Path) -> str:
    head = (git / "HEAD").read_text().strip()
    reference = head.removeprefix("ref:").strip()
    return _commit(head if reference == head else _resolve(git, reference))


def _resolve(git: Path, reference: str) -> str:
    """Return the commit of a reference, from its file or packed, also of the main checkout of a worktree."""
    pointer = git / "commondir"
    common = (git / pointer.read_text().strip()).resolve() if pointer.is_file() else git
    for directory in (git, common):
        if (directory / reference).is_file():
            return (directory / reference).read_text().strip()
    return _packed(common / "packed-refs", reference)


def _packed(packed: Path, reference: str) -> str:
    for line in packed.read_text(encoding="utf-8").splitlines():
        commit, _, name = line.partition(" ")
        if name == reference:
            return commit
    return ""


def _commit(text: str) -> str:
    return text if COMMIT.fullmatch(text) else UNKNOWN
