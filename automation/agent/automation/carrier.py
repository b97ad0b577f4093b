"""Carries out the automation configuration on this machine: fetch, observe, plan, move, report, and again.

Nothing is remembered that a plan depends on. An agent that was killed finds its way from what it sees.
"""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, Callable

from automation.agent.automation.builds import Builds, DocumentBuilds, this_kind
from automation.agent.automation.directories import real_place
from automation.agent.automation.exchange import Exchange
from automation.agent.automation.failures import MoveDelayed, MoveFailed, TurnLost
from automation.agent.automation.logs import LogWork, tend_process
from automation.agent.automation.moved_process import MovedProcess
from automation.agent.automation.moves import Mover
from automation.agent.automation.observe import HOLDS_DATA, SeenProcess, SeenUnit, observe, seen_fleet
from automation.agent.automation.part import MachinePart, ManagedProcess, read_part
from automation.agent.automation.places import ProcessPlaces, only_agent
from automation.agent.automation.process_moves import LAUNCHED
from automation.agent.automation.progress import ProcessProgress, unready
from automation.agent.automation.retries import PATIENCE_SECONDS, Retries
from automation.agent.automation.servers import ManagedServer, ManagedServers
from automation.agent.automation.turns import HeldTurn, TurnAsker, TurnRefused
from automation.agent.automation.users import watch_string
from automation.agent.automation.work import MoveWork
from automation.agent.client import Client, NoChallenge, Unreachable
from automation.agent.engine import ServerAddress
from automation.agent.faults import Problems, log_unexpected, shown
from automation.agent.settings import Settings
from automation.plan.auth import KeyUse, key_use
from automation.plan.guards import observed_key_use
from automation.plan.planner import EndlessPlanError, UnitPlan, own_need, unit_plan, unit_step
from automation.plan.reasons import PlanReason, ReasonKind
from automation.plan.values import (
    AFTER_STEP_DOWN,
    WITH_TURN,
    FailedMove,
    GoalUnit,
    Move,
    MoveKind,
    OwnNeed,
    PlanHold,
    PlanStep,
)
from automation.sections import section

log = logging.getLogger("opsapi.agent")

LONGEST_ROUND = 10.0
"""Seconds between two rounds, if the agent polls less often."""
REPORT_AFTER = 30.0
"""Seconds until progress is reported again, although nothing has changed."""
_HEARTBEATS, _HEARTBEAT_SECONDS = 10, 1.0
"""How often the agent looks for a heartbeat since a turn was given, and the seconds between."""
_FOLLOWS_WITHIN, _FOLLOWS_PAUSE = 60.0, 1.0
"""Seconds in which the restart of a former primary may begin under its turn, and between two looks."""
_SAY_AFTER = 60.0
"""Seconds until the platform hears again that a move waits. It forgets a move after ten minutes."""
_MOST_MOVES = 50
"""Of a process in one round."""


