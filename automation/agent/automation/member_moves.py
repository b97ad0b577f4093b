"""The moves of the members of a replica set: initiate it, change a member, let the primary step down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pymongo.errors import OperationFailure

from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.members import DELAYS
from automation.agent.automation.moved_process import SLOW_COMMAND_SECONDS, MovedProcess
from automation.agent.automation.turns import MOVE_SECONDS
from automation.plan.values import MemberConfig, Move, MoveKind
from automation.plan.versions import SERIES, series

_FROZEN_SECONDS, _CATCH_UP_SECONDS = 120, 10
"""How long a primary that steps down is not elected again, and how long it waits for a successor before.

Its restart follows under the same turn, within a minute of the election."""
_NOT_COMMITTED_YET = frozenset({109, 308})
"""Error codes: ConfigurationInProgress, CurrentConfigNotCommittedYet."""
_NO_SUCCESSOR_YET = frozenset({24, 50, 11602})
"""Error codes: LockTimeout, ExceededTimeLimit, InterruptedDueToReplStateChange."""
_DELAY_NAMED_SINCE = SERIES.index("5.0")


class MemberMoves:
    """The moves of members. Raises: MoveFailed, MoveDelayed, TurnLost, errors of NOT_ANSWERED."""

    def __init__(self, moved: MovedProcess) -> None:
        self._moved, self._work = moved, moved.work
        self._managed, self._server = moved.managed, moved.server

    def initiate(self, move: Move) -> None:
        """Initiate the replica set with its members, and wait for a primary."""
        delay = self._delay_name()
        members = [self._member(member, delay) for member in move.members]
        config = {"_id": move.replica_set, "members": members}
        self._moved.ask({"replSetInitiate": config}, SLOW_COMMAND_SECONDS)
        self._work.wait(self._has_primary, f"the replica set has no primary within {MOVE_SECONDS} s")

    def _has_primary(self) -> bool:
        hello = self._server.hello() or {}
        return bool(hello.get("isWritablePrimary") or hello.get("ismaster") or hello.get("primary"))

    def step_down(self) -> None:
        """Let the primary step down, and wait for its successor."""
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

    def change_members(self, move: Move) -> None:
        """Change one member in the configuration of the replica set."""
        self._work.begin("change the members")
        delay = self._delay_name()
        self._work.repeat(
            lambda: self._is_changed(move, delay),
            f"the replica set did not accept the change of its members within {MOVE_SECONDS} s",
        )

    def _is_changed(self, move: Move, delay: str) -> bool:
        """Whether the primary accepted the change; False if the change before it is not committed yet."""
        config = dict(self._moved.ask({"replSetGetConfig": 1})["config"])
        config["members"] = list(self._changed(config["members"], move, delay))
        config["version"] += 1
        return self._is_accepted({"replSetReconfig": config}, _NOT_COMMITTED_YET)

    def _is_accepted(self, command: Mapping[str, Any], passing: frozenset[int]) -> bool:
        """Send a command. Return False if the server refuses it with one of the codes, which pass."""
        try:
            self._moved.ask(command, SLOW_COMMAND_SECONDS)
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
                rest = {field: value for field, value in member.items() if field not in DELAYS}
                yield {**rest, **self._member(change, delay), "host": member["host"]}
        if move.kind is MoveKind.ADD_MEMBER:
            yield self._member(change, delay)

    def _delay_name(self) -> str:
        """The name of the delay of a member: the feature compatibility version decides."""
        place = series(self._moved.see().process.feature_version)
        return DELAYS[0] if place is not None and place >= _DELAY_NAMED_SINCE else DELAYS[1]

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
