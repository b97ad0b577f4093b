"""The plan: the moves that lead from the observed state to the goal. Pure.

    step(goal, observed) → the moves that can begin now, and why others wait
    plan(goal, observed) → all moves to the end, if each move succeeds

The planner remembers nothing. An agent that was killed observes the servers again, and plans again.

The moves of a unit, in this order:

1. Start the processes that should run. A start has no guards, because it interrupts no client.
2. Make the moves that interrupt no client: downloads, configuration files, parameters at run time.
3. In a replica set, make at most one of these moves, and only if its guards hold: change the members;
   restart, upgrade or stop a process (the primary comes last, and steps down first); change the feature
   compatibility version. Before them, set the default read and write concern, and the users.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from automation.plan.data_moves import compact_hold, removal, resync_hold
from automation.plan.expected import expected
from automation.plan.guards import UnitState, interruption_holds, resync_holds, turn, unit_state
from automation.plan.process_moves import (
    change,
    need_elsewhere,
    preparation,
    start,
    state_holds,
    without_restart,
)
from automation.plan.reasons import PlanReason
from automation.plan.set_moves import (
    concern_move,
    feature_move,
    initiate,
    membership,
    step_down_holds,
    users_move,
)
from automation.plan.values import (
    AutomationGoal,
    GoalProcess,
    GoalUnit,
    MemberState,
    Move,
    MoveKind,
    ObservedFleet,
    OwnNeed,
    PlanHold,
    PlanStep,
)
from automation.plan.version_choice import outsider_hold

_MOST_ROUNDS = 60
"""Far more rounds than the longest plan has for each of its processes."""


class EndlessPlanError(Exception):
    """A plan that reaches no end: a fault of this module."""


@dataclass(frozen=True)
class PlannedMove:
    """A move of a plan. `at`: when it follows, if a time of the document is in the future; otherwise None."""

    move: Move
    at: datetime | None = None


@dataclass(frozen=True)
class UnitPlan:
    """All moves of a unit to the end, in order, and why the end is not the goal."""

    moves: tuple[PlannedMove, ...]
    holds: tuple[PlanHold, ...]


def plan(goal: AutomationGoal, observed: ObservedFleet) -> list[UnitPlan]:
    """Return the plan of each unit, if each move succeeds."""
    return [unit_plan(goal, unit, observed) for unit in goal.units]


def unit_plan(goal: AutomationGoal, unit: GoalUnit, observed: ObservedFleet) -> UnitPlan:
    """As `plan`, of one unit."""
    moves: list[PlannedMove] = []
    at = None
    for _ in range(_MOST_ROUNDS * (len(unit.processes) + 1)):
        part = unit_step(goal, unit, observed)
        moves += [PlannedMove(move, at) for move in part.moves]
        for move in part.moves:
            observed = expected(unit, observed, move)
        if part.moves:
            continue
        later = [time for process in unit.processes for time in process.times if time > observed.now]
        if not later or unit.refused:
            return UnitPlan(tuple(moves), part.holds)
        at = min(later)
        observed = replace(observed, now=at)
    raise EndlessPlanError(unit.replica_set or unit.processes[0].name)


def step(goal: AutomationGoal, observed: ObservedFleet) -> PlanStep:
    """The moves that can begin now, and why others wait."""
    parts = [unit_step(goal, unit, observed) for unit in goal.units]
    return PlanStep(
        tuple(move for part in parts for move in part.moves),
        tuple(hold for part in parts for hold in part.holds),
    )


def unit_step(goal: AutomationGoal, unit: GoalUnit, observed: ObservedFleet) -> PlanStep:
    """As `step`, of one unit.

    A plan that stopped or is paused, and a unit whose document is refused, only start servers again as they
    ran: a restart may have been cut off, or a server may have ended. A process whose own move failed waits.
    """
    if unit.is_sharded:
        return PlanStep((), unit.refused)
    state = unit_state(unit, observed)
    failures, pause = tuple(_failures(state, goal)), tuple(_pause(state, observed))
    returning = tuple(_returning(state, goal))
    if unit.refused:
        return PlanStep(returning, (*unit.refused, *failures))
    wanted = _wanted(state, goal)
    if not wanted.moves or not (failures or pause):
        return wanted
    if not failures and returning == wanted.moves:
        return wanted  # A pause does not stop these starts.
    return PlanStep(returning, (*failures, *pause))


def own_need(goal: AutomationGoal, unit: GoalUnit, observed: ObservedFleet, name: str) -> OwnNeed:
    """What a process of the unit needs by itself, for the agents of other machines."""
    state = unit_state(unit, observed)
    needed = _of_process(state, goal, state.goals[name])
    if needed.moves:
        return OwnNeed(needed.moves[0].kind, needed.moves[0].version)
    return OwnNeed(waits=bool(needed.holds))


def _failures(state: UnitState, goal: AutomationGoal) -> Iterator[PlanHold]:
    """Moves that failed under this document. Another document starts again."""
    for process in state.unit.processes:
        failure = state.process(process.name).failure
        if failure is not None and failure.goal_number == goal.number:
            names = {"move": failure.move.value, "why": failure.why}
            yield state.hold(PlanReason.STOPPED, process.name, **names)


def _returning(state: UnitState, goal: AutomationGoal) -> Iterator[Move]:
    """The starts of wanted servers that are down, each with the version and the file that it had."""
    for process in state.unit.processes:
        seen = state.process(process.name)
        if seen.failure is not None and seen.failure.process == process.name:
            continue
        if seen.is_running is False and state.is_wanted(process.name) and seen.version and seen.file:
            before = replace(process, version=seen.version, settings=seen.file, key_file="")
            move = start(state, goal, before)
            if isinstance(move, Move) and (move.kind, move.version) == (MoveKind.START, seen.version):
                yield move


def _pause(state: UnitState, observed: ObservedFleet) -> Iterator[PlanHold]:
    if observed.is_paused:
        yield state.hold(PlanReason.PAUSED, "")


@dataclass(frozen=True)
class _OwnNeeds:
    """The moves that the processes of a unit need, without regard to other processes.

    `changes`: moves that interrupt a process. `settled`: running processes that need nothing. `preparing`:
    processes that need something else first, or wait.
    """

    moves: tuple[Move, ...]
    holds: tuple[PlanHold, ...]
    changes: dict[str, Move]
    settled: frozenset[str]
    preparing: frozenset[str]


def _wanted(state: UnitState, goal: AutomationGoal) -> PlanStep:
    own = _own_needs(state, goal)
    together = _by_managed(state, _together(state, own))
    return PlanStep((*own.moves, *together.moves), (*own.holds, *_kept_data(state), *together.holds))


def _kept_data(state: UnitState) -> Iterator[PlanHold]:
    """Why processes keep their data as it is although lastResync or lastCompact asks for another."""
    for process in state.unit.processes:
        if not process.is_manual and state.process(process.name).is_running:
            holds = (resync_hold(state, process), compact_hold(state, process))
            yield from (_own_hold(state, process.name, hold) for hold in holds if hold is not None)


def _by_managed(state: UnitState, together: PlanStep) -> PlanStep:
    """A move of a process without an agent becomes a reason: nobody would make it."""
    managed = {process.name for process in state.unit.processes if not process.is_manual}
    strange = [move for move in together.moves if move.process and move.process not in managed]
    holds = (
        state.hold(PlanReason.MAKER_NOT_MANAGED, "", other=move.process, move=move.kind.value)
        for move in strange
    )
    moves = tuple(move for move in together.moves if move not in strange)
    return PlanStep(moves, (*together.holds, *holds))


def _own_needs(state: UnitState, goal: AutomationGoal) -> _OwnNeeds:
    parts = {
        process.name: _of_process(state, goal, process)
        for process in state.unit.processes
        if not process.is_manual
    }
    moves = [move for part in parts.values() for move in part.moves]
    return _OwnNeeds(
        moves=tuple(move for move in moves if not move.disturbs),
        holds=tuple(_own_hold(state, name, hold) for name, part in parts.items() for hold in part.holds),
        changes={move.process: move for move in moves if move.disturbs},
        settled=frozenset(
            name
            for name, part in parts.items()
            if not part.moves and not part.holds and state.process(name).is_running
        ),
        preparing=frozenset(
            name for name, part in parts.items() if part.holds or any(not m.disturbs for m in part.moves)
        ),
    )


def _own_hold(state: UnitState, name: str, hold: PlanHold) -> PlanHold:
    """A reason of a process. If nothing says which move waits, it is a restart."""
    return hold if state.goals[name].is_elsewhere else hold.of_move(state.move(MoveKind.RESTART, name))


def _of_process(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> PlanStep:
    """The next move of a process by itself."""
    is_running = state.process(process.name).is_running
    if is_running is False and process.is_disabled:
        return PlanStep()
    if process.is_elsewhere:
        return _step(need_elsewhere(state, goal, process))
    if is_running is None:
        return PlanStep((), (state.hold(PlanReason.RUNNING_UNKNOWN, process.name),))
    return _of_running(state, goal, process) if is_running else _step(start(state, goal, process))


def _of_running(state: UnitState, goal: AutomationGoal, process: GoalProcess) -> PlanStep:
    needed = change(state, goal, process)
    if isinstance(needed, PlanHold):
        return _step(needed)
    prepared = None if process.is_disabled else preparation(state, goal, process)
    if prepared is not None:
        return _step(prepared)
    if needed is None:
        other = without_restart(state, process) or outsider_hold(state, process)
        return _step(other or removal(state, process))
    waits = tuple(hold.of_move(needed) for hold in state_holds(state, process))
    return PlanStep((), waits) if waits else PlanStep((needed,))


def _step(next_move: Move | PlanHold | None) -> PlanStep:
    if next_move is None:
        return PlanStep()
    return PlanStep((next_move,)) if isinstance(next_move, Move) else PlanStep((), (next_move,))


def _together(state: UnitState, own: _OwnNeeds) -> PlanStep:
    """Return the next move that needs the turn of the unit: only one process makes such a move at a time."""
    if not state.unit.replica_set:
        return _one_by_one(state, own) if own.changes else _first_of(_users(state), _feature(state))
    if state.of_set.config is None:
        unknown = PlanStep((), (state.hold(PlanReason.SET_UNKNOWN, ""),))
        return _of_set(state, MoveKind.CHANGE_MEMBER, unknown)
    if all(process.is_disabled for process in state.unit.processes):
        return _shut_down(state, own)
    return _of_members(state, own) if state.config else _of_new_set(state, own)


def _of_members(state: UnitState, own: _OwnNeeds) -> PlanStep:
    """The next move of an initiated replica set.

    First the default concern, which members can depend on, then users, members, processes and the feature
    version.
    """
    concern = _of_set(state, MoveKind.SET_DEFAULT_CONCERN, concern_move(state))
    values = _first_of(concern, _users(state))
    if values.moves:
        return values
    members = _members(state, own)
    if members.moves:
        return members
    other = _rolling(state, own) if own.changes else _feature(state)
    return PlanStep(other.moves, (*values.holds, *members.holds, *other.holds))


def _of_set(state: UnitState, kind: MoveKind, held: PlanStep) -> PlanStep:
    """The step, whose reasons say which move of the unit waits."""
    move = state.move(kind, state.maker)
    return PlanStep(held.moves, tuple(hold.of_move(move) for hold in held.holds))


def _users(state: UnitState) -> PlanStep:
    return _of_set(state, MoveKind.SET_USERS, users_move(state))


def _members(state: UnitState, own: _OwnNeeds) -> PlanStep:
    return _of_set(state, MoveKind.CHANGE_MEMBER, membership(state, own.settled))


def _feature(state: UnitState) -> PlanStep:
    return _of_set(state, MoveKind.SET_FEATURE_VERSION, feature_move(state))


def _first_of(first: PlanStep, second: PlanStep) -> PlanStep:
    """The move of the first step, or that of the second if the first has none; and why they wait."""
    return first if first.moves else PlanStep(second.moves, (*first.holds, *second.holds))


def _of_new_set(state: UnitState, own: _OwnNeeds) -> PlanStep:
    """The next move of a replica set without a configuration: nothing is guarded before there are members."""
    if own.changes:
        return _rolling(state, own)
    # A member that still runs with its old version or settings may not be able to join.
    if own.holds or own.preparing:
        return PlanStep()
    if state.unit.members is None:
        return _members(state, own)
    return _of_set(state, MoveKind.INITIATE, initiate(state))


def _one_by_one(state: UnitState, own: _OwnNeeds) -> PlanStep:
    """The processes of a unit without a replica set: a single server, or the routers of a cluster."""
    move = next(iter(own.changes.values()))
    if state.goals[move.process].is_disabled:
        return PlanStep((move,))
    for process in state.unit.processes:
        is_other = process.name != move.process and not process.is_disabled and not process.is_manual
        if is_other and state.state(process.name) is None:
            names = {"other": process.name, "state": "DOWN"}
            return PlanStep((), (state.hold(PlanReason.MEMBER_AWAY, move.process, **names),))
    return PlanStep((move,))


def _shut_down(state: UnitState, own: _OwnNeeds) -> PlanStep:
    """The document disables the whole replica set: the primary stops last."""
    in_order = sorted(own.changes.values(), key=lambda move: _is_primary(state, move.process))
    for move in in_order[:1]:
        holds = tuple(turn(state, move.process))
        return PlanStep((), holds) if holds else PlanStep((move,))
    return PlanStep()


def _rolling(state: UnitState, own: _OwnNeeds) -> PlanStep:
    """The next member that is interrupted: secondaries first, the primary last."""
    waits: list[PlanHold] = []
    others = [move for name, move in own.changes.items() if not _is_primary(state, name)]
    for move in sorted(others, key=lambda move: _rank(state, move.process)):
        holds = interruption_holds(state, move)
        if not holds:
            return PlanStep((move,))
        waits += holds
    of_primary = [move for name, move in own.changes.items() if _is_primary(state, name)]
    # A member that still downloads its version, or starts, comes before the primary, too.
    if waits or not of_primary or not own.preparing.isdisjoint(state.members):
        return PlanStep((), tuple(waits))
    # A member whose new version needs another feature version comes before the primary, too.
    feature = feature_move(state)
    return feature if feature.moves else _primary_last(state, of_primary[0])


def _primary_last(state: UnitState, move: Move) -> PlanStep:
    """Let the primary step down, or interrupt it without a successor if it is the only voting member."""
    if state.is_single:
        holds = interruption_holds(state, move)
        return PlanStep((), tuple(holds)) if holds else PlanStep((move,))
    holds = [*step_down_holds(state, move.process), *resync_holds(state, move)]
    down = state.move(MoveKind.STEP_DOWN, move.process)
    return PlanStep((), tuple(holds)) if holds else PlanStep((down,))


def _is_primary(state: UnitState, name: str) -> bool:
    return state.state(name) is MemberState.PRIMARY


def _rank(state: UnitState, name: str) -> tuple[bool, float]:
    """Members that can become the primary come last, the most preferred at the end."""
    member = state.member(name)
    return (member is not None and member.is_electable, member.priority if member else 0.0)
