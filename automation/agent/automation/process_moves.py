"""The moves that get a process to run as the document wants: its files, its build, its start and its end."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from automation.agent.automation import processes
from automation.agent.automation.build_faults import BuildError
from automation.agent.automation.builds import DocumentBuilds
from automation.agent.automation.failures import MoveDelayed, MoveFailed
from automation.agent.automation.key_files import seen_key_file, write_key_file
from automation.agent.automation.members import state_of
from automation.agent.automation.moved_process import MovedProcess
from automation.agent.automation.observe import has_files
from automation.agent.automation.part import WRITTEN_PLACES, setting
from automation.agent.automation.turns import MOVE_SECONDS
from automation.agent.automation.unpack import PROGRAM
from automation.plan.values import KeyFile, MemberState

LAUNCHED: list[subprocess.Popen[bytes]] = []
"""The servers that this process has started, so that they are reaped when they end."""
MOST_STARTS, _SOON = 5, timedelta(minutes=10)
"""After this number of starts within this time, a person has to find out why the server ends."""
_OF_DIRECTORY = frozenset(
    {
        "storage.dbPath",
        "setParameter.diagnosticDataCollectionDirectoryPath",
        "net.unixDomainSocket.pathPrefix",
    }
)


class ProcessMoves:
    """The moves of the process itself. Raises: MoveFailed, MoveDelayed, TurnLost, errors of NOT_ANSWERED."""

    def __init__(self, moved: MovedProcess, builds: DocumentBuilds, now: datetime) -> None:
        self._moved, self._builds, self._now = moved, builds, now
        self._managed, self._server, self._places = moved.managed, moved.server, moved.places
        self._work = moved.work

    def download(self, version: str) -> None:
        """Download the build of a version, and unpack it."""
        self._work.begin("download")
        self._work.run(partial(self._program, version))

    def _program(self, version: str) -> Path:
        """The program of the build of the document. Raises: MoveFailed, MoveDelayed: it is not there."""
        try:
            return self._builds.ensure(version) / PROGRAM
        except BuildError as error:
            failure = MoveDelayed if error.fault.is_passing else MoveFailed
            raise failure(str(error)) from None

    def write_file(self, version: str) -> None:
        """Write the configuration file of a server that starts with this version, or runs."""
        version = version or self._moved.running_version()
        self._work.run(partial(self._places.write_config, self._managed.settings, version))

    def write_key_file(self) -> None:
        """Write the key file so that only the user of the agent can read it."""
        place = self._managed.key_place
        if place is None:
            raise MoveFailed("the document states no key file")
        self._work.run(partial(write_key_file, place, self._managed.key))
        if self._work.run(partial(seen_key_file, place, self._managed.key)) is not KeyFile.SAME:
            # Otherwise the plan would write it forever.
            raise MoveFailed(f"others can read {place}, the key file: its file system ignores modes")

    def restart(self, version: str) -> None:
        """Stop the server, and start it with this version."""
        program = self._work.run(partial(self.check_next, version))
        self.stop(returns=True)
        self.launch_next(program, version)

    def check_next(self, version: str) -> Path:
        """Write the next configuration, and check it with the program before anything is stopped.

        A version between the running version and that of the document keeps the present settings if it
        refuses the settings of the document, which are for the last version.
        Raises: MoveFailed, MoveDelayed. OSError.
        """
        self._places.write_next_config(self._managed.settings, version)
        try:
            return self._check(version, self._places.next_config)
        except MoveFailed:
            present = self._places.read_config()
            if version == self._managed.goal.version or not present:
                raise
            self._places.write_next_config(present, version)
            with suppress(MoveFailed):
                return self._check(version, self._places.next_config)
            raise

    def _check(self, version: str, config: Path) -> Path:
        """Check program and configuration. Raises: MoveFailed, MoveDelayed. OSError."""
        if self._builds.find(version) is None:  # Nothing is downloaded while a turn is held.
            raise MoveFailed(f"version {version} is not on the machine")
        program = self._program(version)  # It may be another build by now.
        fault = processes.config_fault(program, config)
        if fault:
            raise MoveFailed(f"the server refuses its configuration: {self._moved.without_secrets(fault)}")
        return program

    def stop(self, *, returns: bool = False) -> None:
        """Ask the server to end cleanly, and wait for its end. `returns`: with its data, after a restart.

        Raises: MoveDelayed: nothing has changed, and the server runs on.
        """
        self._work.begin("stop")
        # The checks of the move took time: another member can have ended since, or this one is the primary.
        self._moved.check_again()
        seen = self._moved.see()
        if seen.process.is_running is False:
            return
        pid = seen.pid
        if pid is None:
            raise MoveFailed(
                f"the agent does not find the process of the server: {self._managed.data / processes.LOCK} "
                "does not name it"
            )
        with suppress(OSError, MoveFailed):  # Then earlier starts still count: at worst the plan stops early.
            self._work.run(partial(self._places.note_stop, self._now if returns else None))
        self._work.run(partial(processes.end, pid))
        self._work.wait(
            lambda: not processes.is_server(pid), f"the server did not end within {MOVE_SECONDS} s"
        )

    def start(self, version: str) -> None:
        """Start the server with this version, and wait until it answers.

        Raises: MoveFailed: the server has ended soon after each of its last starts, which then count no more.
        """
        now, before = self._now, self._places.read_record().starts
        recent = [time for time in before if timedelta(0) <= now - time < _SOON]
        if len(recent) >= MOST_STARTS:
            self._work.run(self._places.forget_starts)
            self._work.run(self._places.note_failed_start)
            said = self._moved.tail(self._log(), 0)
            minutes = _SOON.total_seconds() / 60
            raise MoveFailed(f"the server has ended {len(recent)} times within {minutes:.0f} minutes: {said}")
        with self._noting_failure():
            program = self._work.run(partial(self._check, version, self._places.config))
            self._work.run(partial(self._places.note_starts, [*recent, now]))
            self._launch(program, version)

    def launch_next(self, program: Path, version: str) -> None:
        """Start the program with the next configuration. Until now, the present one is as the server ran."""
        self._work.run(self._places.use_next_config)
        with self._noting_failure():
            self._launch(program, version)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """Write that the start has failed, so that another version can follow. Raises: as the block."""
        try:
            yield
        except MoveFailed:
            with suppress(OSError, MoveFailed):  # Then it starts as it ran, and fails again.
                self._places.note_failed_start()
            raise

    def _launch(self, program: Path, version: str) -> None:
        """Start the program, which was checked, and wait until it answers."""
        self._work.begin("start")
        self._work.run(partial(self._prepare, version))
        marks = {path: processes.size_of(path) for path in (self._log(), self._places.output)}
        child = self._work.run(partial(self._run_program, program))
        self._work.wait(
            lambda: self._is_up(child, marks), f"the server did not answer within {MOVE_SECONDS} s"
        )
        self._work.begin("check")
        self._check_settings()

    def _prepare(self, version: str) -> None:
        """Create the directories of the server, and write how it is started. Raises: MoveFailed. OSError."""
        is_empty = has_files(self._managed) is False
        for name in WRITTEN_PLACES:
            place = setting(self._managed.settings, name)
            if isinstance(place, str):
                directory = Path(place) if name in _OF_DIRECTORY else Path(place).parent
                directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        before, goal = self._places.read_record(), self._managed.goal
        # A standalone server gets data. A member gets data only from its replica set.
        was_empty = bool(goal.replica_set) and (before.was_empty or is_empty)
        restart = goal.restart if self._is_due(goal.restart) else before.restart
        resync = goal.resync if is_empty and self._is_due(goal.resync) else before.resync
        had_data = before.had_data and not is_empty
        record = replace(before, version=version, restart=restart, parameters=frozenset(), had_data=had_data)
        self._places.write_record(replace(record, was_empty=was_empty, resync=resync))

    def _is_due(self, time: datetime | None) -> bool:
        return time is not None and time <= self._now

    def _run_program(self, program: Path) -> subprocess.Popen[bytes]:
        child = processes.start(program, self._places.config, self._places.output)
        LAUNCHED.append(child)
        return child

    def _is_up(self, child: subprocess.Popen[bytes], marks: Mapping[Path, int]) -> bool:
        """Whether it answers as a member that is ready. Raises: MoveFailed: it has ended."""
        hello = self._server.hello()
        status = child.poll()
        if status:  # Status 0 is of a server that forks.
            lines = [self._moved.tail(path, mark) for path, mark in marks.items()]
            text = "\n".join(line for line in lines if line) or "it wrote nothing"
            how = f"signal {-status}" if status < 0 else f"status {status}"
            raise MoveFailed(f"the server ended with {how} instead of starting: {text}")
        if hello is None:
            return False
        is_member = any(
            hello.get(name) for name in ("isWritablePrimary", "ismaster", "secondary", "arbiterOnly")
        )
        return (
            is_member
            or bool(hello.get("isreplicaset"))
            or hello.get("msg") == "isdbgrid"
            or self._is_syncing()
        )

    def _is_syncing(self) -> bool:
        """Whether it copies all data from another member, which can take hours."""
        status, _ = self._server.answer({"replSetGetStatus": 1})
        if status is None or state_of(status.get("myState")) is not MemberState.SYNCING:
            return False
        return "initialSyncStatus" in status

    def _check_settings(self) -> None:
        """Otherwise the plan would restart it forever. Raises: MoveFailed."""
        seen = self._moved.see().process
        if seen.settings is None or seen.file is None or seen.settings == seen.file:
            return
        names = sorted(
            name for name in {*seen.settings, *seen.file} if seen.settings.get(name) != seen.file.get(name)
        )
        raise MoveFailed(f"the server runs with other values than its configuration has: {', '.join(names)}")

    def _log(self) -> Path:
        path = setting(self._managed.settings, "systemLog.path")
        return Path(path) if isinstance(path, str) else self._places.output
