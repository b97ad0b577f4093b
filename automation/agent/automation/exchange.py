"""The exchange of agents of a replica set about its members, through the platform.

An agent knows the settings of its own processes only. So each agent reports the state of its processes and
the next move of each process.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Callable

from automation.agent.automation.members import WITHOUT_CONFIG
from automation.agent.automation.problems import AutomationProblems
from automation.agent.automation.seen_fleet import SeenProcess
from automation.agent.client import Client, NoChallenge, Unreachable
from automation.plan.arbiters import SEVERAL_ARBITERS, takes_arbiters
from automation.plan.auth import KeyUse
from automation.plan.guards import observed_key_use
from automation.plan.setting_values import setting_value
from automation.plan.values import (
    NO_MOVE,
    NO_SET_OBSERVED,
    WAITS,
    GoalUnit,
    MemberConfig,
    MemberState,
    MoveKind,
    ObservedProcess,
    OwnNeed,
)
from automation.sections import Section, items, text

NEWS, CALM = 60.0, 30.0
"""Seconds in which a report counts, and until the next exchange of a replica set in which nothing happens."""
_OPLOG_STEP = 600


class Exchange:
    """Reports own processes to the other agents, and knows what they reported last. Not thread-safe."""

    def __init__(
        self,
        client: Client,
        hostname: str,
        problems: AutomationProblems,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client, self._hostname, self._problems = client, hostname, problems
        self._monotonic = monotonic
        self._answers: dict[str, _Answer] = {}

    def reported(self, unit: GoalUnit, version: int) -> Mapping[str, SeenProcess]:
        """The processes of other machines as they were reported last under a version, by name."""
        answer = self._answers.get(unit.replica_set)
        is_new = answer is not None and self._monotonic() - answer.at < NEWS
        return answer.processes if answer is not None and is_new and answer.version == version else {}

    def renew(
        self, unit: GoalUnit, version: int, own: Mapping[str, SeenProcess], needs: Mapping[str, OwnNeed]
    ) -> Mapping[str, SeenProcess]:
        """Report own processes as observed under a version, and return what others report.

        While no process needs anything, this asks the platform every half minute only. Without an answer
        nothing is known of other machines: an earlier report can be wrong by now.
        """
        request = {
            "hostname": self._hostname,
            "goalVersion": version,
            "replicaSetName": unit.replica_set,
            "processes": [document(name, seen, needs.get(name)) for name, seen in own.items()],
        }
        last = self._answers.get(unit.replica_set)
        is_same = last is not None and last.request == request and self._monotonic() - last.at < CALM
        if last is not None and is_same and last.is_calm(unit, needs):
            return last.processes
        reported = self._ask(unit, request)
        self._answers[unit.replica_set] = _Answer(request, version, reported, self._monotonic())
        return reported

    def _ask(self, unit: GoalUnit, request: Mapping[str, Any]) -> Mapping[str, SeenProcess]:
        elsewhere = {process.name for process in unit.processes if process.is_elsewhere}
        reported: Mapping[str, SeenProcess] = {}
        try:
            answer = self._client.exchange_observations(request)
        except (Unreachable, NoChallenge) as error:
            fault = str(error)
        else:
            fault = "" if answer.status == 200 else answer.detail
            rows = items(answer.document, "processes") if not fault else ()
            reported = {name: read(row) for _, row in rows if (name := text(row, "name")) in elsewhere}
        why = fault and f"other members of {unit.replica_set} are not known: {fault}"
        self._problems.report(f"exchange {unit.replica_set}", why)
        return reported


@dataclass(frozen=True)
class _Answer:
    """The reports of other agents at a time, by the clock of this process."""

    request: Mapping[str, Any]
    version: int
    processes: Mapping[str, SeenProcess]
    at: float

    def is_calm(self, unit: GoalUnit, needs: Mapping[str, OwnNeed]) -> bool:
        """Whether no process of the unit needs anything, as all agents say."""
        names = {process.name for process in unit.processes if process.is_elsewhere}
        said = [*needs.values(), *(seen.process.need for seen in self.processes.values())]
        return names == self.processes.keys() and all(need == OwnNeed() for need in said)


def document(name: str, seen: SeenProcess, need: OwnNeed | None) -> Mapping[str, Any]:
    """An own process in the report to other agents. A fact that is not known is left out."""
    process, of_set = seen.process, seen.of_set
    move = None
    if need is not None:
        move = WAITS if need.waits else need.move.value if need.move is not None else NO_MOVE
    facts: dict[str, Any] = {
        "running": process.is_running,
        "state": process.state.value if process.state is not None else None,
        "version": process.version,
        "featureCompatibilityVersion": process.feature_version,
        "hasData": process.has_data,
        "awaySeconds": None if process.away is None else int(process.away.total_seconds()),
        "severalArbiters": None if process.settings is None else takes_arbiters(process.settings),
        "keyFile": None if (use := observed_key_use(process)) is None else use.value,
        "nextMove": move,
        "nextVersion": (need.version if need is not None else "") or None,
        "memberName": seen.own_name or None,
    }
    # A process that is down learns from it that it is a member. The primary is enough, if there is a primary.
    states = [seen_state.state for seen_state in seen.states.values()]
    if process.state is MemberState.PRIMARY or MemberState.PRIMARY not in states:
        facts["members"] = [_member(member) for member in of_set.config or ()] or None
    if of_set.oplog is not None:
        seconds = int(of_set.oplog.total_seconds())
        facts["oplogSeconds"] = seconds - seconds % _OPLOG_STEP  # The same while nothing happens.
        facts["oplogFull"] = of_set.oplog_lost
    return {"name": name, **{field: value for field, value in facts.items() if value is not None}}


def _member(member: MemberConfig) -> Mapping[str, Any]:
    return {
        "id": member.number,
        "host": member.process,
        "priority": member.priority,
        "votes": member.votes,
        "hidden": member.is_hidden,
        "secondaryDelaySecs": member.delay,
        "arbiterOnly": member.is_arbiter,
    }


def read(row: Section) -> SeenProcess:
    """A process of another machine, as its agent reports."""
    states = {state.value: state for state in MemberState}
    state = states.get(text(row, "state") or "")
    uses = {use.value: use for use in KeyUse}
    takes = _flag(row, "severalArbiters")
    process = ObservedProcess(
        is_running=_flag(row, "running"),
        state=state,
        version=text(row, "version"),
        feature_version=text(row, "featureCompatibilityVersion"),
        has_data=_flag(row, "hasData"),
        away=timedelta(seconds=away) if isinstance(away := row.get("awaySeconds"), int) else None,
        settings={SEVERAL_ARBITERS: setting_value(SEVERAL_ARBITERS, True)} if takes else None,
        need=_need(row),
        key_use=uses.get(text(row, "keyFile") or ""),
    )
    config: Sequence[MemberConfig] | None = [
        MemberConfig(
            process=text(member, "host") or "",
            number=int(member["id"]),
            priority=float(member["priority"]),
            votes=int(member["votes"]),
            is_hidden=member["hidden"] is True,
            delay=int(member["secondaryDelaySecs"]),
            is_arbiter=member["arbiterOnly"] is True,
        )
        for _, member in items(row, "members")
    ]
    if not config and state not in WITHOUT_CONFIG:
        config = None
    of_set = replace(NO_SET_OBSERVED, config=None if config is None else tuple(config))
    seconds = row.get("oplogSeconds")
    if isinstance(seconds, int):
        lost = row.get("oplogFull") is not False
        of_set = replace(of_set, oplog=timedelta(seconds=seconds), oplog_lost=lost)
    return SeenProcess(process, of_set=of_set, own_name=text(row, "memberName") or "")


def _flag(row: Section, name: str) -> bool | None:
    value = row.get(name)
    return value if isinstance(value, bool) else None


def _need(row: Section) -> OwnNeed | None:
    said = text(row, "nextMove")
    kinds = {kind.value: kind for kind in MoveKind}
    if said == WAITS:
        return OwnNeed(waits=True)
    if said == NO_MOVE:
        return OwnNeed()
    # An agent of a newer version can say a move that this version does not know.
    return OwnNeed(kinds[said], text(row, "nextVersion") or "") if said in kinds else None
