"""The guards before a disturbance: functions of the observed state that say why a move waits. Pure.

A guard that depends on an unknown fact does not hold. A replica set of one voting member has no majority
without it, whatever the plan does, so that only this member is guarded by neither majority nor primary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil

from automation.plan.auth import KeyUse, key_use
from automation.plan.reasons import PlanReason
from automation.plan.values import (
    NO_SET_OBSERVED,
    NOTHING_OBSERVED,
    GoalProcess,
    GoalUnit,
    KeyFile,
    MemberConfig,
    MemberState,
    Move,
    MoveKind,
    ObservedFleet,
    ObservedProcess,
    ObservedSet,
    PlanHold,
)

LEAST_OPLOG = timedelta(hours=1)
HEALTHY = frozenset({MemberState.PRIMARY, MemberState.SECONDARY, MemberState.ARBITER})
WITH_ALL_DATA = frozenset({MemberState.PRIMARY, MemberState.SECONDARY})


@dataclass(frozen=True)
class UnitState:
    """A unit of the goal, together with its observed state.

    `config`: the members of the replica set as observed; empty for a unit without a replica set. `primaries`:
    the members that are known to be primaries.
    """

    now: datetime
    unit: GoalUnit
    config: tuple[MemberConfig, ...]
    observed: Mapping[str, ObservedProcess]
    of_set: ObservedSet
    goals: Mapping[str, GoalProcess]
    members: Mapping[str, MemberConfig]
    primaries: tuple[str, ...]

    def process(self, name: str) -> ObservedProcess:
        """The observed state of a process."""
        return self.observed.get(name, NOTHING_OBSERVED)

    def state(self, name: str) -> MemberState | None:
        """The state of a process that runs; None if it does not run, or if this is not known."""
        seen = self.process(name)
        return seen.state if seen.is_running else None

    def is_known(self, name: str) -> bool:
        """Whether it is known if the process is healthy."""
        seen = self.process(name)
        return seen.is_running is False or (seen.is_running is True and seen.state is not None)

    def is_healthy(self, name: str) -> bool:
        """Whether the process is known to be healthy."""
        return self.state(name) in HEALTHY

    def member(self, name: str) -> MemberConfig | None:
        """The member of that process in the configuration."""
        return self.members.get(name)

    def key_use(self, name: str) -> KeyUse | None:
        """How a process takes part that runs; None if this is not known."""
        seen, goal = self.process(name), self.goals.get(name)
        return seen.key_use if goal is not None and goal.is_elsewhere else observed_key_use(seen)

    @property
    def is_single(self) -> bool:
        """Whether the replica set has only one voting member."""
        return sum(member.votes > 0 for member in self.config) == 1

    def is_wanted(self, name: str) -> bool:
        """Whether the document wants the process to run, and the plan manages it: the plan starts it."""
        goal = self.goals.get(name)
        return goal is not None and not goal.is_disabled and not goal.is_manual

    @property
    def only_primary(self) -> str:
        """The primary; empty if there is none, or if there are several."""
        return self.primaries[0] if len(self.primaries) == 1 else ""

    @property
    def maker(self) -> str:
        """The process whose agent makes the moves of the set, or says why they wait; empty if none."""
        managed = [process.name for process in self.unit.processes if not process.is_manual]
        ranks = {name: (name != self.only_primary, not self.process(name).is_running) for name in managed}
        return min(managed, key=lambda name: ranks[name], default="")

    def move(
        self,
        kind: MoveKind,
        process: str,
        *,
        version: str = "",
        settings: tuple[str, ...] = (),
        members: tuple[MemberConfig, ...] = (),
    ) -> Move:
        """A move of a process of the unit."""
        return Move(kind, process, self.unit.replica_set, version, settings, members)

    def hold(self, reason: PlanReason, process: str, **names: object) -> PlanHold:
        """A reason with its names."""
        texts = tuple((name, str(value)) for name, value in names.items())
        return PlanHold(reason, process, self.unit.replica_set, texts)


def observed_key_use(seen: ObservedProcess) -> KeyUse | None:
    """How a process of this machine takes part; None if it does not run, or if this is not known."""
    if seen.settings is None:
        return None
    return KeyUse.OTHER if seen.key_file is KeyFile.DIFFERENT else key_use(seen.settings)


def unit_state(unit: GoalUnit, observed: ObservedFleet) -> UnitState:
    """Return the unit together with its observed state."""
    of_set = observed.sets.get(unit.replica_set, NO_SET_OBSERVED)
    config = of_set.config or ()
    processes = observed.processes
    return UnitState(
        now=observed.now,
        unit=unit,
        config=config,
        observed=processes,
        of_set=of_set,
        goals={process.name: process for process in unit.processes},
        members={member.process: member for member in config},
        primaries=tuple(
            member.process
            for member in config
            if (seen := processes.get(member.process, NOTHING_OBSERVED)).is_running
            and seen.state is MemberState.PRIMARY
        ),
    )


def disturbance_holds(state: UnitState, subject: str) -> list[PlanHold]:
    """Why the member must not be disturbed now; empty if all guards hold.

    A process that is not a member of an initiated replica set is not guarded.
    """
    if state.member(subject) is None:
        return list(turn(state, subject))
    guards = (turn, primary, majority, others_present, lag, oplog, alerts)
    return [hold for guard in guards for hold in guard(state, subject)]


def loss_holds(state: UnitState, subject: str, *, leaves: bool) -> list[PlanHold]:
    """Why the replica set must not lose the member, or a part of what it does, now; empty if the guards hold.

    A member that is away or lags acknowledges no write in time. The set loses nothing with it, and the alerts
    that are open because of it must not keep it from leaving. `leaves`: the member does not come back, so the
    oplog does not matter.
    """
    if (state.is_known(subject) and not state.is_healthy(subject)) or _is_late(state, subject):
        return []
    guards = (lag, alerts) if leaves else (lag, oplog, alerts)
    return [hold for guard in guards for hold in guard(state, subject)]


def interruption_holds(state: UnitState, move: Move) -> list[PlanHold]:
    """Why the member must not be interrupted by the move now; empty if all guards hold."""
    return [*disturbance_holds(state, move.process), *resync_holds(state, move)]


def resync_holds(state: UnitState, move: Move) -> Iterator[PlanHold]:
    """Why a member must not lose its data now, if the move removes it."""
    if move.kind is MoveKind.RESYNC:
        yield from copies(state, move.process)


def turn(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """No other process holds the turn of the replica set."""
    holder = state.of_set.turn
    if holder and holder != subject:
        yield state.hold(PlanReason.TURN, subject, other=holder)


def primary(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """There is exactly one primary."""
    primaries = state.primaries
    if len(primaries) > 1:
        yield state.hold(PlanReason.SEVERAL_PRIMARIES, subject, others=", ".join(primaries))
    elif not primaries and not state.is_single:
        unknown = [member.process for member in state.config if not state.is_known(member.process)]
        if unknown:
            yield state.hold(PlanReason.MEMBER_UNKNOWN, subject, other=unknown[0])
        else:
            yield state.hold(PlanReason.NO_PRIMARY, subject)


def majority(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """Without the subject, a majority of the voting members is healthy."""
    if not state.is_single:
        yield from majority_of(state, subject, state.config, without=subject)


def majority_of(
    state: UnitState, subject: str, members: Iterable[MemberConfig], *, without: str = ""
) -> Iterator[PlanHold]:
    """A majority of the voting members is healthy, if `without` is not counted as healthy."""
    voters = [member.process for member in members if member.votes > 0]
    needed = len(voters) // 2 + 1
    healthy = [name for name in voters if name != without and state.is_healthy(name)]
    if len(healthy) < needed:
        unknown = [name for name in voters if name != without and not state.is_known(name)]
        if unknown and len(healthy) + len(unknown) >= needed:
            yield state.hold(PlanReason.MEMBER_UNKNOWN, subject, other=unknown[0])
        else:
            count = {"healthy": len(healthy), "voters": len(voters), "majority": needed}
            yield state.hold(PlanReason.MAJORITY, subject, **count)


def others_present(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """No other member starts, synchronizes or recovers, and the wanted members are healthy.

    A wanted member that is away may be away because the plan disturbed it.
    """
    for member in state.config:
        name = member.process
        if name == subject or state.is_healthy(name):
            continue
        now = state.state(name)
        if not state.is_known(name):
            yield state.hold(PlanReason.MEMBER_UNKNOWN, subject, other=name)
        elif now is not None and now is not MemberState.REMOVED:
            yield state.hold(PlanReason.MEMBER_AWAY, subject, other=name, state=now.value)
        elif state.is_wanted(name):
            yield state.hold(PlanReason.MEMBER_AWAY, subject, other=name, state="DOWN")


def lag(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """The secondaries that remain have nearly all writes. A delayed member may lag by its delay."""
    for member in state.config:
        name = member.process
        if name == subject or state.state(name) is not MemberState.SECONDARY:
            continue
        behind = state.process(name).lag
        if behind is None:
            yield state.hold(PlanReason.LAG_UNKNOWN, subject, other=name)
        elif _is_late(state, name):
            seconds = {"lag": ceil(behind.total_seconds()), "most": int(state.unit.most_lag.total_seconds())}
            yield state.hold(PlanReason.LAG, subject, other=name, **seconds)


def _is_late(state: UnitState, name: str) -> bool:
    """Whether a secondary is known to lack more than the newest writes."""
    behind, member = state.process(name).lag, state.member(name)
    if behind is None or member is None or state.state(name) is not MemberState.SECONDARY:
        return False
    return behind - timedelta(seconds=member.delay) > state.unit.most_lag


def oplog(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """The oplog covers an hour, and the time that the last restart of the member took, if this is known.

    An oplog that has not dropped entries covers everything: that of a new replica set is short.
    """
    member = state.member(subject)
    if member is None or member.is_arbiter or sum(not other.is_arbiter for other in state.config) == 1:
        return
    window = state.of_set.oplog
    least = max(LEAST_OPLOG, state.process(subject).away or LEAST_OPLOG)
    if window is None:
        yield state.hold(PlanReason.OPLOG_UNKNOWN, subject)
    elif state.of_set.oplog_lost and window < least:
        seconds = {"window": int(window.total_seconds()), "least": int(least.total_seconds())}
        yield state.hold(PlanReason.OPLOG_SHORT, subject, **seconds)


def alerts(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """No alert of the replica set is open that the plan did not cause."""
    opened = state.of_set.alerts
    if opened is None:
        yield state.hold(PlanReason.ALERTS_UNKNOWN, subject)
    elif opened:
        yield state.hold(PlanReason.ALERT, subject, alerts=", ".join(opened))


def copies(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """Without the subject, a majority of the members with data has all data; of two members, the other one.

    An empty member votes. Without a majority of the others, it could help a member to become the primary that
    does not have all acknowledged writes. A delayed member has them late, and never becomes the primary.
    """
    names = copying(state)
    have = [name for name in names if name != subject and state.state(name) in WITH_ALL_DATA]
    needed = needed_copies(len(names))
    if len(have) < needed:
        yield state.hold(PlanReason.COPIES, subject, copies=len(have), needed=needed)


def needed_copies(members: int) -> int:
    """How many other members need all data if one of so many voting members with data loses its data."""
    return members // 2 + 1 if members > 2 else 1


def copying(state: UnitState) -> list[str]:
    """The voting members that get all data without a delay."""
    return [
        member.process
        for member in state.config
        if member.votes > 0 and not member.is_arbiter and not member.delay
    ]


def electable(state: UnitState, subject: str) -> Iterator[PlanHold]:
    """Another member can become the primary."""
    for member in state.config:
        if (
            member.process != subject
            and member.is_electable
            and state.state(member.process) is MemberState.SECONDARY
        ):
            return
    yield state.hold(PlanReason.NO_ELECTABLE, subject)
