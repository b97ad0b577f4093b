"""The exchange of agents of a replica set about its members, through the platform.

An agent knows the settings of its own processes only. So each agent says what it observes of its processes,
and which move each of them needs next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from automation.agent.automation.observe import SeenProcess
from automation.agent.client import Client, NoChallenge, Unreachable
from automation.agent.faults import Problems
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

_NOT_INITIATED = frozenset({MemberState.UNINITIATED, MemberState.STANDALONE})


class Exchange:
    """Reports own processes to the other agents, and knows what they reported last. Not thread-safe."""

    def __init__(self, client: Client, hostname: str, problems: Problems) -> None:
        self._client, self._hostname, self._problems = client, hostname, problems
        self._reported: dict[str, Mapping[str, SeenProcess]] = {}

    def reported(self, unit: GoalUnit) -> Mapping[str, SeenProcess]:
        """The processes of other machines as they were reported last, by name."""
        return self._reported.get(unit.replica_set, {})

    def renew(
        self, unit: GoalUnit, version: int, own: Mapping[str, SeenProcess], needs: Mapping[str, OwnNeed]
    ) -> Mapping[str, SeenProcess]:
        """Report own processes as observed under a version, and return what others report.

        Without an answer nothing is known of other machines: what they reported before can be over.
        """
        elsewhere = {process.name for process in unit.processes if process.is_elsewhere}
        request = {
            "hostname": self._hostname,
            "goalVersion": version,
            "replicaSetName": unit.replica_set,
            "processes": [document(name, seen, needs.get(name)) for name, seen in own.items()],
        }
        reported: Mapping[str, SeenProcess] = {}
        fault = ""
        try:
            answer = self._client.exchange_observations(request)
        except (Unreachable, NoChallenge) as error:
            fault = str(error)
        else:
            fault = "" if answer.status == 200 else answer.detail
            rows = items(answer.document, "processes") if not fault else ()
            reported = {name: read(row) for _, row in rows if (name := text(row, "name")) in elsewhere}
        why = fault and f"other members of {unit.replica_set} are not known: {fault}"
        self._problems.report(f"automation: exchange {unit.replica_set}", why, f"automation: {why}")
        self._reported[unit.replica_set] = reported
        return reported


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
        "nextMove": move,
        "nextVersion": (need.version if need is not None else "") or None,
        "members": [_member(member) for member in of_set.config or ()] or None,
    }
    if of_set.oplog is not None:
        facts["oplogSeconds"] = int(of_set.oplog.total_seconds())
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
    process = ObservedProcess(
        is_running=_flag(row, "running"),
        state=state,
        version=text(row, "version"),
        feature_version=text(row, "featureCompatibilityVersion"),
        has_data=_flag(row, "hasData"),
        need=_need(row),
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
    if not config and state not in _NOT_INITIATED:
        config = None
    of_set = replace(NO_SET_OBSERVED, config=None if config is None else tuple(config))
    seconds = row.get("oplogSeconds")
    if isinstance(seconds, int):
        lost = row.get("oplogFull") is not False
        of_set = replace(of_set, oplog=timedelta(seconds=seconds), oplog_lost=lost)
    return SeenProcess(process, of_set=of_set)


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
