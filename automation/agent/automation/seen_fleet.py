"""Processes as agents see them, and the observed state of a unit that follows from them.

What is not known is None, and the plan waits for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from automation.agent.automation.members import WITHOUT_CONFIG
from automation.plan.values import (
    NO_SET_OBSERVED,
    NOTHING_OBSERVED,
    GoalUnit,
    MemberConfig,
    MemberState,
    ObservedFleet,
    ObservedProcess,
    ObservedSet,
)


@dataclass(frozen=True)
class SeenState:
    """Whether a member runs, and its state, as another member sees it; None if that member does not know.

    `heard`: when that member heard from it last, by the clock of the agent.
    """

    is_running: bool | None
    state: MemberState | None = None
    heard: datetime | None = None

    def is_old(self, since: datetime | None) -> bool:
        """Whether the member runs only as far as was heard before that time."""
        return since is not None and bool(self.is_running) and (self.heard is None or self.heard < since)


_UNKNOWN = SeenState(None)


@dataclass(frozen=True)
class SeenProcess:
    """A process as it is seen: `pid` if it runs here, and its replica set as it sees it.

    `lags`: how far the members are behind the primary, and `states`: of the other members, by the name of the
    process, as far as the process knows them. `own_name`: the name and port of the process in the
    configuration of its replica set; empty if it is no member.
    """

    process: ObservedProcess
    pid: int | None = None
    of_set: ObservedSet = NO_SET_OBSERVED
    lags: Mapping[str, timedelta] = field(default_factory=dict)
    states: Mapping[str, SeenState] = field(default_factory=dict)
    own_name: str = ""

    @property
    def knows(self) -> tuple[bool, ...]:
        """How well it knows its replica set: best as its primary, and only members know the other members."""
        config, is_primary = self.of_set.config, self.process.state is MemberState.PRIMARY
        return is_primary, bool(self.states), bool(config), config is not None


@dataclass(frozen=True)
class SeenUnit:
    """The processes of a unit by name: of this machine, and of others as the agents there say."""

    own: Mapping[str, SeenProcess]
    elsewhere: Mapping[str, SeenProcess] = field(default_factory=dict)

    def is_heard(self, since: datetime) -> bool:
        """Whether the members of this machine have heard from all members that run, since that time."""
        return not any(state.is_old(since) for seen in self.own.values() for state in seen.states.values())


def seen_fleet(
    unit_seen: SeenUnit,
    unit: GoalUnit,
    now: datetime,
    *,
    is_paused: bool = False,
    turn: str = "",
    since: datetime | None = None,
) -> ObservedFleet:
    """The observed state for a plan of the unit. `turn`: the process that holds the turn.

    A member of this machine knows the states and the lags of all members. With `since`, only what it has
    heard since that time counts.

    A replica set is not initiated only if each process that runs says so.
    """
    own = unit_seen.own
    unknown = {process.name: SeenProcess(NOTHING_OBSERVED) for process in unit.processes}
    seen = {**unknown, **unit_seen.elsewhere, **own}
    witness = max(own.values(), key=lambda process: process.knows)
    # The configuration can have other names of the machines than the document.
    names = {member.own_name: name for name, member in seen.items() if member.own_name}
    lags = {names.get(name, name): lag for name, lag in witness.lags.items()}
    processes = {name: replace(member.process, lag=lags.get(name)) for name, member in seen.items()}
    config = _config(witness, seen, names)
    states = {names.get(name, name): state for name, state in witness.states.items()}
    for name in (member.process for member in config or () if states and member.process not in own):
        state = states.get(name, _UNKNOWN)
        state = _UNKNOWN if state.is_old(since) else state
        known = processes.get(name, NOTHING_OBSERVED)
        processes[name] = replace(known, is_running=state.is_running, state=state.state)
    # The platform knows the open alerts, and gives no turn while one is open.
    of_set = replace(_of_primary(seen, processes), config=config, turn=turn, alerts=())
    if of_set.concern is None:
        of_set = replace(of_set, concern=witness.of_set.concern)
    if not unit.replica_set:
        of_set = ObservedSet(users=witness.of_set.users)
    return ObservedFleet(now, processes, {unit.replica_set: of_set}, is_paused=is_paused)


def _config(
    witness: SeenProcess, seen: Mapping[str, SeenProcess], names: Mapping[str, str]
) -> tuple[MemberConfig, ...] | None:
    """The members with their names in the document, as the processes say that know them best."""
    best = max(seen.values(), key=lambda process: process.knows)
    config = witness.of_set.config or best.of_set.config
    if config is None or (config == () and not all(_may_be_new(member.process) for member in seen.values())):
        return None
    return tuple(replace(member, process=names.get(member.process, member.process)) for member in config)


def _of_primary(seen: Mapping[str, SeenProcess], processes: Mapping[str, ObservedProcess]) -> ObservedSet:
    """The replica set as its primary sees it: the process that is observed as the primary."""
    primaries = [name for name, process in processes.items() if process.state is MemberState.PRIMARY]
    return seen[primaries[0]].of_set if len(primaries) == 1 and primaries[0] in seen else NO_SET_OBSERVED


def _may_be_new(process: ObservedProcess) -> bool:
    """Whether the process can belong to a replica set that is not initiated."""
    return process.is_running is False or process.state in WITHOUT_CONFIG
