"""The state that the platform knows from reports, and why a turn is not given. Pure.

Nothing is assumed: a fact that no recent report has is not known, and a guard that needs it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from automation.plan.guards import (
    UnitState,
    interruption_holds,
    loss_holds,
    majority_of,
    others_present,
    primary,
    turn,
    unit_state,
)
from automation.plan.reasons import PlanReason
from automation.plan.reported import OLD
from automation.plan.set_moves import member_holds, step_down_holds
from automation.plan.values import (
    AFTER_STEP_DOWN,
    DISTURBING,
    GoalUnit,
    MemberConfig,
    MemberState,
    Move,
    MoveKind,
    ObservedFleet,
    ObservedProcess,
    ObservedSet,
    PlanHold,
)

_UNKNOWN = frozenset(
    {
        PlanReason.MEMBER_UNKNOWN,
        PlanReason.SET_UNKNOWN,
        PlanReason.LAG_UNKNOWN,
        PlanReason.OPLOG_UNKNOWN,
    }
)
"""Reasons that follow from reports that are missing, or too old."""


@dataclass(frozen=True, kw_only=True)
class KnownProcess:
    """The newest reports of the host of a process.

    `observed`: by the clock of its agent; `arrived`: when the last report arrived. `is_member`: whether it is
    a member of the replica set of its unit. `lag`, `oplog` and `oplog_lost`: as of observed processes and
    replica sets, from recent measurements.
    """

    observed: datetime
    arrived: datetime
    is_down: bool
    state: MemberState | None
    is_member: bool
    version: str | None = None
    lag: timedelta | None = None
    oplog: timedelta | None = None
    oplog_lost: bool = True


@dataclass(frozen=True, kw_only=True)
class KnownUnit:
    """The knowledge of a unit: its processes and other members of its replica set, by name.

    `holder`: the process that holds the turn. `alerts`: open alerts that the plan did not cause. `members`:
    the members of an initiated replica set as the set itself says; None if this is not known.
    """

    processes: Mapping[str, KnownProcess]
    holder: str = ""
    alerts: tuple[str, ...] | None = None
    members: frozenset[str] | None = None


def turn_holds(
    unit: GoalUnit, known: KnownUnit, process: str, kind: MoveKind, now: datetime, *, member: str = ""
) -> list[PlanHold]:
    """Why the process does not get the turn for a move now; empty if all guards hold.

    `member`: the member that the move changes or removes; empty if the agent does not say.
    """
    if unit.refused:
        return list(unit.refused)
    state = known_state(unit, known, now)
    holds = _holds(state, process, kind, member)
    if any(hold.reason in _UNKNOWN for hold in holds):
        holds[:0] = _late(state, known, process)
    return holds


def _late(state: UnitState, known: KnownUnit, process: str) -> Iterator[PlanHold]:
    """The processes whose reports arrive, with observations that are old by the clocks of their agents."""
    for name, seen in known.processes.items():
        is_listed = name in state.goals or name in state.members
        if is_listed and state.now - seen.observed >= OLD > state.now - seen.arrived:
            late = int((seen.arrived - seen.observed).total_seconds())
            yield state.hold(PlanReason.OBSERVED_EARLIER, process, other=name, late=late)


def _holds(state: UnitState, process: str, kind: MoveKind, member: str) -> list[PlanHold]:
    unit = state.unit
    is_shut_down = kind is MoveKind.STOP and all(goal.is_disabled for goal in unit.processes)
    if not unit.replica_set:
        return [*turn(state, process), *_others_run(state, process)]
    if kind is MoveKind.INITIATE or is_shut_down:
        return list(turn(state, process))
    if state.of_set.config is None:
        return [*turn(state, process), state.hold(PlanReason.SET_UNKNOWN, process)]
    return _of_member(state, process, kind, member)


def _of_member(state: UnitState, process: str, kind: MoveKind, member: str) -> list[PlanHold]:
    """The guards of a move of a replica set whose members are known."""
    if kind is MoveKind.STEP_DOWN:
        return step_down_holds(state, process)
    if kind in AFTER_STEP_DOWN:
        return [*_not_primary(state, process), *interruption_holds(state, state.move(kind, process))]
    changing = _changing(state, kind, member)
    if not changing:
        return _of_all_members(state, process, kind)
    moves = (state.move(kind, process, members=(now,)) for now in changing)
    return min((_of_change(state, move) for move in moves), key=len)


def _changing(state: UnitState, kind: MoveKind, member: str) -> list[MemberConfig]:
    """The members that the agent may change or remove by the move."""
    if kind is MoveKind.CHANGE_MEMBER:
        return [now for now in state.config if now.process == member]
    if kind is not MoveKind.REMOVE_MEMBER:
        return []
    leaving = [now for now in state.config if not state.unit.keeps_member(now.process)]
    return [now for now in leaving if member in {now.process, ""}]


def _of_change(state: UnitState, move: Move) -> list[PlanHold]:
    """The guards of the change or the removal of a member. How much the set loses by a change is not known.

    A member of which no report says anything may be gone for good: it may leave.
    """
    leaves = move.kind is MoveKind.REMOVE_MEMBER
    return member_holds(state, move, takes=not leaves or state.is_known(move.members[0].process))


def _of_all_members(state: UnitState, process: str, kind: MoveKind) -> list[PlanHold]:
    """The guards of a move that changes the members, or a value that all members have."""
    holds = [*turn(state, process), *primary(state, process)]
    # A majority acknowledges it, whatever others do.
    is_value = kind in {MoveKind.SET_DEFAULT_CONCERN, MoveKind.SET_USERS}
    if not is_value:
        holds += others_present(state, process)
    if is_value or kind in DISTURBING:
        holds += majority_of(state, process, state.config)
    if kind in DISTURBING:
        # Which member loses what is not known here, so no member is left out.
        holds += loss_holds(state, process, leaves=kind is MoveKind.REMOVE_MEMBER)
    return holds


def _not_primary(state: UnitState, process: str) -> Iterator[PlanHold]:
    """A primary steps down before it is interrupted, unless nobody could follow."""
    if process in state.primaries and not state.is_single:
        yield state.hold(PlanReason.MEMBER_PRIMARY, process)


def _others_run(state: UnitState, process: str) -> Iterator[PlanHold]:
    """The other processes of the unit run, such as the other routers of a cluster."""
    for goal in state.unit.processes:
        if goal.name == process or goal.is_disabled or goal.is_manual:
            continue
        if not state.is_known(goal.name):
            yield state.hold(PlanReason.MEMBER_UNKNOWN, process, other=goal.name)
        elif state.state(goal.name) is None:
            yield state.hold(PlanReason.MEMBER_AWAY, process, other=goal.name, state="DOWN")


def known_state(unit: GoalUnit, known: KnownUnit, now: datetime) -> UnitState:
    """Return the unit with the state that is known of it."""
    recent = {name: process for name, process in known.processes.items() if now - process.observed < OLD}
    primaries = [
        process
        for process in recent.values()
        if process.state is MemberState.PRIMARY and not process.is_down and process.oplog is not None
    ]
    of_set = ObservedSet(
        config=_config(unit, known, recent),
        oplog=primaries[0].oplog if primaries else None,
        oplog_lost=primaries[0].oplog_lost if primaries else True,
        turn=known.holder,
        alerts=known.alerts,
    )
    delays = {member.process: timedelta(seconds=member.delay) for member in of_set.config or ()}
    processes = {name: _observed(process, delays.get(name, timedelta())) for name, process in recent.items()}
    # Units without a replica set have turns, too: they have the empty name here.
    return unit_state(unit, ObservedFleet(now, processes, {unit.replica_set: of_set}))


def _observed(process: KnownProcess, delay: timedelta) -> ObservedProcess:
    """The process as observed. A reported lag is without the delay of a member."""
    return ObservedProcess(
        is_running=not process.is_down,
        state=None if process.is_down else process.state,
        version=process.version,
        lag=None if process.lag is None else process.lag + delay,
    )


def _config(
    unit: GoalUnit, known: KnownUnit, recent: Mapping[str, KnownProcess]
) -> tuple[MemberConfig, ...] | None:
    """The members as the replica set says, if the agent knows them.

    Otherwise all that reports name, also hosts that have left the replica set, and processes that could be
    members as no recent report says. None if no report names a member, and it is not known of each process
    that it is none. Votes, priorities and delays are as in the document.
    """
    if not unit.replica_set:
        return ()
    stated = {member.process: member for member in unit.members or ()}
    if known.members:
        ordered = enumerate(sorted(known.members))
        return tuple(_member(stated.get(name), name, at, known) for at, name in ordered)
    names = [goal.name for goal in unit.processes]
    outside = {name for name in names if name in recent and not recent[name].is_member}
    is_initiated = any(process.is_member for process in known.processes.values())
    if not is_initiated:
        return () if outside.issuperset(names) else None
    names = [name for name in names if name not in outside]
    names += [name for name, process in known.processes.items() if process.is_member and name not in names]
    return tuple(_member(stated.get(name), name, at, known) for at, name in enumerate(names))


def _member(stated: MemberConfig | None, name: str, at: int, known: KnownUnit) -> MemberConfig:
    if stated is not None:
        return replace(stated, number=at)
    process = known.processes.get(name)
    is_arbiter = process is not None and process.state is MemberState.ARBITER
    return MemberConfig(name, at, 0.0 if is_arbiter else 1.0, is_arbiter=is_arbiter)