class AutomationCarrier:
    """The thread that carries out the configuration."""

    def __init__(
        self,
        settings: Settings,
        client: Client,
        version: str,
        *,
        clock: Callable[[], datetime] = lambda: datetime.now(timezone.utc),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`client` belongs to this thread alone; `version` is of the agent."""
        self._settings, self._client, self._version = settings, client, version
        self._clock, self._monotonic = clock, monotonic
        self._turns = TurnAsker(client, settings.hostname, monotonic)
        self._servers = ManagedServers(settings.mongodb)
        self._problems = Problems()
        self._exchange = Exchange(client, settings.hostname, self._problems, monotonic)
        self._part: MachinePart | None = None
        self._etag = ""
        self._failures: dict[str, FailedMove] = {}
        """The moves that failed here, until the platform says which moves stopped plans."""
        self._retries = Retries(monotonic)
        self._progress: dict[str, ProcessProgress] = {}
        self._needs: dict[str, OwnNeed] = {}
        self._said: dict[str, float] = {}
        """When the platform was last asked to remember that the next move of a process waits."""
        self._members: dict[str, Sequence[str]] = {}
        """The members of each replica set as last observed; of a single process, none."""
        self._sent, self._sent_at = b"", float("-inf")
        self._watched: dict[ServerAddress, str] = {}
        """The connection strings of managed servers that are watched."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="automation", daemon=True)

    @property
    def connection_strings(self) -> Sequence[str]:
        """The connection strings of managed servers that the settings do not name: they are watched, too."""
        return tuple(self._watched.copy().values())

    def follow(self, settings: Settings) -> None:
        """Connect to managed servers as the connection strings of these settings say."""
        self._servers = ManagedServers(settings.mongodb)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Begin no more moves, and wait for the end of the move that has begun."""
        self._stop.set()
        self._thread.join(seconds)
        if self._thread.is_alive():
            log.warning(
                "automation: a move is cut off; the next start of the agent continues from what it sees"
            )

    def _run(self) -> None:
        wait = min(float(self._settings.interval), LONGEST_ROUND)
        while not self._stop.is_set():
            try:
                self.round()
            except Exception as error:  # noqa: BLE001 - an error in our code must not stop the automation.
                log_unexpected("automation", error)
            self._stop.wait(wait)

    def round(self) -> None:
        """Bring each process of this machine as near to the goal as possible now, and report."""
        LAUNCHED[:] = [child for child in LAUNCHED if child.poll() is None]
        is_settled = self._turns.settle()
        self._problem("turns", "" if is_settled else "the platform does not have the end of each move yet")
        if self._fetch() and is_settled:
            self._failures.clear()
        part = self._part
        if part is None:
            return
        base = real_place(part.base, self._settings.automation_dirs)
        if base is not None and part.processes and not self._try_work(part, base):
            return
        self._report()

    def _try_work(self, part: MachinePart, base: Path) -> bool:
        """Work on all processes. Returns whether this agent is the one that reports their progress."""
        try:
            with only_agent(base) as is_alone:
                fault = "" if is_alone else f"another agent carries out the plan below {base}"
                self._problem("lock", fault)
                for name in part.processes if is_alone else ():
                    # Another version can be published while a move takes long.
                    if not self._stop.is_set():
                        self._work(part, part.processes[name], ProcessPlaces(base, name))
                    if not self._stop.is_set():
                        self._tend_logs(part, part.processes[name], ProcessPlaces(base, name))
                return is_alone
        except OSError as error:
            fault = f"{error.filename or base} cannot be used: {error.strerror}"
            self._problem("lock", fault)
            for name in part.processes:
                self._progress[name].error = fault
            return True

    def _problem(self, about: str, why: str) -> None:
        self._problems.report(f"automation: {about}", why, f"automation: {why}")

    # --- the goal ---------------------------------------------------------------------------------

    def _fetch(self) -> bool:
        """Get the part of this machine. Without an answer, the last one stays.

        Returns whether the part is the current one, with all moves that stopped plans.
        """
        try:
            answer = self._client.automation(self._settings.hostname, self._etag)
        except (Unreachable, NoChallenge) as error:
            self._problem("the platform", f"the platform does not give the configuration: {error}")
            return False
        if answer.status == 304:
            self._problem("the platform", "")
            return True
        if answer.status != 200:
            self._problem("the platform", f"the platform does not give the configuration: {answer.detail}")
            return False
        self._problem("the platform", "")
        try:
            part = read_part(answer.document, self._settings.hostname, self._settings.automation_dirs)
        except Exception as error:  # noqa: BLE001 - an error in our code must not stop work on the last part.
            log_unexpected("automation", error)
            self._problem("the configuration", "the agent cannot read the configuration of the platform")
            return False
        self._problem("the configuration", "")
        self._part, self._etag = part, answer.etag
        self._retries.forget_all()
        self._progress = {
            name: self._progress.get(name) or ProcessProgress(hostname)
            for name, hostname in part.hostnames.items()
            if name in part.processes or name in part.faults
        }
        for name, progress in self._progress.items():
            progress.hostname = part.hostnames[name]
            progress.begin_version(part.version)
            progress.error = part.faults.get(name, progress.error)
        log.info(
            "automation: version=%d processes=%d left_alone=%d",
            part.version,
            len(part.processes),
            len(part.faults),
        )
        for name, fault in part.faults.items():
            self._problem(name, f"{name} is left alone: {fault}")
        return True

    # --- a process --------------------------------------------------------------------------------

    def _work(self, part: MachinePart, managed: ManagedProcess, places: ProcessPlaces) -> None:
        """Make the moves of a process, until it waits or has reached the goal."""
        name = managed.goal.name
        progress = self._progress[name]
        progress.reached = max(progress.reached, places.read_reached())
        for _ in range(_MOST_MOVES):
            seen = self._seen_unit(part, managed.unit, places)
            step = self._planned(part, managed, seen)
            move = next((move for move in step.moves if move.process == name), None)
            self._watch(managed, seen.own[name])
            if seen.own[name].process.state in HOLDS_DATA:
                self._write(name, places.note_data)
            process = seen.own[name].process
            if process.is_running and process.version:
                use = observed_key_use(process)
                self._write(name, partial(places.note_running, process.version, use))
            if move is None:
                self._say_wait(part, name, step)
                self._note_reached(part, managed, places, seen.own[name], step)
                return
            if self._stop.is_set() or not self._make(part, managed, places, move):
                return

    def _planned(
        self,
        part: MachinePart,
        managed: ManagedProcess,
        seen: SeenUnit,
        *,
        turn: str = "",
        since: datetime | None = None,
    ) -> PlanStep:
        """Plan the unit of a process, as it was observed. `turn`: its holder, `since` when."""
        name, unit = managed.goal.name, managed.unit
        now = self._clock()
        fleet = seen_fleet(seen, unit, now, is_paused=part.is_paused, turn=turn, since=since)
        step = unit_step(part.goal, unit, fleet)
        plan: UnitPlan | None = None
        try:
            plan = unit_plan(part.goal, unit, fleet)
        except EndlessPlanError as error:
            log_unexpected("automation", error)
        notes: Sequence[PlanHold] = (*unit.notes, *part.goal.notes)
        self._progress[name].draw(plan, [*step.holds, *notes], name)
        self._needs[name] = own_need(part.goal, unit, fleet, name)
        config = fleet.sets[unit.replica_set].config if unit.replica_set else ()
        self._members[unit.replica_set] = [member.process for member in config or ()]
        return step

    def _say_wait(self, part: MachinePart, name: str, step: PlanStep) -> None:
        """Say once a minute to the platform that the next move of a process waits, and why."""
        need = self._needs.get(name, OwnNeed())
        holds = [hold for hold in step.holds if hold.process in {name, ""}]
        waits = [hold.sentence for hold in holds if hold.reason.kind is ReasonKind.WAITS]
        is_stopped = part.is_paused or any(hold.reason is PlanReason.STOPPED for hold in holds)
        if need.move not in WITH_TURN or not waits or is_stopped:
            self._said.pop(name, None)
        elif self._monotonic() - self._said.get(name, float("-inf")) >= _SAY_AFTER:
            self._said[name] = self._monotonic()
            self._turns.wait(Move(need.move, name), part.version, "; ".join(waits))

    def _seen_unit(
        self, part: MachinePart, unit: GoalUnit, places: ProcessPlaces, work: MoveWork | None = None
    ) -> SeenUnit:
        """Observe all processes of a unit. `places`: of any of them. `work`: of a move that holds a turn.

        Raises: TurnLost.
        """

        def look() -> Mapping[str, SeenProcess]:
            return {
                member.goal.name: self._seen(part, member, places.of(member.goal.name))
                for member in part.of_unit(unit)
            }

        own = look() if work is None else work.run(look)
        if not any(process.is_elsewhere for process in unit.processes):
            return SeenUnit(own)
        # Not as work: the client belongs to this thread, which renews the turn.
        before = SeenUnit(own, self._exchange.reported(unit, part.version))
        known = seen_fleet(before, unit, self._clock())
        needs = {name: own_need(part.goal, unit, known, name) for name in own if name in part.processes}
        return SeenUnit(own, self._exchange.renew(unit, part.version, own, needs))

    def _seen(self, part: MachinePart, managed: ManagedProcess, places: ProcessPlaces) -> SeenProcess:
        name = managed.goal.name
        failure = part.failures.get(name) or self._failures.get(name)
        return observe(
            managed,
            self._server(managed),
            places,
            self._builds(part),
            versions=part.goal.versions,
            failure=failure,
            now=self._clock(),
        )

    def _server(self, managed: ManagedProcess) -> ManagedServer:
        return self._servers.server(managed.address, managed.key)

    def _builds(self, part: MachinePart) -> DocumentBuilds:
        return DocumentBuilds(Builds(part.base, self._settings.automation_dirs), part.builds, this_kind())

    def _note_reached(
        self,
        part: MachinePart,
        managed: ManagedProcess,
        places: ProcessPlaces,
        seen: SeenProcess,
        step: PlanStep,
    ) -> None:
        """Without moves and reasons to wait, a process that serves or is disabled has reached the version."""
        is_down = managed.goal.is_disabled and seen.process.is_running is False
        waits = [hold for hold in step.holds if hold.reason.kind in {ReasonKind.WAITS, ReasonKind.REFUSED}]
        progress = self._progress[managed.goal.name]
        if (waits and not is_down) or step.moves:
            return
        hold = None if is_down else unready(managed.unit, managed.goal.name, seen.process)
        if hold is not None:
            progress.wait(hold.reason, hold.sentence)
            return
        progress.waits = ()
        if progress.reached != part.version:
            self._write(managed.goal.name, lambda: places.write_reached(part.version))
            progress.reached = part.version

    def _write(self, name: str, write: Callable[[], None]) -> None:
        """Write a file of the process; a file that cannot be written is a problem, and the plan goes on."""
        try:
            write()
        except (OSError, MoveFailed) as error:
            self._problem(name, str(error))

    def _watch(self, managed: ManagedProcess, seen: SeenProcess) -> None:
        """Watch a server as soon as it has run, as the user of the document unless it has no key file."""
        address, settings = managed.address, seen.process.settings
        is_there = bool(seen.process.is_running or seen.process.has_data)
        wanted = is_there and not managed.goal.is_disabled and not self._servers.is_watched(address)
        if not wanted:
            self._watched.pop(address, None)
        elif settings is not None or address not in self._watched:
            is_open = settings is not None and key_use(settings) is KeyUse.NONE
            self._watched[address] = watch_string(address, {} if is_open else managed.auth)

    def _tend_logs(self, part: MachinePart, managed: ManagedProcess, places: ProcessPlaces) -> None:
        """Rotate, compress and delete logs, also of a plan that stopped or waits: it interrupts no client."""
        name = managed.goal.name
        stated = section(managed.document, "logRotate")
        work = LogWork()
        if stated and not part.is_paused:
            seen = self._seen(part, managed, places)
            server = self._server(managed)
            work = tend_process(seen, stated, server, self._settings.automation_dirs, self._clock())
        for done, paths in (
            ("rotated", work.rotated),
            ("compressed", work.compressed),
            ("deleted", work.deleted),
        ):
            for path in paths:
                log.info("automation: %s: log %s: %s", name, done, shown(path))
        self._progress[name].log_problems = work.problems
        why = "; ".join(work.problems)
        self._problem(f"{name}: logRotate", why and f"{name}: logRotate: {why}")

    # --- a move -----------------------------------------------------------------------------------

    def _make(self, part: MachinePart, managed: ManagedProcess, places: ProcessPlaces, move: Move) -> bool:
        """Make the move, with its turn if it needs one. Returns whether the plan goes on."""
        name = managed.goal.name
        progress = self._progress[name]
        if why := self._retries.why_not_yet(move):
            progress.wait(PlanReason.TRIES_AGAIN, why)
            return False
        mover = self._mover(part, managed, places, None)
        if not mover.can(move.kind):
            progress.error = f"this version of the agent does not make the move {move.kind.value}"
            return False
        if move.kind not in WITH_TURN:
            return self._carry_out(mover, part, move, None)
        turn = self._take_turn(part, managed, places, move)
        if turn is None:
            return False
        is_done = self._carry_out(self._mover(part, managed, places, turn), part, move, turn)
        if is_done and move.kind is MoveKind.STEP_DOWN:
            return self._follow(part, managed, places, turn)
        return is_done

    def _take_turn(
        self, part: MachinePart, managed: ManagedProcess, places: ProcessPlaces, move: Move
    ) -> HeldTurn | None:
        """The turn for the move, if the platform gives it and the move still follows from what is seen."""
        name = managed.goal.name
        progress = self._progress[name]
        turn = self._turns.ask(move, part.version, "ask", members=self._members[move.replica_set])
        if isinstance(turn, TurnRefused):
            self._problem(name, f"{name}: {move.kind.value} waits: {turn.text}")
            progress.wait(turn.reason or PlanReason.NO_TURN, turn.text)
            return None
        self._problem(name, "")
        try:
            step = self._step_with(turn, part, managed, places, move)
        except TurnLost as error:
            log.error("automation: %s: %s does not begin: %s", name, move.kind.value, error)
            progress.wait(PlanReason.NO_TURN, f"the turn was lost before {move.kind.value} began: {error}")
            return None
        if move not in step.moves:
            why = "; ".join(hold.sentence for hold in step.holds if hold.process in {name, ""})
            self._turns.give_back(turn, not_begun=why or "the process does not need the move any more")
            return None
        return turn

    def _follow(
        self, part: MachinePart, managed: ManagedProcess, places: ProcessPlaces, turn: HeldTurn
    ) -> bool:
        """Interrupt the former primary while its turn is held: no other move and no pause comes between.

        The turn is given back if the interruption has to wait. Returns whether the plan goes on.
        """
        name = managed.goal.name
        end = self._monotonic() + _FOLLOWS_WITHIN
        try:
            while self._monotonic() < end and not self._stop.is_set():
                seen = self._seen_unit(part, managed.unit, places, self._move_work(name, turn))
                step = self._planned(part, managed, seen, turn=name)
                move = next((move for move in step.moves if move.process == name), None)
                if move is not None and move.kind not in WITH_TURN:
                    if not self._carry_out(self._mover(part, managed, places, turn), part, move, None):
                        break
                    continue
                if move is not None and move.kind in AFTER_STEP_DOWN:
                    members = self._members[move.replica_set]
                    answer = self._turns.ask(move, part.version, "ask", members=members, follows=turn)
                    if isinstance(answer, HeldTurn):
                        return self._carry_out(self._mover(part, managed, places, answer), part, move, answer)
                    self._progress[name].wait(answer.reason or PlanReason.NO_TURN, answer.text)
                    if answer.is_answered:
                        break
                elif any(other.kind in WITH_TURN for other in step.moves):
                    # It stepped down for the move of another member.
                    break
                self._stop.wait(_FOLLOWS_PAUSE)
        except TurnLost as error:
            log.error("automation: %s: nothing follows its step-down: %s", name, error)
            self._progress[name].wait(PlanReason.NO_TURN, f"the turn was lost after the step-down: {error}")
            return False
        self._turns.give_back(turn)
        return False

    def _step_with(
        self, turn: HeldTurn, part: MachinePart, managed: ManagedProcess, places: ProcessPlaces, move: Move
    ) -> PlanStep:
        """Plan by observations after the turn for a move was given. Raises: TurnLost.

        The agent of another machine may have held the turn before. A member of this machine knows its last
        move only after the next heartbeat.
        """
        work, since = self._move_work(managed.goal.name, turn), self._clock()
        for wait in (*[_HEARTBEAT_SECONDS] * _HEARTBEATS, 0.0):
            seen = self._seen_unit(part, managed.unit, places, work)
            step = self._planned(part, managed, seen, turn=managed.goal.name, since=since)
            if move in step.moves or seen.is_heard(since):
                break
            self._stop.wait(wait)
        return step

    def _mover(
        self, part: MachinePart, managed: ManagedProcess, places: ProcessPlaces, turn: HeldTurn | None
    ) -> Mover:
        moved = MovedProcess(
            managed,
            self._server(managed),
            places,
            see=lambda: self._seen(part, managed, places),
            work=self._move_work(managed.goal.name, turn),
            member=lambda other: self._servers.member(managed.address, managed.key, other),
        )
        return Mover(moved, self._builds(part), now=self._clock(), allowed=self._settings.automation_dirs)

    def _move_work(self, name: str, turn: HeldTurn | None) -> MoveWork:
        """The work of a move of the process, which renews the turn and reports progress."""

        def keep(step: str) -> None:
            if step:
                self._progress[name].step(step, self._clock())
            if step or self._monotonic() - self._sent_at > REPORT_AFTER:
                self._report()
            # Last, because a report can take long, and the work begins afterwards.
            if turn is not None:
                self._turns.keep(turn, step)

        return MoveWork(keep, self._monotonic)

    def _carry_out(self, mover: Mover, part: MachinePart, move: Move, turn: HeldTurn | None) -> bool:
        progress = self._progress[move.process]
        progress.begin(move, self._clock())
        log.info("automation: %s: %s begins", move.process, move.kind.value)
        self._report()
        failure = ""
        try:
            mover.carry_out(move)
        except MoveFailed as error:
            failure = str(error)
        except MoveDelayed as error:
            if self._retries.note(move, str(error)):
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
            self._failures[move.process] = FailedMove(part.version, move.kind, failure)
        else:
            log.info("automation: %s: %s is done", move.process, move.kind.value)
        self._retries.forget(move)
        self._problem(_retried(move), "")
        progress.end(self._clock(), failure)
        if turn is not None and (failure or move.kind is not MoveKind.STEP_DOWN):
            self._turns.give_back(turn, failure=failure)
        elif failure:
            self._turns.fail(move, part.version, progress.last_step, failure)
        self._report()
        return not failure

    def _delay(self, move: Move, turn: HeldTurn | None, why: str) -> None:
        """The move changed nothing, and is tried again later."""
        self._problem(_retried(move), f"{_retried(move)} is tried again: {why}")
        progress = self._progress[move.process]
        progress.cut_off()
        progress.wait(PlanReason.TRIES_AGAIN, why)
        if turn is not None:
            self._turns.give_back(turn, not_begun=why)
        self._report()

    # --- the report -------------------------------------------------------------------------------

    def _report(self) -> None:
        """Report the progress if it has changed, or if the last report is old."""
        rows = [progress.document(name) for name, progress in self._progress.items()]
        report: dict[str, Any] = {
            "agentType": "AUTOMATION",
            "hostname": self._settings.hostname,
            "version": self._version,
            "processes": rows,
        }
        body = json.dumps(report).encode()
        if body == self._sent and self._monotonic() - self._sent_at < REPORT_AFTER:
            return
        try:
            answer = self._client.report(body, uuid.uuid4().hex)
        except (Unreachable, NoChallenge) as error:
            self._problem("report", f"progress is not reported: {error}")
            return
        if not answer.accepted:
            self._problem("report", f"progress is not reported: {answer.detail}")
            return
        self._problem("report", "")
        self._sent, self._sent_at = body, self._monotonic()


def _retried(move: Move) -> str:
    """The subject of a problem with a move that is tried again."""
    return f"{move.process}: {move.kind.value}"
