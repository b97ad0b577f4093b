"""`python -m automation.agent`: monitors databases and reports to the platform until SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import resource
import signal
import sys
import threading
import time
from collections import ChainMap
from collections.abc import Sequence
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from automation.agent.backups import BackupMarkers
from automation.agent.central import PATIENCE, CentralSource, changes_of, merged
from automation.agent.check import check
from automation.agent.client import client_of
from automation.agent.engine import ServerAddress
from automation.agent.engines import Engines
from automation.agent.faults import log_unexpected
from automation.agent.leases import Leases
from automation.agent.poller import Choice, Poller, PollRound
from automation.agent.program import Program, running_program
from automation.agent.report import bodies_of, measurements_in
from automation.agent.sender import Sender, Spool, SpoolInUse
from automation.agent.settings import PREFIX, Settings, SettingsError, read_settings
from automation.agent.trial import OPTION, UpdateTrial, run_trial
from automation.agent.update import Updates
from opsapi import VERSION

if TYPE_CHECKING:
    from automation.agent.automation.carrier import AutomationCarrier

log = logging.getLogger("opsapi.agent")

STOP_SECONDS = 3.0
MOVE_SECONDS = 60.0
"""How long the agent waits for the end of a move before it ends."""
DRAIN_SECONDS = 1.0
"""How long the log line of a round waits for the reports to be sent."""

ONCE_SECONDS = 60.0
SHORTEST_ASK, LONGEST_ASK = 2.0, 10.0
"""How long a round waits for each part of the answer that assigns hosts, in seconds."""

OK, FAILED, BAD_SETTINGS = 0, 1, 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the agent. Returns the exit status: 0, 1 if it cannot run or report, 2 for wrong settings."""
    options = _options(arguments)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", force=True
    )
    # pymongo logs commands, and other log levels can quote a connection string.
    logging.getLogger("pymongo").setLevel(logging.CRITICAL)
    if options.check:
        works = check(lambda: read_settings(os.environ, options.config), options.config, _say)
        return OK if works else FAILED
    try:
        settings = read_settings(os.environ, options.config)
        engines = Engines(settings)
    except SettingsError as error:
        for fault in error.faults:
            print(fault, file=sys.stderr)  # noqa: T201 - this is a program
        return BAD_SETTINGS
    try:
        spool = Spool(settings.spool_dir, time.time)
    except (SpoolInUse, OSError) as error:
        print(f"{PREFIX}SPOOL_DIR {settings.spool_dir}: {error}", file=sys.stderr)  # noqa: T201 - this is a program
        return FAILED
    allow_most_files()
    trial = None if options.trial is None else UpdateTrial(options.trial)
    return AgentProcess(settings, engines, spool, trial).run(once=options.once)


