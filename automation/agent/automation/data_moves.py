"""The moves of the data of a server: copy all of it from another member, remove the old data, compact it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from pymongo.errors import OperationFailure

from automation.agent.automation.failures import MoveFailed
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
from automation.plan.guards import WITH_ALL_DATA, needed_copies
from automation.plan.values import MemberState

_COMPACT_SECONDS = 24 * 3600.0
"""How long the compaction of a collection can take."""
_COMPACT_FROZEN_SECONDS = int(_COMPACT_SECONDS) + 60
"""How long a secondary that compacts a collection is not elected: longer. It ends with the move."""
_MOST_COLLECTIONS = 1_000_000
_NOT_COMPACTED = frozenset({"local", "config"})
"""Databases of the server itself."""
_LOGS = ("systemLog.path", "auditLog.path")


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
        program = self._work.run(partial(self._processes.check, version))
        self._work.begin("check the copies")
        place, aside = self._work.run(self._place_to_set_aside)
        self._wait_for_copies()
        self._processes.stop()
        self._work.begin("set the data aside")
        try:
            self._work.run(partial(set_aside, place, aside))
        except OSError as error:
            self._processes.launch(program, version)
            raise MoveFailed(f"{place} cannot be renamed, and the server has its data: {error}") from None
        self._processes.launch(program, version)

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
        members = self._moved.ask({"replSetGetConfig": 1})["config"]["members"]
        copying = {
            member["_id"]
            for member in members
            if member["votes"] and not member["arbiterOnly"] and not delay_of(member)
        }
        status = self._moved.ask({"replSetGetStatus": 1})
        newest = next(_newest_write(member) for member in status["members"] if member.get("self"))
        needed = needed_copies(len(copying))
        self._work.wait(
            lambda: self._has_copies(copying, newest, needed),
            f"{needed} other voting members did not have all data within {MOVE_SECONDS} s",
        )

    def _has_copies(self, copying: AbstractSet[int], newest: Any, needed: int) -> bool:
        status, _ = self._server.answer({"replSetGetStatus": 1})
        if status is None or state_of(status.get("myState")) is MemberState.PRIMARY:
            return False
        others = [
            member
            for member in status["members"]
            if not member.get("self") and state_of(member["state"]) in WITH_ALL_DATA
        ]
        copies = [member for member in others if member["_id"] in copying and _newest_write(member) >= newest]
        return len(copies) >= needed and any(
            state_of(member["state"]) is MemberState.PRIMARY for member in copies
        )

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


def _newest_write(member: Mapping[str, Any]) -> Any:
    """The time of the newest write that a member of a status has."""
    return member["optime"]["ts"]
