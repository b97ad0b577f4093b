"""Makes the moves of a plan: it gets the turn that a move needs, follows a step-down, and tries again."""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Callable

from automation.agent.automation.carried_process import CarriedProcess
from automation.agent.automation.failures import MoveDelayed, MoveFailed, TurnLost
from automation.agent.automation.moved_process import MovedProcess
from automation.agent.automation.moves import Mover
from automation.agent.automation.problems import AutomationProblems
from automation.agent.automation.progress_reports import ProgressReports
from automation.agent.automation.retries import PATIENCE_SECONDS, Retries
from automation.agent.automation.turns import HeldTurn, TurnAsker, TurnRefused
from automation.agent.automation.unit_planner import PlannedUnit, UnitPlanner
from automation.agent.automation.work import MoveWork
from automation.agent.faults import log_unexpected
from automation.agent.settings import Settings
from automation.plan.reasons import PlanReason
from automation.plan.values import AFTER_STEP_DOWN, WITH_TURN, FailedMove, Move, MoveKind
from automation.plan.wording import together

log = logging.getLogger("opsapi.agent")

_HEARTBEATS, _HEARTBEAT_SECONDS = 10, 1.0
"""How often the agent looks for a heartbeat since a turn was given, and the seconds between."""
_FOLLOWS_WITHIN, _FOLLOWS_PAUSE = 60.0, 1.0
"""Seconds in which the restart of a former primary may begin under its turn, and between two looks."""


