"""The rotated files of a log, and their compression.

A rotated log has the name of the log and the time of the rotation, as the server writes it:
`mongod.log.2026-11-29T12-53-29`. Links and other files are left alone.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path

from automation.agent.files import sync_directory

_PART = 1 << 18
_STAMP = r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d"
STAMP_FORMAT = "%Y-%m-%dT%H-%M-%S"
"""The time of the rotation in UTC, in the name of a rotated log."""
_COMPRESSED, _UNFINISHED = ".gz", ".gz.tmp"
ENDS = ("", _COMPRESSED, _UNFINISHED)
"""The ends of the names of a rotated log: as the server left it, compressed, and while it is compressed."""
_ROTATED = re.compile(rf"({_STAMP}Z?)(|\{_COMPRESSED}|\{_UNFINISHED})")


class LogNotTended(Exception):  # noqa: N818 - it is a result
    """The message says why work on a log was not done."""


@dataclass(frozen=True)
class RotatedLog:
    """The files of a rotated log by the end of their names: as the server left it, and compressed."""

    stamp: str
    parts: dict[str, Path] = field(default_factory=dict)

    @property
    def paths(self) -> list[Path]:
        """The files that have the whole log."""
        return [path for end, path in self.parts.items() if end != _UNFINISHED]

    @property
    def is_plain(self) -> bool:
        """Whether the file is there as the server left it."""
        return "" in self.parts

    @property
    def size(self) -> int:
        """The size of its files. Raises: OSError."""
        return sum(path.lstat().st_size for path in self.paths)

    def remove_unfinished(self) -> None:
        """Remove the part that an agent had compressed before it was killed. Raises: OSError."""
        if _UNFINISHED in self.parts:
            self.parts.pop(_UNFINISHED).unlink()

    def compress(self) -> Path:
        """Replace the file by a compressed file, and return its path.

        Raises: OSError. LogNotTended: the file changes meanwhile.
        """
        plain = self.parts[""]
        target, unfinished = (plain.with_name(plain.name + end) for end in (_COMPRESSED, _UNFINISHED))
        try:
            _write_compressed(plain, unfinished)
            unfinished.rename(target)
        except BaseException:
            with suppress(OSError):  # The next round removes it.
                unfinished.unlink()
            raise
        self.parts[_COMPRESSED] = target
        sync_directory(plain.parent)
        self.parts.pop("").unlink()
        return target


def rotated_logs(log: Path) -> list[RotatedLog]:
    """The rotated files of a log, the newest first. Raises: OSError."""
    prefix = f"{log.name}."
    by_stamp: dict[str, RotatedLog] = {}
    with os.scandir(log.parent) as entries:
        names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
    for name in names:
        match = _ROTATED.fullmatch(name[len(prefix) :]) if name.startswith(prefix) else None
        if match is not None and rotation_time(match[1]) is not None:
            rotated = by_stamp.setdefault(match[1], RotatedLog(match[1]))
            rotated.parts[match[2]] = log.with_name(name)
    return [by_stamp[stamp] for stamp in sorted(by_stamp, reverse=True)]


def rotation_time(stamp: str) -> datetime | None:
    """The time in the name of a rotated log; None if it is none."""
    try:
        return datetime.strptime(stamp.rstrip("Z"), STAMP_FORMAT).replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def _write_compressed(plain: Path, target: Path) -> None:
    """Compress a file to the disk. Raises: OSError. LogNotTended: the file changes meanwhile."""
    flags = os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(plain, os.O_RDONLY | os.O_NONBLOCK | flags), "rb") as source:
        before = os.fstat(source.fileno())
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | flags, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            with gzip.GzipFile(plain.name, "wb", fileobj=file, mtime=before.st_mtime) as packed:
                shutil.copyfileobj(source, packed, _PART)
            file.flush()
            os.fchmod(file.fileno(), stat.S_IMODE(before.st_mode))
            os.utime(file.fileno(), ns=(before.st_atime_ns, before.st_mtime_ns))
            os.fsync(file.fileno())
        after = os.fstat(source.fileno())
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise LogNotTended("a rotated log still changes")