class AgentProcess:
    """The program: this thread runs rounds of polls, another thread sends the reports."""

    def __init__(
        self, own: Settings, engines: Engines, spool: Spool, trial: UpdateTrial | None = None
    ) -> None:
        """`own` are the settings of this machine, and `engines` are of these settings.

        `trial` is given to a new file that has yet to prove that it works.
        """
        self._own = self._settings = settings = own
        self._engines, self._spool = engines, spool
        self._central = CentralSource(client_of(settings, PATIENCE), settings)
        self._ask_again = 0.0
        self._stop = threading.Event()
        self._trial = trial
        self._updates: Updates | None = None
        self._sender = Sender(client_of(settings), spool, settings.hostname, self._prove)
        patience = max(SHORTEST_ASK, min(settings.interval / 2, LONGEST_ASK))
        self._leases = Leases(
            client_of(settings, patience),
            settings.spool_dir,
            hostname=settings.hostname,
            version=VERSION,
            interval=settings.interval,
        )
        self._poller = Poller(engines.all, settings.interval, self._stop)
        self._backups = BackupMarkers(own.backup_markers)
        self._automation: AutomationCarrier | None = None
        self._managed: Sequence[str] = ()
        self._sent = 0
        self._is_idle = self._is_replaced = False

    def run(self, *, once: bool) -> int:
        """Run until a signal, or for a single round. Returns the exit status."""
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: self._stop.set())
        if self._settings.url.startswith("http://"):
            log.warning("%sURL: reports and settings travel without TLS", PREFIX)
        log.info("opsapi-agent %s reports to %s", VERSION, self._settings.url)
        if self._trial is not None:
            self._trial.watch(self._stop.set)
        program = running_program(sys.argv[1:])
        if not once:  # Also on trial, so that a fault here ends the trial, and not the agent after it.
            self._updates = Updates(
                program, self._own, VERSION, client_of(self._own), monotonic=time.monotonic, clock=time.time
            )
        self._sender.start()
        if self._own.automation and not once and self._trial is None:
            self._automation = _automation(self._own)
            self._automation.start()
        self._take_central()
        self._look()
        status = self._once() if once else self._rounds()
        if self._automation is not None:
            self._automation.stop(MOVE_SECONDS)
        self._sender.stop(STOP_SECONDS)
        if self._updates is not None:
            self._updates.close()
        goes_on = self._is_replaced or (self._trial is not None and self._trial.is_over)
        if not goes_on:  # Another process of this agent keeps the hosts.
            self._leases.give_back()
        self._engines.close()
        log.info("stopped; %d reports are waiting", len(self._spool))
        self._spool.close()
        if self._is_replaced and program is not None and self._updates is not None:
            return self._hand_over(self._updates, program)
        return status

    def _hand_over(self, updates: Updates, program: Program) -> int:
        """Let a new file report. Then run the file that the program is now, the new or the old."""
        if not updates.hand_over(partial(run_trial, stop=self._stop), self._settings.interval):
            return OK
        if self._stop.is_set():
            return OK
        command = program.command()
        try:
            os.execv(command[0], command)  # noqa: S606 - the interpreter of this process
        except OSError as error:
            log.error("%s cannot run: %s", command[0], error.strerror)
            return FAILED

    def _rounds(self) -> int:
        due = time.monotonic()
        is_early = False
        while not self._stop.is_set():
            is_due = time.monotonic() >= self._ask_again or self._managed != self._strings()
            if is_due and self._take_central():
                self._look()
            poll_round = self._round()
            if self._has_update() and not len(self._spool) and not self._stop.is_set():
                # The platform has everything, so the next report that it accepts is of the new file.
                self._is_replaced = True
                break
            # From start to start. After the machine slept, missed rounds are not repeated.
            wait = self._settings.interval if self._leases.again is None else self._leases.again
            # The agent asks for newly found hosts immediately, then at the usual interval.
            is_early = bool(poll_round.found) and not is_early
            due = time.monotonic() if is_early else max(due + wait, time.monotonic())
            self._stop.wait(due - time.monotonic())
        return OK

    def _prove(self) -> None:
        if self._trial is not None:
            self._trial.prove()

    def _has_update(self) -> bool:
        """Whether a new file is ready for its trial."""
        try:
            return self._updates is not None and self._trial is None and self._updates.work()
        except Exception as error:  # noqa: BLE001 - an error in our code must not stop the monitoring.
            log_unexpected("update", error)
            return False

    def _take_central(self) -> bool:
        """Ask the platform for settings, and apply them. Returns whether other servers are watched."""
        try:
            self._central.refresh()
            if self._updates is not None:
                self._updates.follow(self._central.current.update)
            return self._apply(merged(self._own, self._central.current))
        except Exception as error:  # noqa: BLE001 - an error in our code must not stop the monitoring.
            log_unexpected("settings of the platform", error)
            return False
        finally:
            self._ask_again = time.monotonic() + self._central.seconds

    def _apply(self, settings: Settings) -> bool:
        changes = changes_of(self._settings, settings)
        if changes:
            log.info("settings of the platform: %s", ", ".join(changes))
        self._settings = settings
        if self._automation is not None:
            self._automation.follow(settings)
        self._managed = self._strings()
        has_changed = self._engines.change(settings, self._managed)
        self._poller.change(self._engines.all, settings.interval)
        self._leases.interval = settings.interval
        is_idle = not self._engines.all and self._automation is None
        if is_idle and not self._is_idle:
            todo = f"set {PREFIX}MONGODB or {PREFIX}POSTGRESQL, or write the settings in the platform"
            log.warning("there is nothing to watch: %s", todo)
        self._is_idle = is_idle
        return has_changed

    def _strings(self) -> Sequence[str]:
        """The connection strings of the servers that the automation manages."""
        return () if self._automation is None else tuple(self._automation.connection_strings)

    def _look(self) -> None:
        """Find all members of the sets before a report: with only the first, a set would have no primary."""
        self._poller.round(lambda _: lambda _: False)

    def _once(self) -> int:
        poll_round = self._round()
        if poll_round.found:
            poll_round = self._round()
        sent = self._sender.drain(ONCE_SECONDS, self._stop)
        # Other agents watch all hosts, so there is nothing to do.
        works = any(reading.reachable for reading in poll_round.readings) or (
            poll_round.others and not poll_round.readings
        )
        return OK if sent and works else FAILED

    def _choose(self, hosts: Sequence[ServerAddress]) -> Choice:
        try:
            of_backups = self._backups.why_missing()
            metrics = [
                (
                    engine.role,
                    {host: {**why, **of_backups.get(host, {})} for host, why in engine.why_missing().items()},
                )
                for engine in self._engines.all
            ]
            together = ChainMap(*(dict(engine.sets()) for engine in self._engines.all))
            self._leases.update_problem = self._updates.problem if self._updates is not None else ""
            self._leases.ask(hosts, metrics, together)
        except Exception as error:  # noqa: BLE001 - an error in our code must not stop the monitoring.
            log_unexpected("leases", error)
        return self._leases.watches

    def _round(self) -> PollRound:
        poll_round = self._poller.round(self._choose)
        if self._stop.is_set():
            return poll_round  # Half a round: a host that was not polled yet is not down.
        readings = self._backups.added(poll_round.readings)
        bodies = list(
            bodies_of(
                readings,
                hostname=self._settings.hostname,
                version=VERSION,
                labels=self._settings.labels,
                observed=datetime.now(timezone.utc),
                unknown=self._sender.unknown,
                lease_of=self._leases.lease_of,
            )
        )
        if self._leases.has_answer and not poll_round.readings:
            bodies = []  # Asking for hosts has already reported that this agent is up.
            self._prove()
        for body in bodies:
            self._spool.put(body)
        self._sender.wake()
        self._sender.drain(DRAIN_SECONDS, self._stop)
        sent, self._sent = self._sender.sent - self._sent, self._sender.sent
        log.info(
            "hosts=%d reachable=%d late=%d others=%d measurements=%d took=%.2fs sent=%d waiting=%d",
            len(poll_round.readings),
            sum(reading.reachable for reading in poll_round.readings),
            poll_round.late,
            poll_round.others,
            measurements_in(readings, self._sender.unknown),
            poll_round.seconds,
            sent,
            len(self._spool),
        )
        return poll_round


def _automation(settings: Settings) -> AutomationCarrier:
    """Imported on demand: pymongo takes much memory."""
    from automation.agent.automation.carrier import AutomationCarrier  # noqa: PLC0415

    return AutomationCarrier(settings, client_of(settings, PATIENCE), VERSION)


def allow_most_files() -> None:
    """Raise the limit of open files, often 1024: each host needs one or two connections."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):  # The system allows less than it reports.
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="opsapi-agent",
        description="Monitor databases and send reports to the platform. Settings come from "
        "environment variables or from --config.",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="TOML file with the settings, mode 600")
    parser.add_argument(
        "--check", action="store_true", help="check every step of a report without sending it, then exit"
    )
    parser.add_argument("--once", action="store_true", help="measure and report once, then exit")
    parser.add_argument(OPTION, type=int, metavar="DESCRIPTOR", help=argparse.SUPPRESS)
    parser.add_argument("--version", action="version", version=VERSION)
    return parser.parse_args(arguments)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - this is a program


if __name__ == "__main__":
    sys.exit(main())
