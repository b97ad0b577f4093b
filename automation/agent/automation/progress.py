"""The progress of the processes of this machine, as agents report it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from automation.plan.guards import HEALTHY
from automation.plan.planner import UnitPlan
from automation.plan.reasons import PlanReason, ReasonKind
from automation.plan.values import GoalUnit, MemberState, Move, ObservedProcess, PlanHold
from automation.plan.wording import cut_at_clause, detail, together

_MOST_MOVES, _MOST_WAITS = 30, 10
_LONGEST_DETAIL, _LONGEST_REASON, _LONGEST_ERROR = 500, 2000, 5000


@dataclass
class ProcessProgress:
    """The progress of a process under a version of the document.

    `done`: the moves that the agent has begun under this version, the newest last. `error`: why the process
    does not reach the version, if somebody has to do something. `log_problems`: why its logs are not tended.
    """

    hostname: str
    version: int = 0
    reached: int = 0
    done: list[dict[str, Any]] = field(default_factory=list)
    planned: Sequence[Mapping[str, Any]] = ()
    waits: Sequence[Mapping[str, Any]] = ()
    error: str = ""
    log_problems: Sequence[str] = ()

    def begin_version(self, version: int) -> None:
        """Forget the moves of another version."""
        if version != self.version:
            self.version, self.done, self.planned, self.waits, self.error = version, [], (), (), ""

    def draw(self, plan: UnitPlan | None, holds: Sequence[PlanHold], name: str) -> None:
        """Take over the plan of the unit: the moves of this process, and why they wait."""
        moves = plan.moves if plan is not None else ()
        self.planned = [
            {
                "move": planned.move.kind.value,
                "state": "PLANNED",
                "detail": detail(planned.move)[:_LONGEST_DETAIL],
            }
            for planned in moves
            if planned.move.process == name
        ][:_MOST_MOVES]
        mine = [hold for hold in holds if hold.concerns(name)]
        waits = [hold for hold in mine if hold.reason.kind is ReasonKind.WAITS][:_MOST_WAITS]
        self.waits = [_wait(hold.reason, hold.sentence) for hold in waits]
        stops = [hold.sentence for hold in mine if hold.reason is PlanReason.STOPPED]
        refused = [hold.sentence for hold in mine if hold.reason.kind is ReasonKind.REFUSED]
        self.error = together([*stops, *refused])

    def wait(self, reason: PlanReason, text: str) -> None:
        """The platform gives no turn."""
        self.waits = [_wait(reason, text)]

    def begin(self, move: Move, now: datetime) -> None:
        """A move begins."""
        row = {"move": move.kind.value, "state": "RUNNING", "detail": detail(move)[:_LONGEST_DETAIL]}
        self.done.append({**row, "started": _time(now), "steps": []})
        del self.done[:-_MOST_MOVES]
        same = next((row for row in self.planned if row["move"] == move.kind.value), None)
        self.planned = [row for row in self.planned if row is not same]
        self.waits = ()

    def step(self, name: str, now: datetime) -> None:
        """A step of the move begins, and the step before has ended."""
        self._end_step(now)
        self.done[-1]["steps"].append({"step": name, "started": _time(now)})

    def end(self, now: datetime, failure: str = "") -> None:
        """The move has ended; with the reason if it failed."""
        self._end_step(now)
        self.done[-1].update({"state": "FAILED" if failure else "DONE", "finished": _time(now)})
        if failure:
            self.done[-1]["reason"] = failure[:_LONGEST_REASON]
            self.error = failure

    @property
    def last_step(self) -> str:
        """The last step of the newest move; empty if it has none."""
        steps = self.done[-1]["steps"]
        return str(steps[-1]["step"]) if steps else ""

    def cut_off(self) -> None:
        """The move was cut off: how it ended is seen by observing."""
        del self.done[-1]

    def _end_step(self, now: datetime) -> None:
        steps = self.done[-1]["steps"]
        if steps:
            steps[-1].setdefault("finished", _time(now))

    def document(self, name: str) -> dict[str, Any]:
        """The process in a report."""
        moves = [*self.done, *self.planned][-2 * _MOST_MOVES :]
        row: dict[str, Any] = {
            "name": name,
            "hostname": self.hostname,
            "lastGoalVersionAchieved": self.reached,
            "plan": {"goalVersion": self.version, "moves": moves, "waits": list(self.waits)},
        }
        errors = [self.error, *(f"logRotate: {problem}" for problem in self.log_problems)]
        error = "; ".join(text for text in errors if text)
        return {**row, **({"errorString": cut_at_clause(error, _LONGEST_ERROR)} if error else {})}


_WITHOUT_MEMBERSHIP = frozenset(
    {MemberState.STANDALONE, MemberState.ROUTER, MemberState.UNINITIATED, MemberState.REMOVED}
)
"""The states of a process that the document does not make a member."""


def unready(unit: GoalUnit, name: str, seen: ObservedProcess) -> PlanHold | None:
    """Why a running process of the unit that needs no move has not reached the version yet.

    A member has reached it when it serves again; a process that is no member, when it is in a lasting state.
    """
    is_member = bool(unit.replica_set) and unit.keeps_member(name)
    if seen.state in (HEALTHY if is_member else HEALTHY | _WITHOUT_MEMBERSHIP):
        return None
    if seen.state is None:
        return PlanHold(PlanReason.STATE_UNKNOWN, name, unit.replica_set)
    names = (("state", seen.state.value),)
    return PlanHold(PlanReason.MEMBER_BUSY, name, unit.replica_set, names)


def _wait(reason: PlanReason, text: str) -> Mapping[str, Any]:
    """A reason to wait, in a line: the reason of a stopped plan can have lines of a log."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return {"reason": reason.name, "detail": cut_at_clause(line, _LONGEST_DETAIL)}


def _time(moment: datetime) -> str:
    return moment.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
