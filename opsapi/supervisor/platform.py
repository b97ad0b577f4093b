"""The whole platform in the foreground: database, web server and worker, started and ended in order."""

import logging
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from opsapi.embedded.layout import Layout
from opsapi.embedded.server import Server
from opsapi.hostport import host_and_port
from opsapi.secret_files import make_private_directory
from opsapi.supervisor.child import Child
from opsapi.supervisor.keeper import Keeper
from opsapi.supervisor.listener import LISTENER_VARIABLE, READY_VARIABLE, check_tls, listen
from opsapi.supervisor.lock import DirectoryLock
from opsapi.supervisor.metric_files import prepare as prepare_metric_files
from opsapi.supervisor.wakeup import Wakeup

log = logging.getLogger("opsapi.supervisor")

# Together below the ten seconds in which everything has to end (product, "run contract").
WEB_SECONDS, WORKER_SECONDS, DATABASE_SECONDS = 4.0, 3.0, 2.0


@dataclass(frozen=True)
class Plan:
    """What to run, from the settings. `root` is the directory of manage.py; the run ends with `parent`."""

    root: Path
    data_dir: Path
    bind: tuple[str, int]
    certificate: Path | None
    key: Path | None
    embedded: bool
    parent: int | None

    @property
    def address(self) -> str:
        """Where to reach it."""
        return f"{'https' if self.certificate else 'http'}://{host_and_port(*self.bind)}/"


class Platform:
    """One run of the platform. What it started ends before it does, in the opposite order."""

    def __init__(self, plan: Plan, output: TextIO) -> None:
        """`output` is told, once, that the platform is ready."""
        self._plan = plan
        self._output = output
        self._wakeup = Wakeup(plan.parent)
        self._keepers: list[Keeper] = []
        self._metric_files: dict[str, str] = {}

    def run(self) -> None:
        """Runs until SIGTERM, SIGINT or SIGHUP, or until the parent ends.

        Raises StartError, EmbeddedDatabaseError or ImproperlyConfigured when it cannot start, and SystemExit
        when the preparation failed, which has said why.
        """
        check_tls(self._plan.certificate, self._plan.key)
        make_private_directory(self._plan.data_dir)
        lock = DirectoryLock(self._plan.data_dir)
        lock.acquire()
        self._metric_files = prepare_metric_files(self._plan.data_dir)
        listener = listen(*self._plan.bind)
        with ExitStack() as ends:
            if self._plan.embedded:
                self._start_database(ends)
            advice = "" if self._wakeup.is_stop_requested() else self._prepare()
            if not self._wakeup.is_stop_requested():
                self._start_worker(ends)
                ready = self._start_web(ends, listener.fileno())
                ends.callback(listener.close)  # or clients would wait there for nobody
                self._watch(ready, advice)
            lock.say_stopping()
            log.info("stopping")
        log.info("stopped")

    def _start_database(self, ends: ExitStack) -> None:
        server = Server(Layout(self._plan.data_dir))
        ends.callback(server.stop, DATABASE_SECONDS)
        server.start()
        server.wait_ready(self._wakeup.is_stop_requested)
        self._keepers.append(Keeper("PostgreSQL", server, time.monotonic()))

    def _prepare(self) -> str:
        """Waits for the database, checks and migrates, in a child that a stop can end. Returns its advice."""
        child = Child("preparation", self._manage("prepare"), stdout=subprocess.PIPE)
        child.start()
        while (status := child.poll()) is None and not self._wakeup.is_stop_requested():
            self._wakeup.wait(1.0)
        child.stop(1.0)
        advice = child.read_output()
        if status:
            raise SystemExit(1)
        return advice

    def _start_worker(self, ends: ExitStack) -> None:
        worker = Child("worker", self._manage("run_worker"), environment=self._metric_files)
        self._keep(worker, ends, WORKER_SECONDS)

    def _start_web(self, ends: ExitStack, listener: int) -> int:
        """Returns a descriptor with something to read once requests are answered."""
        ready, ready_end = os.pipe2(os.O_CLOEXEC)
        command = [sys.executable, "-m", "gunicorn", "--chdir", str(self._plan.root)]
        web = Child(
            "web server",
            [*command, "--config", "python:opsapi.gunicorn_conf"],
            environment={
                LISTENER_VARIABLE: str(listener),
                READY_VARIABLE: str(ready_end),
                **self._metric_files,
            },
            descriptors=(listener, ready_end),
        )
        self._keep(web, ends, WEB_SECONDS)
        return ready

    def _keep(self, child: Child, ends: ExitStack, seconds: float) -> None:
        ends.callback(child.stop, seconds)
        child.start()
        self._keepers.append(Keeper(child.name, child, time.monotonic()))

    def _watch(self, ready: int, advice: str) -> None:
        told = False
        while not self._wakeup.is_stop_requested():
            now = time.monotonic()
            seconds = min(keeper.look(now) for keeper in self._keepers)
            if self._wakeup.wait(seconds, ready):
                os.read(ready, 4096)
                if not told:
                    self._tell(advice)
                told = True

    def _tell(self, advice: str) -> None:
        self._output.write(f"Ops API is ready: {self._plan.address}\n{advice}")
        self._output.flush()

    def _manage(self, command: str) -> list[str]:
        return [sys.executable, str(self._plan.root / "manage.py"), command]
