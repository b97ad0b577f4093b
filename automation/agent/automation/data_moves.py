"""The moves of the data of a server: copy all of it from another member, remove the old data, compact it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pymongo.errors import OperationFailure

from automation.agent.automation.failures import MoveDelayed, MoveFailed, TurnLost
from automation.agent.automation.members import delay_of, state_of
from automation.agent.automation.moved_process import SLOW_COMMAND_SECONDS, MovedProcess
from automation.agent.automation.old_data import (
    old_directories,
    place_to_set_aside,
    remove_old,
    set_aside,
)
from automation.agent.automation.part import WRITTEN_PLACES, setting
from automation.agent.automation.process_moves import ProcessMoves
from automation.agent.automation.read_files import read_files
from automation.agent.automation.servers import NO_COLLECTION
from automation.agent.automation.turns import MOVE_SECONDS
from automation.agent.engine import ServerAddress, read_address
from automation.agent.mongodb.topology import DEFAULT_PORT
from automation.plan.guards import WITH_ALL_DATA, needed_copies
from automation.plan.values import MemberState

_LAST_CHECK_SECONDS = 60
"""How long a server stays down until others have its newest writes. Usually they have them at once."""
_COMPACT_SECONDS = 24 * 3600.0
"""How long the compaction of a collection can take."""
_COMPACT_FROZEN_SECONDS = int(_COMPACT_SECONDS) + 60
"""How long a secondary is not elected while it compacts a collection. The end of the move ends this, too."""
_MOST_COLLECTIONS = 1_000_000
_NOT_COMPACTED = frozenset({"local", "config"})
"""Databases of the server itself."""
_LOGS = ("systemLog.path", "auditLog.path")


@dataclass(frozen=True)
class _Copies:
    """What has to be copied before a server loses its data.

    `others`: the numbers of the other voting members that copy all data. `needed`: how many of them must have
    all data. `addresses`: of all other members. `term`: the newest term that the server knows. `newest`: the
    term and the time of its newest write.
    """

    others: frozenset[int]
    needed: int
    addresses: tuple[ServerAddress, ...]
    term: int
    newest: tuple[int, Any]


class DataMoves:
    """The moves of the data. Raises: MoveFailed, MoveDelayed, TurnLost, errors of NOT_ANSWERED."""

    def __init__(
        self, moved: MovedProcess, processes: ProcessMoves, allowed: Sequence[Path], now: datetime
    ) -> None:
        """`allowed`: the directories below which the agent may write."""
        self._moved, self._processes, self._allowed, self._now = moved, processes, allowed, now
        self._managed, self._server, self._places = moved.managed, moved.server, moved.places
        self._work = moved.work

    def resync(self, version: str) -> None:
        """Start the server with an empty directory, so that it copies all data from another member."""
        program = self._work.run(partial(self._processes.check_next, version))
        self._work.begin("check the copies")
        place, aside = self._work.run(self._place_to_set_aside)
        self._wait_for_copies(self._needed_copies(), MOVE_SECONDS)
        copies = self._needed_copies()
        self._processes.stop()
        try:
            # Until its end, the server could acknowledge writes that only the primary has, too.
            self._work.begin("check the copies again")
            self._wait_for_copies(copies, _LAST_CHECK_SECONDS)
            self._work.begin("set the data aside")
            self._work.run(partial(self._set_aside, place, aside))
        except TurnLost:
            raise  # The server starts without a turn, with its data.
        except Exception:
            self._processes.launch_next(program, version)
            raise
        self._processes.launch_next(program, version)

    @staticmethod
    def _set_aside(place: Path, aside: Path) -> None:
        try:
            set_aside(place, aside)
        except OSError as error:
            raise MoveFailed(f"{place} cannot be renamed, and the server has its data: {error}") from None

    def _place_to_set_aside(self) -> tuple[Path, Path]:
        own = {"the configuration file": self._places.config, "the output": self._places.output}
        data, others = self._managed.data, {**own, **read_files(self._managed)}
        return place_to_set_aside(data, self._allowed, others, self._written(), self._now)

    def _written(self, names: Iterable[str] = WRITTEN_PLACES) -> list[Path]:
        """The files and directories of these settings, which the server writes."""
        places = (setting(self._managed.settings, name) for name in names)
        return [Path(place) for place in places if isinstance(place, str)]

    def _needed_copies(self) -> _Copies:
        """What has to be copied now.

        Raises: MoveDelayed: the server is the primary. MoveFailed: the address of a member is not readable.
        """
        members = self._moved.ask({"replSetGetConfig": 1})["config"]["members"]
        status = self._moved.ask({"replSetGetStatus": 1})
        own = _own(status)
        if state_of(own["state"]) is MemberState.PRIMARY:
            raise MoveDelayed("the server has become the primary")
        copying = frozenset(
            member["_id"]
            for member in members
            if member["votes"] and not member["arbiterOnly"] and not delay_of(member)
        )
        hosts = [str(member["host"]) for member in members if member["_id"] != own["_id"]]
        places = {host: read_address(host, DEFAULT_PORT) for host in hosts}
        if unreadable := [host for host, place in places.items() if place is None]:
            raise MoveFailed(f"the agent cannot ask these members: {', '.join(unreadable)}")
        return _Copies(
            others=copying - {own["_id"]},
            needed=needed_copies(len(copying)),
            addresses=tuple(place for place in places.values() if place is not None),
            term=status["term"],
            newest=_newest_write(own),
        )

    def _wait_for_copies(self, copies: _Copies, seconds: int) -> None:
        """Wait until enough other members have all writes that the primary has now.

        The guards of the plan allow a lag of seconds. The primary has all writes that this member has.
        `seconds`: the longest wait. Raises: MoveFailed.
        """
        newest, answered = None, False

        def is_copied() -> bool:
            nonlocal newest, answered
            status = self._primary_status(copies)
            answered = status is not None
            if status is None:
                return False
            newest = newest or max(copies.newest, _newest_write(_own(status)))
            return self._has_copies(copies, newest, status)

        try:
            self._work.wait(is_copied, "", seconds)
        except MoveFailed:
            lagging = f"{copies.needed} other voting members did not have all data of the primary"
            what = lagging if answered else "no other member answered the agent as the primary"
            raise MoveFailed(f"{what} within {seconds} s") from None

    def _has_copies(self, copies: _Copies, newest: Any, status: Mapping[str, Any]) -> bool:
        have = [
            member["_id"]
            for member in status["members"]
            if member["_id"] in copies.others
            and state_of(member["state"]) in WITH_ALL_DATA
            and _newest_write(member) >= newest
        ]
        return len(have) >= copies.needed

    def _primary_status(self, copies: _Copies) -> Mapping[str, Any] | None:
        """The state of the replica set as its primary says; None if no other member answers as the primary.

        A primary of an earlier term than any member knows may be a primary no more.
        """
        answers = (self._moved.member(place).answer({"replSetGetStatus": 1})[0] for place in copies.addresses)
        of_set = [
            status
            for status in answers
            if status is not None and status["set"] == self._managed.goal.replica_set
        ]
        term = max([copies.term, *(status["term"] for status in of_set)])
        primaries = (status for status in of_set if state_of(status["myState"]) is MemberState.PRIMARY)
        return next((status for status in primaries if status["term"] == term), None)

    def remove_old_data(self) -> None:
        """Remove the data that was set aside."""
        self._work.begin("remove the old data")
        data, written, logs = self._managed.data, self._written(), self._written(_LOGS)
        for directory in self._work.run(partial(old_directories, data)):
            self._work.run(partial(remove_old, directory, data, self._allowed, written, logs))

    def compact(self) -> None:
        """Compact each collection. A secondary does not become the primary meanwhile."""
        self._work.begin("compact")
        names = [(database, name) for database in self._databases() for name in self._collections(database)]
        self._moved.check_again()
        try:
            for database, name in names:
                if self._managed.goal.replica_set:
                    self._moved.ask({"replSetFreeze": _COMPACT_FROZEN_SECONDS})
                self._compact_collection(database, name)
        finally:
            if self._managed.goal.replica_set:
                # Also after the turn is lost: the member could not become the primary for a day.
                self._server.answer({"replSetFreeze": 0})
        if self._managed.goal.compact is not None:
            self._work.run(partial(self._places.note_compacted, self._managed.goal.compact))

    def _databases(self) -> Sequence[str]:
        answer = self._moved.ask({"listDatabases": 1, "nameOnly": True}, SLOW_COMMAND_SECONDS)
        return sorted({database["name"] for database in answer["databases"]} - _NOT_COMPACTED)

    def _collections(self, database: str) -> Sequence[str]:
        """The collections of a database that servers compact: no views, time series or system collections."""
        listed = {"listCollections": 1, "nameOnly": True, "filter": {"type": "collection"}}
        cursor = self._moved.ask(
            {**listed, "cursor": {"batchSize": _MOST_COLLECTIONS}}, SLOW_COMMAND_SECONDS, database
        )["cursor"]
        if cursor["id"]:
            raise MoveFailed(f"the database {database} has too many collections to list them at once")
        names = [row["name"] for row in cursor["firstBatch"]]
        return sorted(name for name in names if not name.startswith("system."))

    def _compact_collection(self, database: str, name: str) -> None:
        try:
            self._moved.ask({"compact": name}, _COMPACT_SECONDS, database)
        except OperationFailure as error:
            if error.code != NO_COLLECTION:
                raise


def _own(status: Mapping[str, Any]) -> Mapping[str, Any]:
    """The member that says this status."""
    own: Mapping[str, Any] = next(member for member in status["members"] if member.get("self"))
    return own


def _newest_write(member: Mapping[str, Any]) -> tuple[int, Any]:
    """The term and the time of the newest write that a member of a status has on its disk.

    A write of an earlier term than that of the primary may be rolled back, whatever its time is.
    """
    time = member.get("optimeDurable") or member["optime"]
    return time["t"], time["ts"]