class MoveRunner:
    """Makes moves, one at a time. Not thread-safe."""

    def __init__(
        self,
        settings: Settings,
        planner: UnitPlanner,
        reports: ProgressReports,
        turns: TurnAsker,
        problems: AutomationProblems,
        *,
        stop: threading.Event,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
    ) -> None:
        """`stop`: set when nothing new may begin."""
        self._settings, self._planner, self._reports, self._turns = settings, planner, reports, turns
        self._problems, self._stop = problems, stop
        self._clock, self._monotonic = clock, monotonic
        self.retries = Retries(monotonic)

    def make(self, process: CarriedProcess, move: Move, members: Sequence[str]) -> bool:
        """Make the move, with its turn if it needs one. Returns whether the plan goes on.

        `members`: of its replica set, as observed.
        """
        if why := self.retries.why_not_yet(move):
            self._reports.progress[process.name].wait(PlanReason.TRIES_AGAIN, why)
            return False
        if move.kind not in WITH_TURN:
            return self._carry_out(process, move, None)
        turn = self._take_turn(process, move, members)
        if turn is None:
            return False
        is_done = self._carry_out(process, move, turn)
        if is_done and move.kind is MoveKind.STEP_DOWN:
            return self._follow(process, turn)
        return is_done

    # --- the turn ---------------------------------------------------------------------------------

    def _take_turn(self, process: CarriedProcess, move: Move, members: Sequence[str]) -> HeldTurn | None:
        """The turn for the move, if the platform gives it and the move still follows from what is seen."""
        name, kind = process.name, move.kind.value
        progress = self._reports.progress[name]
        turn = self._turns.ask(move, process.part.version, "ask", members=members)
        if isinstance(turn, TurnRefused):
            self._problems.report(name, f"{name}: {kind} waits: {turn.text}")
            progress.wait(turn.reason or PlanReason.NO_TURN, turn.text)
            return None
        self._problems.report(name, "")
        try:
            planned = self._plan_with(turn, process, move)
        except TurnLost as error:
            log.error("automation: %s: %s does not begin: %s", name, kind, error)
            progress.wait(PlanReason.NO_TURN, f"the turn was lost before {kind} began: {error}")
            return None
        if move not in planned.step.moves:
            why = together(hold.sentence for hold in planned.holds_of(name))
            self._turns.give_back(turn, not_begun=why or "the process does not need the move any more")
            return None
        return turn

    def _plan_with(self, turn: HeldTurn, process: CarriedProcess, move: Move) -> PlannedUnit:
        """Plan by observations after the turn for a move was given. Raises: TurnLost.

        The agent of another machine may have held the turn before. A member of this machine knows its last
        move only after the next heartbeat.
        """
        work, since = self._work(process.name, turn), self._clock()
        for wait in (*[_HEARTBEAT_SECONDS] * _HEARTBEATS, 0.0):
            seen = self._planner.see_unit(process, work)
            planned = self._planner.plan(process, seen, turn=process.name, since=since)
            if move in planned.step.moves or seen.is_heard(since):
                break
            self._stop.wait(wait)
        return planned

    def _follow(self, process: CarriedProcess, turn: HeldTurn) -> bool:
        """Interrupt the former primary while its turn is held: no other move and no pause comes between.

        The turn is given back if the interruption has to wait. Returns whether the plan goes on.
        """
        name = process.name
        progress = self._reports.progress[name]
        end = self._monotonic() + _FOLLOWS_WITHIN
        try:
            while self._monotonic() < end and not self._stop.is_set():
                seen = self._planner.see_unit(process, self._work(name, turn))
                planned = self._planner.plan(process, seen, turn=name)
                move = planned.move_of(name)
                if move is not None and move.kind in AFTER_STEP_DOWN:
                    version, members = process.part.version, planned.members
                    answer = self._turns.ask(move, version, "ask", members=members, follows=turn)
                    if isinstance(answer, HeldTurn):
                        return self._carry_out(process, move, answer)
                    progress.wait(answer.reason or PlanReason.NO_TURN, answer.text)
                    if answer.is_answered:
                        break
                elif move is not None or any(other.kind in WITH_TURN for other in planned.step.moves):
                    # It needs something else first, or stepped down for the move of another member.
                    break
                self._stop.wait(_FOLLOWS_PAUSE)
        except TurnLost as error:
            log.error("automation: %s: nothing follows its step-down: %s", name, error)
            progress.wait(PlanReason.NO_TURN, f"the turn was lost after the step-down: {error}")
            return False
        self._turns.give_back(turn)
        return False

    # --- the move ---------------------------------------------------------------------------------

    def _mover(self, process: CarriedProcess, move: Move, turn: HeldTurn | None) -> Mover:
        work = self._work(process.name, turn)

        def check_again() -> None:
            step = self._planner.step(process, self._planner.see_unit(process, work), turn=process.name)
            if move not in step.moves:
                why = together(hold.sentence for hold in step.holds if hold.concerns(process.name))
                raise MoveDelayed(why or "the process does not need the move any more")

        moved = MovedProcess(
            process.managed,
            self._planner.server(process),
            process.places,
            see=lambda: self._planner.see(process),
            work=work,
            member=lambda address: self._planner.member(process, address),
            check_again=check_again,
        )
        builds = self._planner.builds(process.part)
        return Mover(moved, builds, now=self._clock(), allowed=self._settings.automation_dirs)

    def _work(self, name: str, turn: HeldTurn | None) -> MoveWork:
        """The work of a move of the process, which renews the turn and reports progress."""

        def keep(step: str) -> None:
            if step:
                self._reports.progress[name].step(step, self._clock())
            if step or self._reports.is_old:
                self._reports.send()
            # Last, because a report can take long, and the work begins afterwards.
            if turn is not None:
                self._turns.keep(turn, step)

        return MoveWork(keep, self._monotonic)

    def _carry_out(self, process: CarriedProcess, move: Move, turn: HeldTurn | None) -> bool:
        mover = self._mover(process, move, turn)
        version, progress = process.part.version, self._reports.progress[move.process]
        progress.begin(move, self._clock())
        log.info("automation: %s: %s begins", move.process, move.kind.value)
        self._reports.send()
        failure = ""
        try:
            mover.carry_out(move)
        except MoveFailed as error:
            failure = str(error)
        except MoveDelayed as error:
            if self.retries.note(move, str(error)):
                self._delay(move, turn, str(error))
                return False
            failure = f"{error}; the agent has tried for {PATIENCE_SECONDS / 60:.0f} minutes"
        except TurnLost as error:
            log.error("automation: %s: %s is cut off: %s", move.process, move.kind.value, error)
            progress.cut_off()
            return False
        except Exception as error:  # noqa: BLE001 - the turn is given back, and the plan stops instead of repeating it.
            log_unexpected("automation", error)
            failure = f"an error of the agent: {type(error).__name__}"
        if failure:
            log.error("automation: %s: %s failed: %s", move.process, move.kind.value, failure)
            self._planner.failures[move.process] = FailedMove(version, move.kind, failure, move.process)
        else:
            log.info("automation: %s: %s is done", move.process, move.kind.value)
        self.retries.forget(move)
        self._problems.report(_retried(move), "")
        progress.end(self._clock(), failure)
        if turn is not None and (failure or move.kind is not MoveKind.STEP_DOWN):
            self._turns.give_back(turn, failure=failure)
        elif failure:
            self._turns.fail(move, version, progress.last_step, failure)
        self._reports.send()
        return not failure

    def _delay(self, move: Move, turn: HeldTurn | None, why: str) -> None:
        """The move changed nothing, and is tried again later."""
        self._problems.report(_retried(move), f"{_retried(move)} is tried again: {why}")
        progress = self._reports.progress[move.process]
        progress.cut_off()
        progress.wait(PlanReason.TRIES_AGAIN, why)
        if turn is not None:
            self._turns.give_back(turn, not_begun=why)
        self._reports.send()


def _retried(move: Move) -> str:
    """The subject of a problem with a move that is tried again."""
    return f"{move.process}: {move.kind.value}"
