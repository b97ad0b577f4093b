"""Carries out the moves of a process of this machine.

A move can be cut off after each step. The next plan follows from what is observed then.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Callable

from pymongo.errors import OperationFailure

from automation.agent.automation import processes
from automation.agent.automation.build_faults import BuildError
from automation.agent.automation.builds import DocumentBuilds
from automation.agent.automation.failures import MoveDelayed, MoveFailed
from automation.agent.automation.key_files import seen_key_file, write_key_file
from automation.agent.automation.observe import SeenProcess, has_files
from automation.agent.automation.old_data import (
    old_directories,
    place_to_set_aside,
    remove_old,
    set_aside,
)
from automation.agent.automation.part import WRITTEN_PLACES, ManagedProcess, setting
from automation.agent.automation.places import ProcessPlaces
from automation.agent.automation.read_files import read_files
from automation.agent.automation.servers import (
    COMMAND_SECONDS,
    NO_COLLECTION,
    NOT_ANSWERED,
    ManagedServer,
)
from automation.agent.automation.turns import MOVE_SECONDS
from automation.agent.automation.unpack import PROGRAM
from automation.agent.automation.users import UserCommand, user_commands, users_question
from automation.agent.automation.work import MoveWork
from automation.plan.concerns import set_concern
from automation.plan.guards import needed_copies
from automation.plan.setting_values import PARAMETERS, setting_value
from automation.plan.values import KeyFile, MemberConfig, Move, MoveKind
from automation.plan.versions import SERIES, series

LAUNCHED: list[subprocess.Popen[bytes]] = []
"""The servers that this process has started, so that they are reaped when they end."""
_SLOW_COMMAND_SECONDS = 60.0
_FROZEN_SECONDS, _CATCH_UP_SECONDS = 120, 10
"""How long a primary that steps down is not elected again, and how long it waits for a successor before.

