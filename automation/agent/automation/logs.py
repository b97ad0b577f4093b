"""Rotates, compresses and deletes the log files of a server, as `logRotate` of the document says.

The server itself rotates its log, on a command. A rotated log has the name of the log and the time of the
rotation, as the server writes it: `mongod.log.2026-11-29T12-53-29`. Only such files, regular and in the
directory of the log, are compressed or deleted, and only below the directories that the operator allows.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, Callable, Union

from automation.agent.automation.directories import real_place
from automation.agent.automation.rotated_logs import (
    STAMP_FORMAT,
    LogNotTended,
    RotatedLog,
    rotated_logs,
    rotation_time,
)
from automation.agent.automation.seen_fleet import SeenProcess
from automation.agent.automation.servers import NOT_ANSWERED, ManagedServer
from automation.agent.faults import shown
from automation.plan.values import Settings

RotateLogs = Callable[[Union[int, str]], object]
"""Sends `logRotate` with this value to the admin database of the server. Raises: errors of NOT_ANSWERED."""

DEFAULTS: Mapping[str, float] = {"numUncompressed": 5, "percentOfDiskspace": 0.02, "numTotal": 0}
"""Values of fields that a document leaves out."""

_MEGABYTE = 1 << 20
_HOUR = 3600
_BOTH = 1
"""The value of `logRotate` for all logs of a server."""
_MOMENT = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,6})?(Z|[+-]\d\d:?\d\d)")
_LONGEST_START = 4096


class LogKind(str, Enum):
    """A log of a server; each value is one of its command `logRotate`."""

    SERVER = "server"
    AUDIT = "audit"


@dataclass(frozen=True)
class LogSettings:
    """The settings of a log: its file, and whether the server reopens it and does not rename it."""

    kind: LogKind
    path: Path
    is_reopened: bool


@dataclass(frozen=True)
class LogRules:
    """The values of `logRotate`. A threshold, a share or a total of 0 or less does not apply."""

    megabytes: float
    hours: float
    uncompressed: float
    share: float
    total: float


@dataclass
class LogWork:
    """The work that was done: paths of files, and why other work was not done."""

    rotated: list[Path] = field(default_factory=list)
    compressed: list[Path] = field(default_factory=list)
    deleted: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def read_rules(stated: Mapping[str, Any]) -> LogRules:
    """The rules of `logRotate` of a document whose schema is valid."""
    values = {**DEFAULTS, **{name: value for name, value in stated.items() if value is not None}}
    return LogRules(
        megabytes=values["sizeThresholdMB"],
        hours=values["timeThresholdHrs"],
        uncompressed=values["numUncompressed"],
        share=values["percentOfDiskspace"],
        total=values["numTotal"],
    )


def log_settings(settings: Settings) -> list[LogSettings]:
    """The logs in files of a server with these settings."""
    is_reopened = _text(settings, "systemLog.logRotate") == "reopen"
    return [
        LogSettings(kind, Path(path), is_reopened)
        for kind, section in ((LogKind.SERVER, "systemLog"), (LogKind.AUDIT, "auditLog"))
        if _text(settings, f"{section}.destination") == "file"
        and (path := _text(settings, f"{section}.path"))
    ]


def _text(settings: Settings, name: str) -> str:
    """The text of a setting; empty if it is missing or no text."""
    value = json.loads(settings.get(name, "null"))
    return value if isinstance(value, str) else ""


def tend_process(
    seen: SeenProcess,
    stated: Mapping[str, Any],
    server: ManagedServer,
    allowed: Sequence[Path],
    now: datetime,
) -> LogWork:
    """Tend the logs of an observed process as the `logRotate` of its document says.

    The settings with which the server runs name the logs; of a stopped server, its configuration file does.
    """
    is_running = seen.process.is_running is not False
    settings = seen.process.settings if is_running else seen.process.file
    if settings is None:
        return LogWork(problems=["it is not known which logs the server writes"])
    if is_running and seen.pid is None:
        return LogWork(problems=["the agent does not find the process of the server"])
    logs = log_settings(settings)
    rotate = (lambda value: server.ask({"logRotate": value})) if is_running else None
    work = tend_logs(logs, read_rules(stated), allowed, now, rotate)
    is_in_file = any(log.kind is LogKind.SERVER for log in logs)
    if is_running and not is_in_file and _text(settings, "systemLog.destination") != "syslog":
        work.problems.append("the server writes its log to no file")
    return work


def tend_logs(
    logs: Sequence[LogSettings],
    rules: LogRules,
    allowed: Sequence[Path],
    now: datetime,
    rotate: RotateLogs | None,
) -> LogWork:
    """Rotate the logs of a server that are due, then compress and delete rotated logs.

    `logs` are the logs with which the server runs, `allowed` the directories that the operator allows.
    `rotate` is None if the server does not run.
    """
    work = LogWork()
    tended = [log for log in (_Log.of(settings, allowed, work) for settings in logs) if log is not None]
    if rotate is not None:
        for value, parts in _commands(_due(tended, rules, now, work), len(logs)):
            with _noting(parts[0], work), _alone(*(log.path.parent for log in parts)):
                if all(log.is_due(rules, now) for log in parts):  # Not rotated by another agent meanwhile.
                    _rotate(parts, now, partial(rotate, value), work)
    for log in tended:
        with _noting(log, work), _alone(log.path.parent):
            log.tidy(rules, work, is_running=rotate is not None)
    return work


def _due(logs: Sequence[_Log], rules: LogRules, now: datetime, work: LogWork) -> list[_Log]:
    """The logs that are rotated now; a log of which this cannot be found out is noted."""
    due = []
    for log in logs:
        with _noting(log, work):
            if log.is_due(rules, now):
                due.append(log)
    return due


def _commands(due: list[_Log], number: int) -> list[tuple[int | str, list[_Log]]]:
    """The values of the commands that rotate logs; `number` is that of all logs of the server."""
    # A server before version 5.0 rotates all its logs on each command.
    if due and len(due) == number:
        return [(_BOTH, due)]
    return [(log.settings.kind.value, [log]) for log in due]


def _rotate(logs: Sequence[_Log], now: datetime, rotate: Callable[[], object], work: LogWork) -> None:
    """Rotate logs with one command. Raises: LogNotTended, and errors of NOT_ANSWERED."""
    before = [log.identity() for log in logs]
    renamed: dict[_Log, Path] = {}
    try:
        for log in logs:
            if log.settings.is_reopened and log.identity() is not None:
                renamed[log] = log.rename(now)
        rotate()
    except Exception:
        for log, place in renamed.items():
            if not os.path.lexists(log.path):
                place.rename(log.path)
        raise
    for log, identity in zip(logs, before):
        if log.identity() in (None, identity):
            raise LogNotTended("the server has accepted the command and did not rotate the log")
        work.rotated.append(log.path)


@contextmanager
def _noting(log: _Log, work: LogWork) -> Iterator[None]:
    """Note a failure instead of raising it: other logs are tended nevertheless."""
    try:
        yield
    except LogNotTended as error:
        work.problems.append(f"{log.name}: {error}")
    except OSError as error:
        work.problems.append(f"{log.name}: a file cannot be read or written: {error.strerror}")
    except NOT_ANSWERED as error:
        code = getattr(error, "code", None)
        # The message can have texts of the server.
        reason = type(error).__name__ if code is None else f"{type(error).__name__}, code {code}"
        work.problems.append(f"{log.name}: the server does not rotate it: {reason}")


@contextmanager
def _alone(*directories: Path) -> Iterator[None]:
    """Hold the locks of directories. Raises: LogNotTended: another agent works in one of them. OSError."""
    descriptors: list[int] = []
    try:
        for directory in sorted(set(directories)):
            descriptors.append(os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
            try:
                fcntl.flock(descriptors[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise LogNotTended("another agent works in its directory") from None
        yield
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


@dataclass(frozen=True)
class _Log:
    """A log in an allowed directory. `path` has no symbolic link in its directory."""

    settings: LogSettings
    path: Path

    @classmethod
    def of(cls, settings: LogSettings, allowed: Sequence[Path], work: LogWork) -> _Log | None:
        """The log; None if its directory is not allowed, which is noted."""
        directory = real_place(settings.path.parent, allowed)
        if directory is None:
            where = f"{settings.kind.value} log {shown(settings.path)}"
            work.problems.append(f"{where}: it is not in a directory that the operator allows")
            return None
        return cls(settings, directory / settings.path.name)

    @property
    def name(self) -> str:
        return f"{self.settings.kind.value} log {shown(self.path)}"

    def identity(self) -> tuple[int, int] | None:
        """The identity of the file that has the log's name; None if there is none. Raises: LogNotTended."""
        try:
            status = self.path.lstat()
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise LogNotTended("it is not a regular file")
        return status.st_dev, status.st_ino

    def is_due(self, rules: LogRules, now: datetime) -> bool:
        """Whether the log is rotated now. Raises: LogNotTended, OSError."""
        if self.identity() is None:
            # An agent was killed after it had renamed the log: the server still writes to the renamed file.
            if self.settings.is_reopened:
                return True
            raise LogNotTended("the file does not exist")
        size = self.path.lstat().st_size
        if size == 0:
            return False
        if 0 < rules.megabytes * _MEGABYTE <= size:
            return True
        return rules.hours > 0 and self._is_old(rules.hours, now)

    def _is_old(self, hours: float, now: datetime) -> bool:
        """Whether the log began so long ago. If that is not known, it is rotated, and then it is known."""
        began = self._began()
        return began is None or (now - began).total_seconds() >= hours * _HOUR

    def _began(self) -> datetime | None:
        """The time in the first lines of the log, or of the last rotation."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            start = file.read(_LONGEST_START)
        if (moment := _moment(start)) is not None:
            return moment
        stamps = [rotated.stamp for rotated in rotated_logs(self.path)[:1]]
        return rotation_time(stamps[0]) if stamps else None

    def rename(self, now: datetime) -> Path:
        """Give the log the name of a rotated log. Raises: LogNotTended, OSError."""
        stamp = now.astimezone(timezone.utc).strftime(STAMP_FORMAT)
        place = self.path.with_name(f"{self.path.name}.{stamp}")
        if os.path.lexists(place):
            raise LogNotTended("it was rotated in this second")
        return self.path.rename(place)

    def tidy(self, rules: LogRules, work: LogWork, *, is_running: bool) -> None:
        """Delete and compress rotated logs. Raises: LogNotTended, OSError."""
        if is_running and self.identity() is None:
            raise LogNotTended("the server may still write to the newest rotated log")
        logs = rotated_logs(self.path)
        for rotated in logs:
            rotated.remove_unfinished()
        logs = [rotated for rotated in logs if rotated.paths]
        if rules.total > 0:
            logs = self._delete(logs, _without_current(rules.total, logs), work)
        for rotated in logs[_without_current(rules.uncompressed, logs) :]:
            if rotated.is_plain:
                with _noting(self, work):
                    work.compressed.append(rotated.compress())
        if rules.share > 0:
            self._delete(logs, self._number_that_fits(logs, rules.share), work)

    def _number_that_fits(self, logs: Sequence[RotatedLog], share: float) -> int:
        """How many rotated logs, the newest first, have their share of the disk together with the log."""
        room = shutil.disk_usage(self.path.parent).total * share
        room -= self.path.lstat().st_size if self.identity() else 0
        for number, rotated in enumerate(logs):
            room -= rotated.size
            if room < 0:
                return number
        return len(logs)

    @staticmethod
    def _delete(logs: list[RotatedLog], kept: int, work: LogWork) -> list[RotatedLog]:
        """Delete all but the newest, the oldest first, and return the others. Raises: OSError."""
        for rotated in reversed(logs[kept:]):
            for path in rotated.paths:
                path.unlink()
                work.deleted.append(path)
        return logs[:kept]


def _without_current(number: float, logs: Sequence[RotatedLog]) -> int:
    """How many of the rotated logs belong to a number of logs that includes the current log."""
    return int(max(1, min(number, len(logs) + 1))) - 1


def _moment(octets: bytes) -> datetime | None:
    """The first time with a zone in a text."""
    match = _MOMENT.search(octets)
    if match is None:
        return None
    zone = match[2].replace(b"Z", b"+0000").replace(b":", b"")
    try:
        return datetime.strptime((match[1] + zone).decode(), "%Y-%m-%dT%H:%M:%S%z")
    except ValueError:
        return None
