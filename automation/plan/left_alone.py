"""Why a drawn plan carries out nothing of a process, or not some of its fields. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from automation.plan.concerns import CONCERN
from automation.plan.data_moves import TOO_OLD, is_too_old
from automation.plan.planner import UnitPlan
from automation.plan.reading import NOT_PLANNED_FIELD
from automation.plan.reasons import PlanReason, ReasonKind
from automation.plan.values import GoalProcess, GoalUnit, PlanHold

MANUAL = "manualMode: agents leave the process alone"
SHARDED = "agents leave routers and members of sharded clusters alone"
_FIELDS = {
    PlanReason.RESYNC_REFUSED: "lastResync",
    PlanReason.COMPACT_REFUSED: "lastCompact",
    PlanReason.CONCERN_REFUSED: CONCERN,
}
_REPEATED = {"lastResync": "copied again", "lastCompact": "compacted"}
"""What becomes of older data."""


@dataclass(frozen=True)
class LeftAlone:
    """Why the plan makes no move of a process; empty if it makes some. `fields`: why not of these fields."""

    process: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DrawnUnit:
    """A unit with its plan; None if it is not drawn. `new`: processes that no agent has reported."""

    unit: GoalUnit
    plan: UnitPlan | None
    new: frozenset[str]
    now: datetime

    def left_alone(self) -> Iterator[tuple[str, LeftAlone]]:
        """The processes of which the plan does not carry out everything, by name."""
        for process in self.unit.processes:
            whole = self._whole(process)
            fields = {} if whole else dict(self._fields(process))
            if whole or fields:
                yield process.name, LeftAlone(whole, fields)

    def _whole(self, process: GoalProcess) -> str:
        """Why the plan makes no move of the process."""
        if process.is_manual:
            return MANUAL
        if self.unit.is_sharded:
            return SHARDED
        if self.unit.refused:
            refusals = (hold.sentence for hold in self.unit.refused if hold.concerns(process.name))
            return next(refusals, self.unit.refused[0].sentence)
        return self._stopped(process)

    def _stopped(self, process: GoalProcess) -> str:
        """Why the plan refuses the moves of the process; empty if it makes some, or if they wait."""
        holds = self.plan.holds if self.plan is not None else ()
        waits = any(hold.reason.kind is ReasonKind.WAITS and hold.concerns(process.name) for hold in holds)
        moves = self.plan.moves if self.plan is not None else ()
        if waits or any(planned.move.process == process.name for planned in moves):
            return ""
        own = (hold for hold in holds if hold.process == process.name and not _field(hold))
        return next((hold.sentence for hold in own if hold.reason.kind is ReasonKind.REFUSED), "")

    def _fields(self, process: GoalProcess) -> Iterator[tuple[str, str]]:
        """The fields of the process that the plan does not carry out, and why. The last reason counts."""
        for name, time in (("lastResync", process.resync), ("lastCompact", process.compact)):
            if time is not None and process.is_disabled:
                yield name, f"{name}: older data is {_REPEATED[name]} when the process is enabled again"
            elif time is not None and time <= self.now and process.name in self.new:
                older = f"older data would be {_REPEATED[name]}"
                yield name, f"{name}: the plan assumes that the new process has no data; {older}"
        if process.resync is not None and is_too_old(process.resync, self.now):
            names = (("what", TOO_OLD),)
            yield "lastResync", PlanHold(PlanReason.RESYNC_REFUSED, process.name, names=names).sentence
        plan_holds = self.plan.holds if self.plan is not None else ()
        concern_hold = (self.unit.concern_hold,) if self.unit.concern_hold is not None else ()
        for hold in (*plan_holds, *concern_hold, *self.unit.notes):
            if hold.process in {process.name, ""} and (name := _field(hold)):
                yield name, hold.sentence


def _field(hold: PlanHold) -> str:
    """The field of the process that the reason is about; empty if it is about more."""
    return _FIELDS.get(hold.reason) or dict(hold.names).get(NOT_PLANNED_FIELD, "")
