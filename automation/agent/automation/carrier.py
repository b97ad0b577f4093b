"""Carries out the automation configuration on this machine: fetch, observe, plan, move, report, and again.

Nothing is remembered that a plan depends on. An agent that was killed finds its way from what it sees.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Callable

from automation.agent.automation.carried_process import CarriedProcess
from automation.agent.automation.directories import real_place
from automation.agent.automation.exchange import Exchange
from automation.agent.automation.failures import MoveFailed
from automation.agent.automation.log_keeper import LogKeeper
from automation.agent.automation.move_runner import MoveRunner
from automation.agent.automation.observe import HOLDS_DATA
from automation.agent.automation.part import MachinePart, ManagedProcess, read_part
from automation.agent.automation.places import ProcessPlaces, only_agent
from automation.agent.automation.platform_clock import PlatformClock
from automation.agent.automation.problems import AutomationProblems
from automation.agent.automation.process_moves import LAUNCHED
from automation.agent.automation.progress import unready
from automation.agent.automation.progress_reports import ProgressReports
from automation.agent.automation.servers import ManagedServers
from automation.agent.automation.turns import TurnAsker
from automation.agent.automation.unit_planner import PlannedUnit, UnitPlanner
from automation.agent.automation.users import watch_string
from automation.agent.client import Client, NoChallenge, Unreachable
from automation.agent.engine import ServerAddress
from automation.agent.faults import log_unexpected
from automation.agent.settings import Settings
from automation.plan.auth import KeyUse, key_use
from automation.plan.guards import WITH_ALL_DATA, observed_key_use
from automation.plan.reasons import PlanReason, ReasonKind
from automation.plan.values import ObservedProcess, PlanStep
from automation.plan.wording import together

log = logging.getLogger("opsapi.agent")

LONGEST_ROUND = 10.0
"""Seconds between two rounds, if the agent polls less often."""
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
        self._settings, self._client = settings, client
        self._clock, self._monotonic = PlatformClock(clock), monotonic
        self._stop = threading.Event()
        self._problems = AutomationProblems()
        self._turns = TurnAsker(client, settings.hostname, monotonic)
        self._reports = ProgressReports(client, settings.hostname, version, self._problems, monotonic)
        exchange = Exchange(client, settings.hostname, self._problems, monotonic)
        self._planner = UnitPlanner(settings, exchange, self._reports, self._clock)
        self._runner = MoveRunner(
            settings,
            self._planner,
            self._reports,
            self._turns,
            self._problems,
            stop=self._stop,
            clock=self._clock,
            monotonic=monotonic,
        )
        dirs = settings.automation_dirs
        self._logs = LogKeeper(self._planner, self._reports, self._problems, dirs, clock)
        self._part: MachinePart | None = None
        self._etag = ""
        self._said: dict[str, float] = {}
        """When the platform was last asked to remember that the next move of a process waits."""
        self._watched: dict[ServerAddress, str] = {}
        """The connection strings of managed servers that are watched."""
        self._thread = threading.Thread(target=self._run, name="automation", daemon=True)

    @property
    def connection_strings(self) -> Sequence[str]:
        """The connection strings of managed servers that the settings do not name: they are watched, too."""
        return tuple(self._watched.copy().values())

    def follow(self, settings: Settings) -> None:
        """Connect to managed servers as the connection strings of these settings say."""
        self._planner.servers = ManagedServers(settings.mongodb)

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
        unsettled = self._turns.settle()
        self._problems.report(
            "turns", unsettled and f"the platform does not have the end of each move yet: {unsettled}"
        )
        if self._fetch() and not unsettled:
            self._planner.failures.clear()
        part = self._part
        if part is None:
            return
        base = real_place(part.base, self._settings.automation_dirs)
        if base is not None and part.processes and not self._try_work(part, base):
            return
        self._reports.send()

    def _try_work(self, part: MachinePart, base: Path) -> bool:
        """Work on all processes. Returns whether this agent is the one that reports their progress."""
        try:
            with only_agent(base) as is_alone:
                fault = "" if is_alone else f"another agent carries out the plan below {base}"
                self._problems.report("lock", fault)
                for name in part.processes if is_alone else ():
                    process = CarriedProcess(part, part.processes[name], ProcessPlaces(base, name))
                    # Another version can be published while a move takes long.
                    if not self._stop.is_set():
                        self._work(process)
                    if not self._stop.is_set():
                        self._logs.tend(process)
                return is_alone
        except OSError as error:
            fault = f"{error.filename or base} cannot be used: {error.strerror}"
            self._problems.report("lock", fault)
            for name in part.processes:
                self._reports.progress[name].error = fault
            return True

    # --- the goal ---------------------------------------------------------------------------------

    def _fetch(self) -> bool:
        """Get the part of this machine. Without an answer, the last one stays.

        Returns whether the part is the current one, with all moves that stopped plans.
        """
        try:
            answer = self._client.automation(self._settings.hostname, self._etag)
        except (Unreachable, NoChallenge) as error:
            self._problems.report("the platform", f"the platform does not give the configuration: {error}")
            return False
        self._clock.set(answer.date)
        if answer.status == 304:
            self._problems.report("the platform", "")
            return True
        if answer.status != 200:
            self._problems.report(
                "the platform", f"the platform does not give the configuration: {answer.detail}"
            )
            return False
        self._problems.report("the platform", "")
        try:
            part = read_part(answer.document, self._settings.hostname, self._settings.automation_dirs)
        except Exception as error:  # noqa: BLE001 - an error in our code must not stop work on the last part.
            log_unexpected("automation", error)
            self._problems.report(
                "the configuration", "the agent cannot read the configuration of the platform"
            )
            return False
        self._problems.report("the configuration", "")
        self._part, self._etag = part, answer.etag
        self._runner.retries.forget_all()
        self._reports.follow(part)
        log.info(
            "automation: version=%d processes=%d left_alone=%d",
            part.version,
            len(part.processes),
            len(part.faults),
        )
        for name, fault in part.faults.items():
            self._problems.report(name, f"{name} is left alone: {fault}")
        return True

    # --- a process --------------------------------------------------------------------------------

    def _work(self, process: CarriedProcess) -> None:
        """Make the moves of a process, until it waits or has reached the goal."""
        name, places = process.name, process.places
        progress = self._reports.progress[name]
        progress.reached = max(progress.reached, places.read_reached())
        for _ in range(_MOST_MOVES):
            unit_seen = self._planner.see_unit(process)
            planned = self._planner.plan(process, unit_seen)
            move = planned.move_of(name)
            seen = unit_seen.own[name].process
            self._watch(process.managed, seen)
            if seen.state in HOLDS_DATA:
                self._write(name, places.note_data)
            if seen.state in WITH_ALL_DATA:
                self._write(name, partial(places.note_return, self._clock()))
            if seen.is_running and seen.version:
                use, resync = observed_key_use(seen), process.managed.goal.resync
                self._write(name, partial(places.note_running, seen, use, resync))
            if move is None:
                self._say_wait(process.part, name, planned)
                self._note_reached(process, seen, planned.step)
                return
            if self._stop.is_set() or not self._runner.make(process, move, planned.members):
                return

    def _say_wait(self, part: MachinePart, name: str, planned: PlannedUnit) -> None:
        """Say once a minute to the platform that the next move of a process or of its set waits, and why."""
        is_reached = self._reports.progress[name].reached == part.version
        move, holds = planned.waiting_move(name, is_reached=is_reached), planned.holds_of(name)
        waits = [hold.sentence for hold in holds if hold.reason.kind is ReasonKind.WAITS]
        is_stopped = part.is_paused or any(hold.reason is PlanReason.STOPPED for hold in holds)
        if move is None or not waits or is_stopped:
            self._said.pop(name, None)
        elif self._monotonic() - self._said.get(name, float("-inf")) >= _SAY_AFTER:
            self._said[name] = self._monotonic()
            self._turns.wait(move, part.version, together(waits))

    def _note_reached(self, process: CarriedProcess, seen: ObservedProcess, step: PlanStep) -> None:
        """Without moves and reasons to wait, a process that serves or is disabled has reached the version."""
        name, version = process.name, process.part.version
        is_down = process.managed.goal.is_disabled and seen.is_running is False
        waits = [hold for hold in step.holds if hold.reason.kind in {ReasonKind.WAITS, ReasonKind.REFUSED}]
        progress = self._reports.progress[name]
        if (waits and not is_down) or step.moves:
            return
        hold = None if is_down else unready(process.unit, name, seen)
        if hold is not None:
            progress.wait(hold.reason, hold.sentence)
            return
        progress.waits = ()
        if progress.reached != version:
            self._write(name, partial(process.places.write_reached, version))
            progress.reached = version

    def _write(self, name: str, write: Callable[[], None]) -> None:
        """Write a file of the process; a file that cannot be written is a problem, and the plan goes on."""
        try:
            write()
        except (OSError, MoveFailed) as error:
            self._problems.report(name, str(error))

    def _watch(self, managed: ManagedProcess, seen: ObservedProcess) -> None:
        """Watch a server as soon as it has run, as the user of the document unless it has no key file."""
        address, settings = managed.address, seen.settings
        is_there = bool(seen.is_running or seen.has_data)
        wanted = is_there and not managed.goal.is_disabled and not self._planner.servers.is_watched(address)
        if not wanted:
            self._watched.pop(address, None)
        elif settings is not None or address not in self._watched:
            is_open = settings is not None and key_use(settings) is KeyUse.NONE
            self._watched[address] = watch_string(address, {} if is_open else managed.auth)
