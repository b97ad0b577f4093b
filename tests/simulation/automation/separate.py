"""Runs in which the processes are on several machines, and the agent of each machine plans by itself.

An agent knows the settings of its own processes, what the heartbeats of its members say of the others, and
what other agents reported at their last round. Heartbeats can be late until a turn is given. The platform
gives one turn at a time.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random

from automation.agent.automation.exchange import document, read
from automation.agent.automation.seen_fleet import SeenProcess, SeenState, SeenUnit, seen_fleet
from automation.plan import reading
from automation.plan.planner import own_need, unit_step
from automation.plan.reasons import PlanReason
from automation.plan.values import (
    DISTURBING,
    WITH_TURN,
    AutomationGoal,
    FailedMove,
    GoalUnit,
    MemberState,
    Move,
    MoveKind,
    ObservedFleet,
    ObservedSet,
    PlanStep,
)
from tests.simulation.automation.agent_moves import land
from tests.simulation.automation.documents import SET_NAME, SimulatedFleetPlan, draw_fleet
from tests.simulation.automation.fleet import SimulatedServer
from tests.simulation.automation.observation import observed_fleet
from tests.simulation.automation.runs import FleetRun
from tests.simulation.automation.verdict import FleetOutcome

_SHARED = 0.25
"""The part of processes that are on the machine of the process before."""


class SeparateRun(FleetRun):
    """A run of a seed with an agent for each machine."""

    def __init__(self, plan: SimulatedFleetPlan, goals: Sequence[AutomationGoal]) -> None:
        super().__init__(plan, goals)
        self.machines: dict[str, int] = {}
        """The machine of each process: each process that has none yet gets the next or an earlier machine."""
        self.heard: dict[str, SeenState] = {}
        """The state of each server at the end of the last round, as late heartbeats say it."""
        self.reported: dict[str, tuple[int, int, Mapping[str, object]]] = {}
        """What each agent reported last: when, under which version, and the observation as it is sent."""
        self.reported_before: object = None
        self.has_faults = bool(plan.faults)

    def _has_a_way(self) -> bool:
        """Nobody reports a primary that is not in the document."""
        primary = self.state.world.primary()
        return super()._has_a_way() and (primary is None or self.state.process(primary.name) is not None)

    def _calm(self) -> None:
        super()._calm()
        self.has_faults = False

    def _show(self) -> None:
        self.state.shown = None  # No agent draws the plan of the others to its end.

    def _act(self) -> bool:
        land(self.state)
        names = [process.name for unit in self.state.goal.units for process in unit.processes]
        self.state.random.shuffle(names)
        steps: list[PlanStep] = []
        acted = False
        for name in names:
            is_busy = any(self._machine(other) == self._machine(name) for other in self.state.flights)
            is_away = is_busy or self.state.hidden.get(name, 0) > self.state.world.now
            if is_away or (self.has_faults and self.state.random.random() < 0.05):
                continue
            step = self._step_of(name, is_late=self.has_faults and self.state.random.random() < 0.5)
            steps.append(step)
            for move in step.moves:
                if move.process != name or not self._is_granted(move):
                    continue
                acted = True
                if move.kind not in WITH_TURN or move in self._step_of(name).moves:
                    self._carry_out(move, observed_fleet(self.state))
        self.heard = {name: _state_of(server) for name, server in self.state.world.servers.items()}
        moves = tuple(move for step in steps for move in step.moves)
        # The agent of the process says why it waits.
        holds = [hold for step in steps for hold in step.holds if hold.reason is not PlanReason.NEED_WAITS]
        self.state.last = PlanStep(moves, tuple(holds))
        return acted or bool(self.state.flights) or self._news()

    def _machine(self, name: str) -> int:
        known = self.machines
        if name not in known:
            count = len(set(known.values()))
            # Not of the random numbers of the run, so that faults stay the same.
            shares = count > 0 and Random(f"{self.state.plan.seed} {name}").random() < _SHARED
            known[name] = count - 1 if shares else count
        return known[name]

    def _news(self) -> bool:
        """Whether the agents have reported something new, with which others plan in the next round."""
        reported = {
            name: (version, {**sent, "oplogSeconds": 0}) for name, (_, version, sent) in self.reported.items()
        }
        is_new, self.reported_before = reported != self.reported_before, reported
        return is_new

    def _is_granted(self, move: Move) -> bool:
        """The platform gives no turn while another holds it, during an alert, or with a short oplog."""
        if move.kind not in WITH_TURN or not move.replica_set:
            return True
        is_held = self.state.turn_until > self.state.world.now and self.state.turn != move.process
        is_short = self.state.world.oplog_lost and self.state.world.oplog < 3600
        is_guarded = (
            is_short and move.kind in DISTURBING and self.state.world.member(move.process) is not None
        )
        return not is_held and not is_guarded and self.state.alert_until <= self.state.world.now

    def _make(self, move: Move) -> None:
        """A server does not accept a member that has ended since its agent reported it."""
        joining = move.members if move.kind in {MoveKind.INITIATE, MoveKind.ADD_MEMBER} else ()
        gone = [
            member.process for member in joining if not self.state.world.servers[member.process].is_running
        ]
        if gone:
            self.state.failures[move.process] = FailedMove(
                self.state.goal.number, move.kind, f"{gone} do not answer", move.process
            )
        else:
            super()._make(move)

    def _unseen(self) -> set[str]:
        """What an agent reported in the round before counts."""
        return {name for name in super()._unseen() if name not in self._news_for("")}

    def _news_for(self, name: str) -> dict[str, SeenProcess]:
        """What the agents of other machines reported in this round or the round before."""
        return {
            other: read(sent)
            for other, (tick, version, sent) in self.reported.items()
            if (not name or self._machine(other) != self._machine(name))
            and tick >= self.state.world.now - 1
            and version == self.state.goal.number
        }

    def _step_of(self, name: str, *, is_late: bool = False) -> PlanStep:
        """The step of the agent of a process. `is_late`: its heartbeats are of the round before."""
        goal, unit = self._goal_of(name)
        now = observed_fleet(self.state)
        own = {
            process.name: self._seen(process.name, now, is_late=is_late)
            for process in unit.processes
            if not process.is_elsewhere
        }
        known = self._fleet(SeenUnit(own, self._news_for(name)), unit, now)
        for process in unit.processes:
            if process.name in own:
                need = None if process.is_manual else own_need(goal, unit, known, process.name)
                sent = document(process.name, own[process.name], need)
                self.reported[process.name] = self.state.world.now, goal.number, sent
        return unit_step(goal, unit, known)

    def _fleet(self, seen: SeenUnit, unit: GoalUnit, now: ObservedFleet) -> ObservedFleet:
        turn = now.sets[unit.replica_set].turn if unit.replica_set else ""
        return seen_fleet(seen, unit, now.now, is_paused=now.is_paused, turn=turn)

    def _goal_of(self, name: str) -> tuple[AutomationGoal, GoalUnit]:
        """The goal as the agent of the machine of a process knows it."""
        unit = next(
            unit for unit in self.state.goal.units if any(process.name == name for process in unit.processes)
        )
        processes = tuple(
            process
            if self._machine(process.name) == self._machine(name)
            else replace(process, is_elsewhere=True, settings={}, restart=None, resync=None, compact=None)
            for process in sorted(unit.processes, key=lambda process: process.name)
        )
        unit = replace(unit, processes=processes)
        return replace(self.state.goal, units=(unit,)), unit

    def _seen(self, name: str, now: ObservedFleet, *, is_late: bool) -> SeenProcess:
        """A process as its agent sees it. A failed move stops the plan of all agents."""
        failures = [
            seen.failure
            for seen in (now.processes[name], *now.processes.values())
            if seen.failure is not None and seen.failure.goal_number == self.state.goal.number
        ]
        process = replace(now.processes[name], failure=failures[0] if failures else None, lag=None)
        if process.state in {MemberState.UNINITIATED, MemberState.STANDALONE}:
            return SeenProcess(process, of_set=ObservedSet(config=(), users=now.sets[""].users))
        if process.state is MemberState.REMOVED:  # It still has a configuration.
            return SeenProcess(process, of_set=ObservedSet(config=self.state.world.config))
        if process.state is None:
            return SeenProcess(process)
        primary = self.state.world.primary()
        members = [self.state.world.servers[member.process] for member in self.state.world.config]
        others = [server for server in members if server.name != name]
        of_set = ObservedSet(config=self.state.world.config, concern=now.sets[SET_NAME].concern)
        if process.state is MemberState.ARBITER:
            of_set = replace(of_set, concern=None)
        if process.state is MemberState.PRIMARY:
            oplog = timedelta(seconds=self.state.world.oplog)
            users = now.sets[SET_NAME].users
            of_set = replace(of_set, oplog=oplog, oplog_lost=self.state.world.oplog_lost, users=users)
        return SeenProcess(
            process,
            of_set=of_set,
            lags={} if primary is None else {each.name: timedelta(seconds=each.lag) for each in members},
            states={
                server.name: self.heard.get(server.name, _state_of(server)) if is_late else _state_of(server)
                for server in others
            },
        )


def _state_of(server: SimulatedServer) -> SeenState:
    return SeenState(server.is_running, server.state if server.is_running else None)


def separate_run(seed: int) -> FleetOutcome:
    """Run a seed with an agent for each machine."""
    plan = draw_fleet(seed)
    return SeparateRun(plan, [reading.read_goal(document) for document in plan.documents]).run()


def broken_separate_fleets(seeds: Sequence[int]) -> list[str]:
    """The seeds that break a promise, each with the first broken promise."""
    return [
        f"seed {seed}: {found.broken[0][0]}: {found.broken[0][1]}"
        for seed in seeds
        if (found := separate_run(seed)).broken
    ]
