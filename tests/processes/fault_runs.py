"""An installation under a mixed load and a fault, and the row that counts what came of it."""

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass

from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.clock import SteppedClock
from tests.processes.conftest import make_first_user
from tests.processes.disk import Disk, disk_of
from tests.processes.load import MessageTally, MixedLoad
from tests.processes.platform import installation, prepared_installation
from tests.processes.scenario import RunningSite
from tests.processes.web_server import many_files
from tests.processes.workers import worker_starter
from tests.receivers import HttpReceiver, MailReceiver

SECONDS = 60.0 if LONG else 2.0
"""How long a fault lasts that has no length of its own."""
WINDOW = 15.0 if LONG else 1.0
"""Seconds in which deliveries are counted before the fault, and after the recovery."""
RECOVERY_SECONDS = 600.0


class FaultySite:
    """An installation under load, with what a fault can hurt."""

    disk: Disk | None = None
    clock: SteppedClock | None = None

    def __init__(self, site: RunningSite, receiver: HttpReceiver, load: MixedLoad) -> None:
        self.site, self.platform, self.receiver, self.load = site, site.platform, receiver, load
        self.random = random.Random(17)
        self.injected = Counter[str]()
        """How often each thing was done, for the row."""

    def wait_ready(self) -> None:
        """Until the platform says that it can store a report."""

        def is_ready() -> bool:
            return self.platform.answers() and self.platform.get("/health/ready").status_code == 200

        eventually(is_ready, RECOVERY_SECONDS, message="the platform is ready again")

    def kill(self, role: str) -> bool:
        """SIGKILL to a process that the supervisor or gunicorn starts again; whether it was running."""
        pid = self.platform.find_child(role)
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.injected[role] += 1
                return True
        return False

    @contextmanager
    def second_worker(self) -> Iterator[Callable[[], None]]:
        """A worker next to the platform's own; the value kills it and starts the next."""
        with worker_starter(self.platform) as starter:
            started = [starter.start()]

            def replace() -> None:
                started[0].kill()
                self.injected["second worker"] += 1
                started[0] = starter.start()

            yield replace
            started[0].end()


Inject = Callable[[FaultySite], object]
"""Begins and ends a fault: when it returns, nothing is in the way of the platform any longer."""


@dataclass(frozen=True)
class Fault:
    """A row: its name, how to inject the fault, and whether it needs a small disk or a clock of its own."""

    name: str
    inject: Inject
    small_disk: bool = False
    stepped_clock: bool = False


@dataclass(frozen=True)
class Row:
    """The result of a fault."""

    name: str
    injected: str
    tally: MessageTally
    failed: str
    recovered: float
    ratio: float

    def __str__(self) -> str:
        counted = self.tally
        cells = (
            self.name,
            self.injected,
            f"{counted.due:,}",
            f"{counted.delivered:,}",
            counted.refused,
            counted.lost,
            counted.second_ids,
            f"{self.recovered:.1f} s",
            f"{self.ratio:.0%}",
            self.failed,
        )
        return "| " + " | ".join(map(str, cells)) + " |"


HEAD = (
    "| fault | how often | due | delivered | refused | lost | second id | recovered after | rate after |"
    " requests that failed |\n|---|---|---|---|---|---|---|---|---|---|"
)


def run_fault(fault: Fault) -> Row:
    """Inject it into a new installation under load, and count."""
    with ExitStack() as stack:
        stack.enter_context(many_files())
        made = _faulty_site(fault, stack)
        with made.load.running():
            made.load.wait_reports(10)
            before = _rate(made.load)
            fault.inject(made)
            recovered = _wait_recovered(made)
            after = _rate(made.load)
        made.load.wait_notified(RECOVERY_SECONDS)
        eventually(made.site.is_idle, RECOVERY_SECONDS, message="nothing waits")
        injected = ", ".join(f"{count} {what}" for what, count in made.injected.items())
        return Row(fault.name, injected, made.load.tally(), made.load.failed, recovered, after / before)


def _faulty_site(fault: Fault, stack: ExitStack) -> FaultySite:
    mail_server = stack.enter_context(MailReceiver().running())
    receiver = stack.enter_context(HttpReceiver().running())
    environment = {
        "OPSAPI_OUTBOUND_ALLOW": "127.0.0.0/8",
        "EMAIL_URL": f"smtp://127.0.0.1:{mail_server.port}",
        "OPSAPI_WORKERS": "2",
    }
    make = installation if fault.small_disk else prepared_installation
    platform = stack.enter_context(make(**environment))
    disk = stack.enter_context(disk_of(platform)) if fault.small_disk else None
    clock = SteppedClock(platform.directory) if fault.stepped_clock else None
    platform.environment |= clock.environment if clock else {}
    platform.start()
    site = RunningSite(platform, mail_server, make_first_user(platform))
    made = FaultySite(site, receiver, MixedLoad(site, receiver))
    made.disk, made.clock = disk, clock
    return made


def _rate(load: MixedLoad) -> float:
    """Deliveries a second in a window."""
    before = load.tally().delivered
    time.sleep(WINDOW)
    return max(load.tally().delivered - before, 1) / WINDOW


def _wait_recovered(made: FaultySite) -> float:
    """Seconds from now until a report is accepted and all that is due now has been delivered."""
    began, load = time.monotonic(), made.load
    due_now = {host.name: host.due.total() for host in load.hosts}
    reports = load.reports

    def is_recovered() -> bool:
        settled = (host.due.total() > due_now[host.name] or load.is_notified(host) for host in load.hosts)
        return load.reports > reports and all(settled)

    eventually(is_recovered, RECOVERY_SECONDS, message="everything due is delivered")
    return time.monotonic() - began
