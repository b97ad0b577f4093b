"""Turns, and the plan of each process as its status shows it. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum

from automation.plan.planner import PlannedMove
from automation.plan.reasons import PlanReason, ReasonKind
from automation.plan.reported import DrawnPlan
from automation.plan.values import WITH_TURN, AutomationGoal, GoalUnit, MoveKind, PlanHold
from automation.plan.wording import detail
from automation.sections import LONGEST_SET_NAME


class MoveState(StrEnum):
    """How far a move is; the values are the wire values."""

    PLANNED = "PLANNED"
    RUNNING = "RUNNING"
    """Its agent holds the turn."""
    DONE = "DONE"
    FAILED = "FAILED"
    LOST = "LOST"
    """Its agent did not renew the turn, and did not say how the move ended."""


class TurnState(StrEnum):
    """The state of a turn; the values are the wire values."""

    HELD = "HELD"
    DONE = "DONE"
    FAILED = "FAILED"
    EXPIRED = "EXPIRED"


class TurnOutcome(StrEnum):
    """How a turn ends that is given back; the values are the wire values."""

    DONE = "DONE"
    FAILED = "FAILED"
    NOT_BEGUN = "NOT_BEGUN"
    """The agent saw that the move has to wait. The turn expires at once, with the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMove:
    """A move of a process with its state. `at`: when it can begin, if that is later."""

    kind: MoveKind
    disturbs: bool
    state: MoveState
    detail: str | None = None
    at: datetime | None = None
    started: datetime | None = None
    finished: datetime | None = None
    reason: str | None = None
    step: str | None = None


@dataclass(frozen=True, slots=True)
class ShownWait:
    """Why the next move of a process does not begin. `since`: None if it is not known since when."""

    hold: PlanHold
    since: datetime | None = None


@dataclass(slots=True)
class ShownPlan:
    """The moves of a process in order, why the next one waits, and what the plan does not do."""

    moves: list[ShownMove] = field(default_factory=list)
    waits: list[ShownWait] = field(default_factory=list)
    refused: list[PlanHold] = field(default_factory=list)


def shown_plans(
    goal: AutomationGoal, drawn: DrawnPlan, *, paused_since: datetime | None, stops: Mapping[str, ShownWait]
) -> Mapping[str, ShownPlan]:
    """Return the plan of each process by its name, from the drawn plans of the units of the goal.

    `stops`: why the plan stopped, by the process. A reason that is about a whole replica set is shown for
    each of its processes.
    """
    plans: dict[str, ShownPlan] = {}
    for unit, drawn_unit in zip(goal.units, drawn.units, strict=False):
        names = [process.name for process in unit.processes]
        of_unit = {name: ShownPlan() for name in names}
        for planned in drawn_unit.moves:
            of_unit.setdefault(planned.move.process, ShownPlan()).moves.append(_planned(planned))
        _add_holds(of_unit, names, drawn_unit.holds)
        if stop := next((stops[name] for name in names if name in stops), None):
            for plan in of_unit.values():
                plan.waits.insert(0, stop)
        if paused_since is not None:
            for name in names:
                if of_unit[name].moves:
                    hold = PlanHold(PlanReason.PAUSED, name, unit.replica_set)
                    of_unit[name].waits.insert(0, ShownWait(hold, paused_since))
        plans |= of_unit
    return plans


def document_refusals(goal: AutomationGoal) -> Mapping[str, Sequence[PlanHold]]:
    """What the document asks for and no agent does, whatever is observed, by the name of the process.

    A reason that is about a whole replica set, or about all agents, is listed for each of the processes.
    """
    refusals: dict[str, list[PlanHold]] = {}
    for unit in goal.units:
        names = [process.name for process in unit.processes]
        for hold in (*unit.notes, *goal.notes):
            for name in [hold.process] if hold.process in names else names:
                refusals.setdefault(name, []).append(hold)
    return refusals


STANDING = frozenset({PlanReason.PAUSED, PlanReason.STOPPED})
"""The reasons that hold until somebody acts. The status says them first."""
REPORTED_STATES = [state.value for state in MoveState if state is not MoveState.LOST]
"""The states that agents report: no agent reports that it was lost."""
MOVE_STATES = {
    TurnState.HELD: MoveState.RUNNING,
    TurnState.DONE: MoveState.DONE,
    TurnState.FAILED: MoveState.FAILED,
    TurnState.EXPIRED: MoveState.LOST,
}


