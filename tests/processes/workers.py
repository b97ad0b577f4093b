"""Workers next to an installation's own, as on other machines with the same database."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.eventually import eventually
from tests.processes.platform import ROOT, RunningPlatform


class WorkerProcess:
    """A running worker."""

    def __init__(self, starter: "WorkerStarter", pid: int) -> None:
        self._starter, self.pid = starter, pid

    def send_signal(self, signum: signal.Signals) -> None:
        """Send it a signal."""
        os.kill(self.pid, signum)

    def kill(self) -> None:
        """Send SIGKILL, whatever the worker is doing."""
        self.send_signal(signal.SIGKILL)
        self._starter.ask(f"wait {self.pid}")

    def end(self) -> None:
        """Let it finish its work. Raises AssertionError with the log if it fails."""
        self.send_signal(signal.SIGTERM)
        assert self._starter.ask(f"wait {self.pid}") == 0, self._starter.log

    def wait_seen(self) -> None:
        """Until it works."""
        seen = f"SELECT EXISTS (SELECT FROM alerting_workerheartbeat WHERE name LIKE '%:{self.pid}')"  # noqa: S608 - a number
        eventually(lambda: self._starter.platform.ask(seen), message="the worker is seen")


class WorkerStarter:
    """Starts workers of a platform. A process forks all of them, because most of a start is imports."""

    def __init__(self, platform: RunningPlatform) -> None:
        self.platform = platform
        self._log = platform.directory / "workers.txt"
        command = [sys.executable, "-m", "tests.processes.forking"]
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=platform.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    @property
    def log(self) -> str:
        """What the workers wrote to stderr."""
        return self._log.read_text()

    def start(self) -> WorkerProcess:
        """Start the next worker."""
        return WorkerProcess(self, self.ask("start"))

    def ask(self, command: str) -> int:
        """What `tests.processes.forking` answers to a command."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{command}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())


@contextmanager
def worker_starter(platform: RunningPlatform) -> Iterator[WorkerStarter]:
    """Workers of this platform; when the block ends, workers that still run are killed."""
    made = WorkerStarter(platform)
    with made.process:
        yield made
