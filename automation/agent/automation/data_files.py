"""The entries of a directory with data: a server writes them, or somebody else does.

A name decides. The names are of the storage engine WiredTiger, observed with versions 4.4.2 and 6.0.5. The
name of the directory with keys of encryption at rest was not observed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path

from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.processes import LOCK
from automation.agent.automation.rotated_logs import ENDS, rotated_logs

BEGINNING = "storage.bson"
"""A server writes this file once, when it creates its data."""
LOGS = ("*.log", "*.log.*")
"""Logs of a server, also of former settings."""
ROLLBACKS = ("rollback", "rollback.*")
"""Directories with writes that a server has rolled back. Only there they still are."""
_FILES = ("WiredTiger*", "*.wt", LOCK, BEGINNING, f"{BEGINNING}.tmp", "mongodb-*.sock", *LOGS)
_DIRECTORIES = ("journal", "diagnostic.data", "_tmp", "key?store", *ROLLBACKS)
_COLLECTION = "*.wt"
"""Files in the directories of databases, with `directoryPerDB` and `directoryForIndexes`."""


def checked_size(place: Path, written: Iterable[Path]) -> int:
    """The bytes on the disk of a directory that has nothing but data of a server.

    `written`: more files and directories that the server writes, relative to the directory. Raises:
    MoveFailed with the entry that is something else. OSError.
    """
    known = set(_with_rotated(place, written))
    size = 0
    for path, status in _all_below(place):
        _check_entry(place, path, status, known)
        size += status.st_blocks * 512
    return size


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name matches a pattern."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _with_rotated(place: Path, written: Iterable[Path]) -> Iterator[Path]:
    for path in written:
        yield path
        if (place / path).parent.is_dir():
            for rotated in rotated_logs(place / path):
                # All of its names, because it can be compressed meanwhile.
                yield from (path.with_name(f"{path.name}.{rotated.stamp}{end}") for end in ENDS)


def _check_entry(place: Path, path: Path, status: os.stat_result, written: Collection[Path]) -> None:
    is_directory = stat.S_ISDIR(status.st_mode)
    if stat.S_ISLNK(status.st_mode) or (is_directory and os.path.ismount(path)):
        raise MoveFailed(f"{path} is a symbolic link or a mount point, which an initial sync would lose")
    if path.name in {LOCK, BEGINNING} and path.parent != place:
        raise MoveFailed(f"{path} is of another server, whose data would be moved, too")
    if not is_directory and not _is_of_server(path.relative_to(place), written):
        raise MoveFailed(f"{path} is not of the server: move it out of {place} first")


def _is_of_server(file: Path, written: Collection[Path]) -> bool:
    if file in written or any(parent in written for parent in file.parents):
        return True
    if len(file.parts) == 1:
        return matches(file.name, _FILES)
    return matches(file.parts[0], _DIRECTORIES) or fnmatchcase(file.name, _COLLECTION)


def _all_below(place: Path) -> Iterator[tuple[Path, os.stat_result]]:
    """All entries below a directory. A server that runs removes some of them meanwhile. Raises: OSError."""
    for directory, names, files in os.walk(place, onerror=_raise_unless_gone):
        for path in (Path(directory, name) for name in (*names, *files)):
            with suppress(FileNotFoundError):
                yield path, path.lstat()


def _raise_unless_gone(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
