"""The plan of each process as its status shows it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from automation.desired_state.plan.planner import PlannedMove
from automation.desired_state.plan.reasons import PlanReason, ReasonKind
from automation.desired_state.plan.reported import DrawnPlan
from automation.desired_state.plan.values import AutomationGoal, MoveKind, PlanHold
from automation.desired_state.plan.wording import detail


class MoveState(StrEnum):
    """How far a move is; the values are the wire values."""

    PLANNED = "PLANNED"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMove:
    """A move of a process with its state. `at`: when it can begin, if that is later."""

    kind: MoveKind
    detail: str
    disturbs: bool
    state: MoveState
    at: datetime | None = None


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
    goal: AutomationGoal, drawn: DrawnPlan, *, paused_since: datetime | None
) -> Mapping[str, ShownPlan]:
    """Return the plan of each process by its name, from the drawn plans of the units of the goal.

    A reason that is about a whole replica set is shown for each of its processes.
    """
    plans: dict[str, ShownPlan] = {}
    for unit, drawn_unit in zip(goal.units, drawn.units, strict=False):
        names = [process.name for process in unit.processes]
        of_unit = {name: ShownPlan() for name in names}
        for planned in drawn_unit.moves:
            of_unit.setdefault(planned.move.process, ShownPlan()).moves.append(_planned(planned))
        _add_holds(of_unit, names, [*drawn_unit.holds, *unit.notes])
        if paused_since is not None:
            for name in names:
                if of_unit[name].moves:
                    hold = PlanHold(PlanReason.PAUSED, name, unit.replica_set)
                    of_unit[name].waits.insert(0, ShownWait(hold, paused_since))
        plans |= of_unit
    return plans


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