Its restart follows under the same turn, within a minute of the election."""
_NOT_COMMITTED_YET = frozenset({109, 308})
"""Error codes: ConfigurationInProgress, CurrentConfigNotCommittedYet."""
_NO_SUCCESSOR_YET = frozenset({24, 50, 11602})
"""Error codes: LockTimeout, ExceededTimeLimit, InterruptedDueToReplStateChange."""
_DELAYS = ("secondaryDelaySecs", "slaveDelay")
_DELAY_NAMED_SINCE = SERIES.index("5.0")
_PRIMARY, _SECONDARY, _SYNCING = 1, 2, 5
"""States of members."""
_COMPACT_SECONDS = 24 * 3600.0
"""How long the compaction of a collection can take."""
_COMPACT_FROZEN_SECONDS = int(_COMPACT_SECONDS) + 60
"""How long a secondary that compacts a collection is not elected: longer. It ends with the move."""
_MOST_COLLECTIONS = 1_000_000
_NOT_COMPACTED = frozenset({"local", "config"})
"""Databases of the server itself."""
_LOGS = ("systemLog.path", "auditLog.path")
_CONFIRMED_SINCE = SERIES.index("7.0") if "7.0" in SERIES else len(SERIES)
_OF_DIRECTORY = frozenset(
    {
        "storage.dbPath",
        "setParameter.diagnosticDataCollectionDirectoryPath",
        "net.unixDomainSocket.pathPrefix",
    }
)


class Mover:
    """The moves of a process."""

    def __init__(
        self,
        managed: ManagedProcess,
        server: ManagedServer,
        places: ProcessPlaces,
        builds: DocumentBuilds,
        *,
        see: Callable[[], SeenProcess],
        work: MoveWork,
        now: datetime,
        allowed: Sequence[Path],
    ) -> None:
        """`see` observes the process. `work` raises TurnLost, which ends the move.

        `allowed`: the directories below which the agent may write.
        """
        self._allowed = allowed
        self._managed, self._server, self._places, self._builds = managed, server, places, builds
        self._see, self._work, self._now = partial(work.run, see), work, now
        self._makers: Mapping[MoveKind, Callable[[Move], None]] = {
            MoveKind.DOWNLOAD: lambda move: self._download(move.version),
            MoveKind.WRITE_FILE: lambda _: self._write_file(),
            MoveKind.WRITE_KEY_FILE: lambda _: self._write_key_file(),
            MoveKind.START: lambda move: self._start(move.version),
            MoveKind.STOP: lambda _: self._stop(),
            MoveKind.RESTART: lambda _: self._restart(self._running_version()),
            MoveKind.CHANGE_VERSION: lambda move: self._restart(move.version),
            MoveKind.RESYNC: lambda _: self._resync(self._running_version()),
            MoveKind.REMOVE_OLD_DATA: lambda _: self._remove_old_data(),
            MoveKind.COMPACT: lambda _: self._compact(),
            MoveKind.SET_PARAMETER: self._set_parameters,
            MoveKind.SET_FEATURE_VERSION: lambda move: self._set_feature_version(move.version),
            MoveKind.SET_DEFAULT_CONCERN: self._set_default_concern,
            MoveKind.SET_USERS: self._set_users,
            MoveKind.INITIATE: self._initiate,
            MoveKind.STEP_DOWN: lambda _: self._step_down(),
            MoveKind.ADD_MEMBER: self._change_members,
            MoveKind.CHANGE_MEMBER: self._change_members,
            MoveKind.REMOVE_MEMBER: self._change_members,
        }

    def can(self, kind: MoveKind) -> bool:
        """Whether this version of the agent makes moves of this kind."""
        return kind in self._makers

    def carry_out(self, move: Move) -> None:
        """Make the move. Raises: MoveFailed and MoveDelayed with the reason; TurnLost."""
        try:
            self._makers[move.kind](move)
        except OperationFailure as error:
            text = str(error).partition(", full error: ")[0]
            raise MoveFailed(f"the server refuses it: {self._without_secrets(text)}") from None
        except NOT_ANSWERED as error:
            where = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
            what = error.strerror if isinstance(error, OSError) and error.strerror else type(error).__name__
            raise MoveFailed(f"{what}{where}") from None

    def _without_secrets(self, text: str) -> str:
        return processes.without_secrets(text, {**self._managed.settings, "auth": self._managed.auth})

    def _ask(
        self, command: Mapping[str, Any], seconds: float = COMMAND_SECONDS, database: str = "admin"
    ) -> Mapping[str, Any]:
        return self._work.run(partial(self._server.ask, command, seconds=seconds, database=database))

    def _download(self, version: str) -> None:
        self._work.begin("download")
        self._work.run(partial(self._program, version))

    def _program(self, version: str) -> Path:
        """The program of the build of the document. Raises: MoveFailed, MoveDelayed: it is not there."""
        try:
            return self._builds.ensure(version) / PROGRAM
        except BuildError as error:
            failure = MoveDelayed if error.fault.is_passing else MoveFailed
            raise failure(str(error)) from None

    def _write_file(self) -> None:
        self._work.run(partial(self._places.write_config, self._managed.settings))

    def _write_key_file(self) -> None:
        place = self._managed.key_place
        if place is None:
            raise MoveFailed("the document states no key file")
        self._work.run(partial(write_key_file, place, self._managed.key))
        if self._work.run(partial(seen_key_file, place, self._managed.key)) is not KeyFile.SAME:
            # Otherwise the plan would write it forever.
            raise MoveFailed(f"others can read {place}, the key file: its file system ignores modes")

    # --- start and stop ---------------------------------------------------------------------------

    def _restart(self, version: str) -> None:
        program = self._work.run(partial(self._check, version))
        self._stop()
        self._launch(program, version)

    def _running_version(self) -> str:
        version = self._see().process.version
        if version is None:
            raise MoveFailed("the version of the server is not known")
        return version

    def _check(self, version: str) -> Path:
        """Check program and configuration before anything is stopped.

        Raises: MoveFailed, MoveDelayed. OSError.
        """
        if self._builds.find(version) is None:  # Nothing is downloaded while a turn is held.
            raise MoveFailed(f"version {version} is not on the machine")
        program = self._program(version)  # It may be another build by now.
        fault = processes.config_fault(program, self._places.config)
        if fault:
            raise MoveFailed(f"the server refuses its configuration: {self._without_secrets(fault)}")
        return program

    def _stop(self) -> None:
        self._work.begin("stop")
        seen = self._see()
        if seen.process.is_running is False:
            return
        pid = seen.pid
        if pid is None:
            raise MoveFailed(
                f"the agent does not find the process of the server: {self._managed.data / 'mongod.lock'} "
                "does not name it"
            )
        self._work.run(partial(processes.end, pid))
        self._work.wait(
            lambda: not processes.is_server(pid), f"the server did not end within {MOVE_SECONDS} s"
        )

    def _start(self, version: str) -> None:
        self._launch(self._work.run(partial(self._check, version)), version)

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
        record = replace(before, version=version, restart=restart, parameters=frozenset())
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
            lines = [processes.tail(path, mark, self._managed.settings) for path, mark in marks.items()]
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
        return status is not None and status.get("myState") == _SYNCING and "initialSyncStatus" in status

    def _check_settings(self) -> None:
        """Otherwise the plan would restart it forever. Raises: MoveFailed."""
        seen = self._see().process
        if seen.settings is None or seen.file is None or seen.settings == seen.file:
            return
        names = sorted(
            name for name in {*seen.settings, *seen.file} if seen.settings.get(name) != seen.file.get(name)
        )
        raise MoveFailed(f"the server runs with other values than its configuration has: {', '.join(names)}")

    def _log(self) -> Path:
        path = setting(self._managed.settings, "systemLog.path")
        return Path(path) if isinstance(path, str) else self._places.output

    # --- the data ---------------------------------------------------------------------------------

    def _resync(self, version: str) -> None:
        """Start the server with an empty directory, so that it copies all data from another member."""
        program = self._work.run(partial(self._check, version))
        self._work.begin("check the copies")
        place, aside = self._work.run(self._place_to_set_aside)
        self._wait_for_copies()
        self._stop()
        self._work.begin("set the data aside")
        try:
            self._work.run(partial(set_aside, place, aside))
        except OSError as error:
            self._launch(program, version)
            raise MoveFailed(f"{place} cannot be renamed, and the server has its data: {error}") from None
        self._launch(program, version)

    def _place_to_set_aside(self) -> tuple[Path, Path]:
        own = {"the configuration file": self._places.config, "the output": self._places.output}
        data, others = self._managed.data, {**own, **read_files(self._managed)}
        return place_to_set_aside(data, self._allowed, others, self._written(), self._now)

    def _written(self, names: Iterable[str] = WRITTEN_PLACES) -> list[Path]:
        """The files and directories of these settings, which the server writes."""
        places = (setting(self._managed.settings, name) for name in names)
        return [Path(place) for place in places if isinstance(place, str)]

    def _wait_for_copies(self) -> None:
        """Wait until enough other members have all writes that this member has now.

        The guards of the plan allow a lag of seconds. Raises: MoveFailed.
        """
        members = self._ask({"replSetGetConfig": 1})["config"]["members"]
        copying = {
            member["_id"]
            for member in members
            if member["votes"] and not member["arbiterOnly"] and not any(member.get(d) for d in _DELAYS)
        }
        status = self._ask({"replSetGetStatus": 1})
        newest = next(_newest_write(member) for member in status["members"] if member.get("self"))
        needed = needed_copies(len(copying))
        self._work.wait(
            lambda: self._has_copies(copying, newest, needed),
            f"{needed} other voting members did not have all data within {MOVE_SECONDS} s",
        )

    def _has_copies(self, copying: AbstractSet[int], newest: Any, needed: int) -> bool:
        status, _ = self._server.answer({"replSetGetStatus": 1})
        if status is None or status.get("myState") == _PRIMARY:
            return False
        states = {_PRIMARY, _SECONDARY}
        others = [
            member for member in status["members"] if not member.get("self") and member["state"] in states
        ]
        copies = [member for member in others if member["_id"] in copying and _newest_write(member) >= newest]
        return len(copies) >= needed and any(member["state"] == _PRIMARY for member in copies)

    def _remove_old_data(self) -> None:
        self._work.begin("remove the old data")
        data, written, logs = self._managed.data, self._written(), self._written(_LOGS)
        for directory in self._work.run(partial(old_directories, data)):
            self._work.run(partial(remove_old, directory, data, self._allowed, written, logs))

    def _compact(self) -> None:
        """Compact each collection. A secondary does not become the primary meanwhile."""
        self._work.begin("compact")
        names = [(database, name) for database in self._databases() for name in self._collections(database)]
        try:
            for database, name in names:
                if self._managed.goal.replica_set:
                    self._ask({"replSetFreeze": _COMPACT_FROZEN_SECONDS})
                self._compact_collection(database, name)
        finally:
            if self._managed.goal.replica_set:
                # Also after the turn is lost: the member could not become the primary for a day.
                self._server.answer({"replSetFreeze": 0})
        if self._managed.goal.compact is not None:
            self._work.run(partial(self._places.note_compacted, self._managed.goal.compact))

    def _databases(self) -> Sequence[str]:
        answer = self._ask({"listDatabases": 1, "nameOnly": True}, _SLOW_COMMAND_SECONDS)
        return sorted({database["name"] for database in answer["databases"]} - _NOT_COMPACTED)

    def _collections(self, database: str) -> Sequence[str]:
        """The collections of a database that servers compact: no views, time series or system collections."""
        listed = {"listCollections": 1, "nameOnly": True, "filter": {"type": "collection"}}
        cursor = self._ask(
            {**listed, "cursor": {"batchSize": _MOST_COLLECTIONS}}, _SLOW_COMMAND_SECONDS, database
        )["cursor"]
        if cursor["id"]:
            raise MoveFailed(f"the database {database} has too many collections to list them at once")
        names = [row["name"] for row in cursor["firstBatch"]]
        return sorted(name for name in names if not name.startswith("system."))

    def _compact_collection(self, database: str, name: str) -> None:
        try:
            self._ask({"compact": name}, _COMPACT_SECONDS, database)
        except OperationFailure as error:
            if error.code != NO_COLLECTION:
                raise

    # --- at run time ------------------------------------------------------------------------------

    def _set_parameters(self, move: Move) -> None:
        names = frozenset(name[len(PARAMETERS) :] for name in move.settings)
        self._work.run(partial(self._places.add_parameters, names))
        wanted = self._managed.settings.get("setParameter") or {}
        for name in sorted(names):
            now = self._ask({"getParameter": 1, name: 1}).get(name)
            self._ask({"setParameter": 1, name: _as(now, wanted[name])})
            full = PARAMETERS + name
            after = self._ask({"getParameter": 1, name: 1}).get(name)
            if setting_value(full, after) != setting_value(full, wanted[name]):
                raise MoveFailed(
                    f"the server has another value of {name} after it took the value of the document"
                )

    def _set_feature_version(self, version: str) -> None:
        place = series(self._see().process.version)
        confirm = {"confirm": True} if place is not None and place >= _CONFIRMED_SINCE else {}
        command = {"setFeatureCompatibilityVersion": version, **confirm}
        # The command takes as long as all members need, and the turn is renewed meanwhile.
        self._ask(command, float(MOVE_SECONDS))

    def _set_default_concern(self, move: Move) -> None:
        wanted = {name: json.loads(self._managed.unit.concern[name]) for name in move.settings}
        command = {"setDefaultRWConcern": 1, **wanted, "writeConcern": {"w": "majority"}}
        # A majority can be slow, and the turn is renewed meanwhile.
        answer = self._ask(command, float(MOVE_SECONDS))
        after = set_concern(answer)
        # Otherwise the plan would set it forever.
        if any(after.get(name) != self._managed.unit.concern[name] for name in wanted):
            raise MoveFailed("the server has another default concern after it took that of the document")

    def _set_users(self, move: Move) -> None:
        """Create, change and delete users; all commands carry secrets."""
        left = set(move.settings)
        while True:
            commands = self._user_commands()
            # In their order: no user is deleted before the others are as they should be.
            name = next((name for name in commands if name in left), None)
            if name is None:
                break
            if self._see().pid is None:
                raise MoveFailed("another server than the process of this machine answers at its address")
            left.remove(name)
            self._work.begin(f"user {name}"[:200])
            command = {**commands[name].command, "writeConcern": {"w": "majority"}}
            ask = partial(self._server.ask_proven, command, database=commands[name].database)
            # A majority can be slow, and the turn is renewed meanwhile.
            self._work.run(partial(ask, seconds=float(MOVE_SECONDS)))
        # Otherwise the plan would set them forever.
        unlike = sorted(commands.keys() & set(move.settings))
        if unlike:
            raise MoveFailed(f"the server has other values of users than it took: {', '.join(unlike)}")

    def _user_commands(self) -> Mapping[str, UserCommand]:
        answer = self._ask(users_question(self._managed.auth))
        return user_commands(self._managed.auth, answer["users"])

    # --- the replica set --------------------------------------------------------------------------

    def _initiate(self, move: Move) -> None:
        delay = self._delay_name()
        members = [self._member(member, delay) for member in move.members]
        config = {"_id": move.replica_set, "members": members}
        self._ask({"replSetInitiate": config}, _SLOW_COMMAND_SECONDS)
        self._work.wait(self._has_primary, f"the replica set has no primary within {MOVE_SECONDS} s")

    def _has_primary(self) -> bool:
        hello = self._server.hello() or {}
        return bool(hello.get("isWritablePrimary") or hello.get("ismaster") or hello.get("primary"))

    def _step_down(self) -> None:
        self._work.begin("step down")
        command = {"replSetStepDown": _FROZEN_SECONDS, "secondaryCatchUpPeriodSecs": _CATCH_UP_SECONDS}
        self._work.repeat(
            lambda: self._is_accepted(command, _NO_SUCCESSOR_YET),
            f"the primary could not step down within {MOVE_SECONDS} s",
        )
        self._work.wait(self._has_successor, f"no other member became the primary within {MOVE_SECONDS} s")

    def _has_successor(self) -> bool:
        hello = self._server.hello() or {}
        return hello.get("secondary") is True and bool(hello.get("primary"))

    def _change_members(self, move: Move) -> None:
        """Change one member in the configuration of the replica set."""
        self._work.begin("change the members")
        delay = self._delay_name()
        self._work.repeat(
            lambda: self._is_changed(move, delay),
            f"the replica set did not accept the change of its members within {MOVE_SECONDS} s",
        )

    def _is_changed(self, move: Move, delay: str) -> bool:
        """Whether the primary accepted the change; False if the change before it is not committed yet."""
        config = dict(self._ask({"replSetGetConfig": 1})["config"])
        config["members"] = list(self._changed(config["members"], move, delay))
        config["version"] += 1
        return self._is_accepted({"replSetReconfig": config}, _NOT_COMMITTED_YET)

    def _is_accepted(self, command: Mapping[str, Any], passing: frozenset[int]) -> bool:
        """Send a command. Return False if the server refuses it with one of the codes, which pass."""
        try:
            self._ask(command, _SLOW_COMMAND_SECONDS)
        except OperationFailure as error:
            if error.code in passing:
                return False
            raise
        return True

    def _changed(
        self, members: Sequence[Mapping[str, Any]], move: Move, delay: str
    ) -> Iterator[Mapping[str, Any]]:
        """The members after the change. Raises: MoveFailed: the member has become another."""
        (change,) = move.members
        for member in members:
            if member["_id"] != change.number:
                yield member
                continue
            if self._managed.process_at(str(member["host"])) != change.process:
                raise MoveFailed(f"the member with the number {change.number} is now {member['host']}")
            if move.kind is MoveKind.CHANGE_MEMBER:
                rest = {field: value for field, value in member.items() if field not in _DELAYS}
                yield {**rest, **self._member(change, delay), "host": member["host"]}
        if move.kind is MoveKind.ADD_MEMBER:
            yield self._member(change, delay)

    def _delay_name(self) -> str:
        """The name of the delay of a member: the feature compatibility version decides."""
        place = series(self._see().process.feature_version)
        return _DELAYS[0] if place is not None and place >= _DELAY_NAMED_SINCE else _DELAYS[1]

    def _member(self, member: MemberConfig, delay: str) -> Mapping[str, Any]:
        return {
            "_id": member.number,
            "host": str(self._managed.addresses[member.process]),
            "priority": member.priority,
            "votes": member.votes,
            "hidden": member.is_hidden,
            "arbiterOnly": member.is_arbiter,
            **({delay: member.delay} if member.delay else {}),
        }


def _newest_write(member: Mapping[str, Any]) -> Any:
    """The time of the newest write that a member of a status has."""
    return member["optime"]["ts"]


def _as(now: object, wanted: Any) -> Any:
    """The wanted value in the type of the present one: documents often have texts."""
    if not isinstance(wanted, str) or isinstance(now, str):
        return wanted
    try:
        return json.loads(wanted)
    except ValueError:
        return wanted
