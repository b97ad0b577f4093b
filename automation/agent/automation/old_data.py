"""The data of a server on the disk: its age, and the data that is set aside for an initial sync.

Data is set aside by a rename: `/data/db` becomes `/data/db.before-resync-20261129T125329Z`. Directories with
other names are left alone, and so are symbolic links.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from pathlib import Path

from automation.agent.automation.data_files import BEGINNING, LOGS, ROLLBACKS, checked_size, matches
from automation.agent.automation.directories import real_place
from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.processes import LOCK, running_pid
from automation.agent.automation.rotated_logs import STAMP_FORMAT, rotated_logs
from automation.agent.files import sync_directory
from automation.agent.settings import PREFIX

_NAME_FORMAT = "%Y%m%dT%H%M%SZ"
_ASIDE = re.compile(r"(.+)\.before-resync-(\d{8}T\d{6}Z)", re.DOTALL)


def data_since(data: Path) -> datetime | None:
    """When the data in the directory began, by the clock of this machine; None if this is not known."""
    try:
        seconds = (data / BEGINNING).stat().st_mtime
    except OSError:
        return None
    return datetime.fromtimestamp(seconds, timezone.utc)


def old_directories(data: Path) -> Sequence[Path]:
    """The directories next to the directory of the data that were set aside, the oldest first."""
    place = Path(os.path.realpath(data))
    try:
        with os.scandir(place.parent) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return ()
    return [place.with_name(name) for name in sorted(names) if _time_of(place, name) is not None]


def _time_of(place: Path, name: str) -> datetime | None:
    match = _ASIDE.fullmatch(name)
    if match is None or match[1] != place.name:
        return None
    with suppress(ValueError):
        return datetime.strptime(match[2], _NAME_FORMAT).replace(tzinfo=timezone.utc)
    return None


def place_to_set_aside(
    data: Path,
    allowed: Sequence[Path],
    others: Mapping[str, Path],
    written: Iterable[Path],
    now: datetime,
) -> tuple[Path, Path]:
    """Return the directory of the data without symbolic links, and its name after it is set aside.

    `others`: files that the rename must not move, by what they are. `written`: the files and
    directories of the settings that the server writes. Nothing is changed. Raises: MoveFailed with the
    reason: it cannot be set aside. OSError.
    """
    place = real_place(data, allowed)
    if place is None or real_place(place.parent, allowed) is None:
        raise MoveFailed(f"{data} has no place next to it below {PREFIX}AUTOMATION_DIRS for the old data")
    if not place.is_dir() or os.path.ismount(place):
        raise MoveFailed(f"{place} is a mount point, or no directory: it cannot be renamed")
    _check_outside(place, others)
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise MoveFailed(
            f"the user of the agent cannot rename {place}: it must be able to write {place.parent}"
        )
    size = checked_size(place, _inside(place, written))
    free = shutil.disk_usage(place).free
    if free < size:
        raise MoveFailed(
            f"the old data of {size} bytes stays until the new data is complete: {free} are free"
        )
    aside = place.with_name(f"{place.name}.before-resync-{now.astimezone(timezone.utc):{_NAME_FORMAT}}")
    if os.path.lexists(aside):
        raise MoveFailed(f"{aside} is already there")
    return place, aside


def _check_outside(place: Path, others: Mapping[str, Path]) -> None:
    for name, other in others.items():
        if place in Path(os.path.realpath(other)).parents:
            raise MoveFailed(f"{name} ({other}) is inside {place}, and would be moved, too")


def _inside(place: Path, paths: Iterable[Path]) -> Iterator[Path]:
    """The paths that are inside a directory, relative to it."""
    for path in paths:
        real = Path(os.path.realpath(path))
        if place in real.parents:
            yield real.relative_to(place)


def set_aside(place: Path, aside: Path) -> None:
    """Rename the directory, and create an empty one with its mode and its owner.

    Raises: OSError: nothing has changed. MoveFailed: a server uses the data again.
    """
    _check_unused(place)
    status = place.stat()
    place.rename(aside)
    try:
        place.mkdir(mode=0o700)
        if (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
            os.chown(place, status.st_uid, status.st_gid)
        place.chmod(stat.S_IMODE(status.st_mode))
        sync_directory(place.parent)
    except OSError:
        with suppress(FileNotFoundError):
            place.rmdir()
        aside.rename(place)
        raise


def _check_unused(directory: Path) -> None:
    """Raises: MoveFailed: a server runs with the data. OSError."""
    if running_pid(directory) is not None or _is_locked(directory / LOCK):
        raise MoveFailed(f"a server runs with the data in {directory}: {LOCK} there is locked, or names it")


def _is_locked(file: Path) -> bool:
    """Whether another process holds a lock of either kind of a file. Raises: OSError."""
    try:
        descriptor = os.open(file, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def remove_old(
    directory: Path, data: Path, allowed: Sequence[Path], written: Iterable[Path], logs: Iterable[Path]
) -> None:
    """Remove a directory that was set aside.

    Its logs go back to the data, because only logRotate deletes logs, and so do writes that were rolled back.

    `written`: as for `place_to_set_aside`; `logs`: the logs among these files. Raises: MoveFailed, OSError.
    """
    place = Path(os.path.realpath(data))
    time = _time_of(place, directory.name)
    if time is None or directory.parent != place.parent or real_place(directory, allowed) != directory:
        raise MoveFailed(f"{directory} is not data that was set aside below {PREFIX}AUTOMATION_DIRS")
    _check_unused(directory)
    checked_size(directory, _inside(place, written))
    stamp = time.strftime(STAMP_FORMAT)
    for log in _inside(place, logs):
        _keep_log(log, place, directory, stamp)
    for path in sorted(directory.iterdir()):
        if matches(path.name, ROLLBACKS if path.is_dir() else LOGS):
            _keep(path, place / path.name, stamp)
    sync_directory(place)
    shutil.rmtree(directory)


def _keep_log(log: Path, place: Path, directory: Path, stamp: str) -> None:
    """Move a log with its rotated files from the directory back to its place, where it is a rotated log."""
    old = directory / log
    if not old.parent.is_dir():
        return
    for rotated in rotated_logs(old):
        for path in rotated.parts.values():
            _move(path, (place / log).with_name(path.name))
    if old.is_file():
        _move(old, (place / log).with_name(f"{log.name}.{stamp}"))


def _keep(source: Path, target: Path, stamp: str) -> None:
    """Move a file or a directory, with the stamp if its name is there already."""
    is_there = os.path.lexists(target)
    _move(source, target.with_name(f"{target.name}.{stamp}") if is_there else target)


def _move(source: Path, target: Path) -> None:
    if os.path.lexists(target):
        raise MoveFailed(f"{source} cannot be kept: {target} is already there")
    source.rename(target)
