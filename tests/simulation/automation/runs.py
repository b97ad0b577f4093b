"""Runs of a seed: agents observe the simulated fleet, plan, and make the moves, while faults happen.

After the last document and the last fault, the run goes on until nothing moves. Then the goal is reached,
or the plan says why not.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

from automation.plan import planner, reading
from automation.plan.values import INTERRUPTING, AutomationGoal, Move, ObservedFleet
from tests.simulation.automation.agent_moves import land, make, take_turn
from tests.simulation.automation.documents import SET_NAME, SimulatedFleetPlan, draw_fleet
from tests.simulation.automation.faults import end_faults, may_fail
from tests.simulation.automation.fleet import FleetPromise
from tests.simulation.automation.move_checks import check_move
from tests.simulation.automation.observation import observed_fleet
from tests.simulation.automation.run_state import RunState
from tests.simulation.automation.verdict import FleetOutcome, outcome_of

MOST_TICKS = 400
QUIET_TICKS = 4


class FleetRun:
    """One run of a seed."""

    def __init__(self, plan: SimulatedFleetPlan, goals: Sequence[AutomationGoal]) -> None:
        self.state = RunState(plan, goals)
        self._show()

    def run(self) -> FleetOutcome:
        """Run until nothing moves, or a promise is broken."""
        state, world = self.state, self.state.world
        quiet = 0
        fault_end = 0 if not state.plan.faults else state.random.randint(20, 60)
        changes = sorted(state.random.randint(0, fault_end or 40) for _ in state.goals)
        if not state.plan.faults:
            changes = []
        is_calm = not state.plan.faults
        while world.now < MOST_TICKS and quiet < QUIET_TICKS:
            world.tick()
            if state.goals and changes and world.now >= changes[0]:
                changes.pop(0)
                self._publish()
            if not is_calm and world.now >= fault_end:
                is_calm = True
                self._calm()
            elif not is_calm:
                may_fail(state)
            if self._act():
                quiet = 0
            elif is_calm and not state.awaits():
                quiet += 1
                if state.goals and quiet == QUIET_TICKS:
                    self._publish()
                    quiet = 0
            if world.broken:
                break
        return outcome_of(state, is_quiet=quiet >= QUIET_TICKS, has_a_way=self._has_a_way())

    def _has_a_way(self) -> bool:
        """Whether the goal can be reached, as far as documents say it."""
        return self.state.plan.is_benign

    def _show(self) -> None:
        """Without faults, the plan that is drawn before the first move is the plan that is carried out.

        Elections take time, so only the order and number of step-downs can differ.
        """
        state, observed = self.state, observed_fleet(self.state)
        processes = [process for unit in state.goal.units for process in unit.processes]
        if (
            state.plan.faults
            or not state.plan.is_benign
            or any(time > observed.now for p in processes for time in p.times)
        ):
            state.shown = None
        if state.shown is None:
            return
        of_set = replace(observed.sets[SET_NAME], turn="")
        try:
            plans = planner.plan(state.goal, replace(observed, sets={**observed.sets, SET_NAME: of_set}))
        except planner.EndlessPlanError:
            state.world.violates(FleetPromise.END, "the plan that is drawn has no end")
            return
        for found in plans:
            state.shown.update(
                (planned.move.kind.value, planned.move.process)
                for planned in found.moves
                if planned.move.kind in INTERRUPTING
            )

    def _publish(self) -> None:
        self.state.publish()
        self._show()

    def _calm(self) -> None:
        """The faults end. Somebody publishes the last document again, so that stopped plans go on."""
        end_faults(self.state)
        while self.state.goals:
            self._publish()
        self.state.goal = replace(self.state.goal, number=self.state.goal.number + 1)

    def _act(self) -> bool:
        """The agents make their next moves. False if none has a move."""
        state = self.state
        land(state)
        observed = observed_fleet(state)
        state.last = planner.step(state.goal, observed)
        acted = False
        for move in state.last.moves:
            if move.process in state.flights:
                continue
            acted = True
            if state.plan.faults and state.random.random() < 0.05:
                continue  # Its agent does not run at the moment.
            if move.process not in state.world.servers:
                state.world.violates(FleetPromise.SERVER, f"nobody can make the move {move.kind.value}")
                break
            self._carry_out(move, observed)
        return acted or bool(state.flights)

    def _carry_out(self, move: Move, observed: ObservedFleet) -> None:
        check_move(self.state, move, observed, self._unseen())
        take_turn(self.state, move)
        self._make(move)

    def _make(self, move: Move) -> None:
        make(self.state, move)

    def _unseen(self) -> set[str]:
        """The processes of which no agent knows."""
        return self.state.unseen()


def fleet_run(seed: int) -> FleetOutcome:
    """Run a seed."""
    plan = draw_fleet(seed)
    return FleetRun(plan, [reading.read_goal(document) for document in plan.documents]).run()


def broken_fleets(seeds: Sequence[int]) -> list[str]:
    """The seeds that break a promise, each with the first broken promise."""
    return [
        f"seed {seed}: {found.broken[0][0]}: {found.broken[0][1]}"
        for seed in seeds
        if (found := fleet_run(seed)).broken
    ]


def broken_fleets_by_all_processors(seeds: Sequence[int]) -> list[str]:
    """As `broken_fleets`, spread over processes."""
    parts = [seeds[start : start + _AT_ONCE] for start in range(0, len(seeds), _AT_ONCE)]
    with ProcessPoolExecutor(os.cpu_count(), get_context("fork")) as processes:
        return [line for lines in processes.map(broken_fleets, parts) for line in lines]


_AT_ONCE = 1_000
