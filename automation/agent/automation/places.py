"""The files of a process below the download directory: its configuration, and how it was started.

All are written as a whole, and only the agent's user can read them: a configuration has secrets.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from automation.agent.automation.failures import MoveFailed
from automation.agent.files import move, write_whole
from automation.moments import moment
from automation.plan.auth import KeyUse
from automation.plan.values import MOST_AWAY, ObservedProcess

DIRECTORY = "opsapi-agent"
"""The directory of all processes, below the download directory."""
_LOCK = "lock"
_LARGEST = 16_000_000
_LONGEST_NAME = 200
_VERSION = "# version "
"""The begin of the first line of a configuration."""
_KEY_USES = {use.value: use for use in KeyUse}


@dataclass(frozen=True)
class StartRecord:
    """How the agent started a process: its version, the lastRestart of the document, and what it set since.

    `version`: of its configuration file, if that says a version, so that a start has the file of its version;
    also of a server that the agent found running. `parameters`: the names of the server parameters
    that the agent has set at run time. `was_empty`: whether the agent started it with an empty directory,
    always as a member, and it has had no data since. `resync`: the lastResync of the document under which the
    agent started it with an empty directory. `compacted`: the lastCompact that the agent has carried out.
    `key_use`: how it took part with a key file when it ran last; None if this is not known. `starts`: its
    last starts since the agent stopped it. `stopped`: when the agent stopped it for a restart, until it has
    all data again. `away`: how long the last restart took until then, at most MOST_AWAY; None if the agent
    has not restarted it. `feature_version`: the feature compatibility version when it ran last; None if that
    was not known. `has_failed`: whether its last start failed. `had_data`: whether it had data when it ran
    last, so that an empty directory means that the data is gone. `known_resync`: the lastResync of the
    document when it had this data: only a later time agrees to an empty start.
    """

    version: str | None = None
    restart: datetime | None = None
    parameters: frozenset[str] = frozenset()
    was_empty: bool = False
    resync: datetime | None = None
    compacted: datetime | None = None
    key_use: KeyUse | None = None
    starts: tuple[datetime, ...] = ()
    stopped: datetime | None = None
    away: timedelta | None = None
    feature_version: str | None = None
    has_failed: bool = False
    had_data: bool = False
    known_resync: datetime | None = None


class ProcessPlaces:
    """The files of a process. Nothing is created before something is written."""

    def __init__(self, base: Path, name: str) -> None:
        """`base` is the download directory, without symbolic links; `name` is of the process."""
        self._base, self._all = base, base / DIRECTORY
        # A prefix, because a process can have the name `..`.
        self._own = self._all / f"process-{_file_name(name)}"
        self.config, self.next_config = self._own / "mongod.conf", self._own / "next.conf"
        """The next file takes the place of the present file when the server has stopped."""
        self.output = self._own / "output.log"
        self._record, self._reached = self._own / "started.json", self._own / "reached"

    def of(self, name: str) -> ProcessPlaces:
        """The files of another process."""
        return ProcessPlaces(self._base, name)

    def create(self) -> None:
        """Create the directory. Raises: MoveFailed: somebody else can write it. OSError."""
        for directory in (self._all, self._own):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = directory.lstat()
            if directory.is_symlink() or status.st_uid != os.geteuid() or status.st_mode & 0o022:
                raise MoveFailed(
                    f"{directory} must be a directory of the agent's user that nobody else writes"
                )

    def read_config(self) -> Mapping[str, Any] | None:
        """The settings in the file; empty if there is no file, None if it cannot be read."""
        return self._read_object(self.config)

    def write_config(self, settings: Mapping[str, Any], version: str) -> None:
        """Write the configuration for a server of this version. Raises: MoveFailed. OSError."""
        self._write_config(self.config, settings, version)

    def write_next_config(self, settings: Mapping[str, Any], version: str) -> None:
        """As `write_config`, and leave the present file as it is. Raises: MoveFailed. OSError."""
        self._write_config(self.next_config, settings, version)

    def use_next_config(self) -> None:
        """Put the next configuration in place of the present one. Raises: OSError."""
        move(self.next_config, self.config)

    def _write_config(self, place: Path, settings: Mapping[str, Any], version: str) -> None:
        """Write a configuration and its version together. JSON is YAML, too."""
        self.create()
        text = f"{_VERSION}{json.dumps(version)}\n{json.dumps(settings, indent=1)}\n"
        write_whole(place, text.encode())

    def _config_version(self) -> str | None:
        """The version for which the configuration was written; None if the file does not say it."""
        try:
            with self.config.open() as file:
                line = file.readline(_LARGEST)
            version = json.loads(line[len(_VERSION) :]) if line.startswith(_VERSION) else None
        except (OSError, ValueError):
            return None
        return version if isinstance(version, str) else None

    def read_record(self) -> StartRecord:
        """How the process was started; nothing if the agent did not start it, or if this cannot be read."""
        stored = self._read_object(self._record) or {}
        version, parameters = stored.get("version"), stored.get("parameters")
        if version is not None:  # Otherwise the process has never run, and its file is of its first start.
            version = self._config_version() or version
        return StartRecord(
            version if isinstance(version, str) else None,
            _stored_moment(stored, "restart"),
            frozenset(map(str, parameters)) if isinstance(parameters, list) else frozenset(),
            stored.get("wasEmpty") is True,
            _stored_moment(stored, "resync"),
            _stored_moment(stored, "compacted"),
            _KEY_USES.get(str(stored.get("keyUse"))),
            tuple(_stored_moments(stored, "starts")),
            _stored_moment(stored, "stopped"),
            timedelta(seconds=away) if isinstance(away := stored.get("away"), int) else None,
            feature if isinstance(feature := stored.get("featureVersion"), str) else None,
            stored.get("hasFailed") is True,
            stored.get("hadData") is True,
            _stored_moment(stored, "knownResync"),
        )

    def write_record(self, record: StartRecord) -> None:
        """Write how the process was started. Raises: MoveFailed. OSError."""
        self.create()
        if record.version and record.version != self._config_version() and (settings := self.read_config()):
            self.write_config(settings, record.version)
        stored = {
            "version": record.version,
            "restart": record.restart.isoformat() if record.restart else None,
            "parameters": sorted(record.parameters),
            "wasEmpty": record.was_empty,
            "resync": record.resync.isoformat() if record.resync else None,
            "compacted": record.compacted.isoformat() if record.compacted else None,
            "keyUse": record.key_use.value if record.key_use else None,
            "starts": [time.isoformat() for time in record.starts],
            "stopped": record.stopped.isoformat() if record.stopped else None,
            "away": int(record.away.total_seconds()) if record.away is not None else None,
            "featureVersion": record.feature_version,
            "hasFailed": record.has_failed,
            "hadData": record.had_data,
            "knownResync": record.known_resync.isoformat() if record.known_resync else None,
        }
        write_whole(self._record, json.dumps(stored).encode())

    def add_parameters(self, names: frozenset[str]) -> None:
        """Write that the agent sets these parameters at run time. Raises: MoveFailed. OSError."""
        record = self.read_record()
        self.write_record(replace(record, parameters=record.parameters | names))

    def note_running(self, seen: ObservedProcess, use: KeyUse | None, resync: datetime | None) -> None:
        """Write how the server runs, so that it can start again in the same way. Raises: MoveFailed. OSError.

        `seen`: with its version. `use`: of its key file; None if this is not known. `resync`: the lastResync
        of the document.
        """
        record = self.read_record()
        now = replace(
            record,
            version=seen.version,
            key_use=use or record.key_use,
            feature_version=seen.feature_version,
            has_failed=False,
            had_data=record.had_data if seen.has_data is None else seen.has_data,
            known_resync=resync if seen.has_data else record.known_resync,
        )
        if now != record:
            self.write_record(now)

    def note_compacted(self, time: datetime) -> None:
        """Write the lastCompact that is carried out. Raises: MoveFailed. OSError."""
        self.write_record(replace(self.read_record(), compacted=time))

    def note_starts(self, times: Sequence[datetime]) -> None:
        """Write the times of the last starts. Raises: MoveFailed. OSError."""
        self.write_record(replace(self.read_record(), starts=tuple(times)))

    def note_failed_start(self) -> None:
        """Write that the server did not start with its file. Raises: MoveFailed. OSError."""
        self.write_record(replace(self.read_record(), has_failed=True))

    def forget_starts(self) -> None:
        """Count the starts of the server from zero. Raises: MoveFailed. OSError."""
        self.note_starts(())

    def note_stop(self, time: datetime | None) -> None:
        """Write when the server is stopped for a restart; None if it stays down, or loses its data.

        Raises: MoveFailed. OSError.
        """
        record = self.read_record()
        self.write_record(replace(record, starts=(), stopped=time and (record.stopped or time)))

    def note_return(self, now: datetime) -> None:
        """Write how long the last restart took, now that the server has all data again.

        Raises: MoveFailed. OSError.
        """
        record = self.read_record()
        if record.stopped is not None:
            away = min(max(now - record.stopped, timedelta()), MOST_AWAY)
            self.write_record(replace(record, stopped=None, away=away))

    def note_data(self) -> None:
        """Write that the process has data, if it began without. Raises: MoveFailed. OSError."""
        record = self.read_record()
        if record.was_empty:
            self.write_record(replace(record, was_empty=False))

    def read_reached(self) -> int:
        """The version of the document that the process has reached last; 0 if none is known."""
        try:
            return int(self._reached.read_bytes()[:20])
        except (OSError, ValueError):
            return 0

    def write_reached(self, version: int) -> None:
        """Raises: MoveFailed. OSError."""
        self.create()
        write_whole(self._reached, str(version).encode())

    @staticmethod
    def _read_object(path: Path) -> Mapping[str, Any] | None:
        try:
            with path.open("rb") as file:
                octets = file.read(_LARGEST)
            document = json.loads(octets.partition(b"\n")[2] if octets.startswith(b"#") else octets)
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, RecursionError):
            return None
        return document if isinstance(document, dict) else None


def _file_name(name: str) -> str:
    """A name of a file for each process: names of files have at most 255 bytes."""
    text = quote(name, safe="")
    if len(text) <= _LONGEST_NAME:
        return text
    return f"{text[:_LONGEST_NAME]}-{hashlib.sha256(name.encode()).hexdigest()[:40]}"


def _stored_moment(stored: Mapping[str, Any], name: str) -> datetime | None:
    text = stored.get(name)
    return moment(text) if isinstance(text, str) else None


def _stored_moments(stored: Mapping[str, Any], name: str) -> Iterator[datetime]:
    texts = stored.get(name)
    times = (moment(text) for text in (texts if isinstance(texts, list) else ()) if isinstance(text, str))
    return (time for time in times if time is not None)


@contextmanager
def only_agent(base: Path) -> Iterator[bool]:
    """Hold the lock of the download directory: only one agent carries out a plan there.

    Yields whether this agent holds it. Raises: OSError.
    """
    directory = base / DIRECTORY
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(descriptor)