def with_turns(
    plans: Mapping[str, ShownPlan],
    turns: Iterable[tuple[str, ShownMove]],
    waits: Mapping[str, ShownWait],
) -> Mapping[str, ShownPlan]:
    """Return the plans with the moves that had a turn, in their order, before the planned moves.

    `turns`: process and move. A running move takes the place of the planned move of its kind. `waits`: why an
    agent did not get a turn; this is known better than why the drawn plan waits, apart from STANDING reasons.
    """
    by_process = dict(plans)
    begun: dict[str, list[ShownMove]] = {}
    for process, move in turns:
        plan = by_process.setdefault(process, ShownPlan())
        same = [planned for planned in plan.moves if planned.kind is move.kind]
        if move.state is MoveState.RUNNING and same:
            plan.moves.remove(same[0])
            move = replace(move, detail=same[0].detail)  # noqa: PLW2901
        begun.setdefault(process, []).append(move)
    for process, moves in begun.items():
        by_process[process].moves[:0] = moves
    for process, wait in waits.items():
        plan = by_process.setdefault(process, ShownPlan())
        standing = [known for known in plan.waits if known.hold.reason in STANDING]
        is_known = any(known.hold.reason is wait.hold.reason for known in standing)
        plan.waits[:] = standing if is_known else [*standing, wait]
    return by_process


def _planned(planned: PlannedMove) -> ShownMove:
    move = planned.move
    return ShownMove(
        kind=move.kind,
        detail=detail(move),
        disturbs=move.disturbs,
        state=MoveState.PLANNED,
        at=planned.at,
    )


def _add_holds(plans: Mapping[str, ShownPlan], names: Sequence[str], holds: Iterable[PlanHold]) -> None:
    for hold in holds:
        for name in [hold.process] if hold.process in plans else names:
            if hold.reason.kind is ReasonKind.WAITS:
                plans[name].waits.append(ShownWait(hold))
            elif hold.reason.kind is ReasonKind.REFUSED:
                plans[name].refused.append(hold)


TURN_LENGTH = timedelta(seconds=30)
"""How long a turn lasts from its grant, or from its last renewal."""
FORGOTTEN_AFTER = timedelta(minutes=10)
"""A move that no agent has asked for during this time does not wait any more."""
STEP_SECONDS = 600
MOST_STEP_SECONDS = 24 * 3600
"""The time of a move, unless its agent names another, and its maximum."""
SETTLES = timedelta(minutes=4)
"""How long reports about a finished move can be on their way."""
MOVES_WITHOUT_TURN = [kind.value for kind in MoveKind if kind not in WITH_TURN]
"""Moves that disturb nobody. The platform learns only that they failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """The request of an agent for the turn of the unit of a process.

    `request_id`: chosen by the agent, another for each turn. `goal_version`: of the document that it carries
    out; None if it does not say. `length`: how long the move can take. `members`: the members of the replica
    set as the set itself says: names of processes, or `host:port`; None if the agent does not say.
    `member`: the member that the move changes or removes; None if the agent does not say. `failure`:
    why a move failed that takes no turn; only such a move has one. `waits`: why the guards of the agent let
    the move wait, so that it does not ask for the turn yet. `follows`: the identity of the held turn
    for the step-down of the process, which this turn continues.
    """

    hostname: str
    process: str
    move: MoveKind
    request_id: str
    length: timedelta
    goal_version: int | None = None
    step: str | None = None
    members: frozenset[str] | None = None
    member: str | None = None
    failure: str | None = None
    waits: str | None = None
    follows: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnReport:
    """The report of an agent about its turn: a renewal, or its end with an outcome."""

    fence: int
    outcome: TurnOutcome | None = None
    reason: str | None = None
    step: str | None = None

    @property
    def state(self) -> TurnState:
        """The state of the turn after the report."""
        if self.outcome is None:
            return TurnState.HELD
        return TurnState.EXPIRED if self.outcome is TurnOutcome.NOT_BEGUN else TurnState(self.outcome.value)


def unit_key(unit: GoalUnit) -> str:
    """The identity of processes that are planned together."""
    if unit.replica_set:
        return f"replica set {unit.replica_set}"
    return f"routers {unit.cluster}" if unit.cluster else f"process {unit.processes[0].name}"


LONGEST_KEY = 300
"""Maximum characters of the stored key of a unit."""


def stored_key(unit: GoalUnit) -> str:
    """The key as turns store it: that of a long name is cut, and its end replaced by a digest."""
    key = unit_key(unit)
    if len(key) <= LONGEST_KEY:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"{key[: LONGEST_KEY - len(digest)]}{digest}"


def stored_set(name: str) -> str:
    """The name of a replica set as turns store it: an earlier build published longer names."""
    return name[:LONGEST_SET_NAME]


def planned_until(state: TurnState, *, until: datetime, ended: datetime | None) -> datetime:
    """Until when the effects of a turn are planned.

    After a failure, nothing is planned any more. After success, reports about the move can still arrive.
    """
    if ended is None or state in (TurnState.HELD, TurnState.EXPIRED):
        return until
    return ended if state is TurnState.FAILED else min(until, ended + SETTLES)
