"""Writes files that are there as a whole or not at all, whenever the machine stops."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

UNFINISHED = ".tmp"
"""The suffix of a file that is not written to the end."""


def write_whole(path: Path, octets: bytes, modified: float | None = None, mode: int = 0o600) -> None:
    """Write a file. By default, only this user can read it.

    `modified` is its modification time in seconds since 1970, `mode` its permissions.

    Raises: OSError: it could not be written to the disk; the file may be the old one, the new one or none.
    """
    unfinished = path.with_name(path.name + UNFINISHED)
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(octets)
            file.flush()
            if mode != 0o600:
                os.fchmod(file.fileno(), mode)
            if modified is not None:
                os.utime(file.fileno(), (modified, modified))
            os.fsync(file.fileno())
        unfinished.rename(path)
        sync_directory(path.parent)
    except OSError:
        with contextlib.suppress(OSError):
            unfinished.unlink()
        raise


def move(source: Path, target: Path) -> None:
    """Rename a file, in place of any other, and write the new name to the disk. Raises: OSError."""
    source.rename(target)
    sync_directory(target.parent)


def sync_directory(directory: Path) -> None:
    """Write the names in a directory to the disk. Raises: OSError."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
