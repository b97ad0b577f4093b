"""Observes and plans the units of this machine: a replica set, or a single process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Callable

from automation.agent.automation.builds import Builds, DocumentBuilds, this_kind
from automation.agent.automation.carried_process import CarriedProcess
from automation.agent.automation.exchange import Exchange
from automation.agent.automation.observe import observe
from automation.agent.automation.part import MachinePart
from automation.agent.automation.progress_reports import ProgressReports
from automation.agent.automation.seen_fleet import SeenProcess, SeenUnit, seen_fleet
from automation.agent.automation.servers import ManagedServer, ManagedServers
from automation.agent.automation.work import MoveWork
from automation.agent.engine import ServerAddress
from automation.agent.faults import log_unexpected
from automation.agent.settings import Settings
from automation.plan.planner import EndlessPlanError, UnitPlan, own_need, unit_plan, unit_step
from automation.plan.values import WITH_TURN, FailedMove, Move, OwnNeed, PlanHold, PlanStep


@dataclass(frozen=True)
class PlannedUnit:
    """The next step of a unit, as planned for a process of it.

    `need`: of the process, for the agents of other machines. `members`: of the replica set as observed; of a
    single process, none.
    """

    step: PlanStep
    need: OwnNeed
    members: Sequence[str]

    def move_of(self, name: str) -> Move | None:
        """The next move of a process."""
        return next((move for move in self.step.moves if move.process == name), None)

    def holds_of(self, name: str) -> list[PlanHold]:
        """Why the next moves of a process, or of the whole unit, wait."""
        return [hold for hold in self.step.holds if hold.concerns(name)]

    def waiting_move(self, name: str, *, is_reached: bool) -> Move | None:
        """The move with a turn that waits, of a process or of its replica set.

        `is_reached`: the version, so that a fact that is not known any more lets nothing wait.
        """
        if self.need.move in WITH_TURN:
            return Move(self.need.move, name)
        waiting = (hold.move for hold in self.step.holds if hold.move is not None and not is_reached)
        return next((move for move in waiting if move.process == name), None)


class UnitPlanner:
    """Observes units, plans their next moves, and draws the plans into the progress. Not thread-safe."""

    def __init__(
        self, settings: Settings, exchange: Exchange, reports: ProgressReports, clock: Callable[[], datetime]
    ) -> None:
        self._settings, self._exchange, self._reports, self._clock = settings, exchange, reports, clock
        self.servers = ManagedServers(settings.mongodb)
        self.failures: dict[str, FailedMove] = {}
        """The moves that failed here, until the platform says which moves stopped plans."""

    def plan(
        self, process: CarriedProcess, seen: SeenUnit, *, turn: str = "", since: datetime | None = None
    ) -> PlannedUnit:
        """Plan the unit of a process as it was observed, and draw the plan into the progress of the process.

        `turn`: its holder, `since` when.
        """
        part, unit, name = process.part, process.unit, process.name
        now = self._clock()
        fleet = seen_fleet(seen, unit, now, is_paused=part.is_paused, turn=turn, since=since)
        step = unit_step(part.goal, unit, fleet)
        plan: UnitPlan | None = None
        try:
            plan = unit_plan(part.goal, unit, fleet)
        except EndlessPlanError as error:
            log_unexpected("automation", error)
        notes: Sequence[PlanHold] = (*unit.notes, *part.goal.notes)
        self._reports.progress[name].draw(plan, [*step.holds, *notes], name)
        config = fleet.sets[unit.replica_set].config if unit.replica_set else ()
        members = [member.process for member in config or ()]
        return PlannedUnit(step, own_need(part.goal, unit, fleet, name), members)

    def step(self, process: CarriedProcess, seen: SeenUnit, *, turn: str) -> PlanStep:
        """Plan the next step of the unit of a process as it was observed. `turn`: its holder."""
        part, unit = process.part, process.unit
        fleet = seen_fleet(seen, unit, self._clock(), is_paused=part.is_paused, turn=turn)
        return unit_step(part.goal, unit, fleet)

    def see_unit(self, process: CarriedProcess, work: MoveWork | None = None) -> SeenUnit:
        """Observe all processes of the unit of a process. `work`: of a move that holds a turn.

        Raises: TurnLost.
        """

        def look() -> Mapping[str, SeenProcess]:
            return {member.name: self.see(member) for member in process.of_unit()}

        part, unit = process.part, process.unit
        own = look() if work is None else work.run(look)
        if not any(member.is_elsewhere for member in unit.processes):
            return SeenUnit(own)
        # Not as work: the client belongs to this thread, which renews the turn.
        before = SeenUnit(own, self._exchange.reported(unit, part.version))
        known = seen_fleet(before, unit, self._clock())
        needs = {name: own_need(part.goal, unit, known, name) for name in own if name in part.processes}
        return SeenUnit(own, self._exchange.renew(unit, part.version, own, needs))

    def see(self, process: CarriedProcess) -> SeenProcess:
        """Observe a process."""
        part = process.part
        return observe(
            process.managed,
            self.server(process),
            process.places,
            self.builds(part),
            versions=part.goal.versions,
            failure=self.failures.get(process.name) or part.failures.get(process.name),
            now=self._clock(),
        )

    def server(self, process: CarriedProcess) -> ManagedServer:
        """The server of a process."""
        return self.servers.server(process.managed.address, process.managed.key)

    def member(self, process: CarriedProcess, address: ServerAddress) -> ManagedServer:
        """Another member of the replica set of a process."""
        return self.servers.member(process.managed.address, process.managed.key, address)

    def builds(self, part: MachinePart) -> DocumentBuilds:
        """The builds of the document for this machine."""
        return DocumentBuilds(Builds(part.base, self._settings.automation_dirs), part.builds, this_kind())
