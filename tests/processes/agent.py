"""The agent as a process, for end-to-end tests."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.processes.platform import ROOT

STOP_SECONDS = 120.0
PROGRAM = ("-m", "automation.agent")


class RunningAgent:
    """The program with its settings; its log is in memory of no test, but in a file."""

    def __init__(self, directory: Path, program: Sequence[str] = PROGRAM, **settings: str) -> None:
        """`settings` are the names without OPSAPI_AGENT_; the spool is below `directory`.

        `program` are the arguments by which Python runs it. `directory` can become another working directory.
        """
        self._program = program
        self.spool = directory / "spool"
        self._log = directory / "agent.txt"
        known = {name: value for name, value in os.environ.items() if not name.startswith("OPSAPI_")}
        given = {"SPOOL_DIR": str(self.spool), "INTERVAL": "2", "HOSTNAME": "agent1", **settings}
        self.interval = given["INTERVAL"]
        self.environment = {
            **known,
            "PYTHONPATH": str(ROOT),
            **{f"OPSAPI_AGENT_{name}": value for name, value in given.items()},
        }
        self.directory = ROOT
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> str:
        """What it wrote since it was created, all its starts."""
        return self._log.read_text()

    def rounds(self) -> list[str]:
        """The lines of its rounds."""
        return [line for line in self.log.splitlines() if " hosts=" in line]

    def start(self) -> None:
        """Start it."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command(), env=self.environment, cwd=self.directory, stdout=log, stderr=log
            )

    def stop(self, signum: signal.Signals = signal.SIGTERM) -> int:
        """Stop it and return its exit status."""
        assert self.process is not None
        self.process.send_signal(signum)
        return self.process.wait(STOP_SECONDS)

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run it to its end."""
        return subprocess.run(
            self._command(*arguments),
            env=self.environment,
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
            timeout=STOP_SECONDS,
        )

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, *self._program, *arguments]


@contextmanager
def running(agent: RunningAgent) -> Iterator[RunningAgent]:
    """It runs until the end of the block, and stops cleanly."""
    agent.start()
    try:
        yield agent
    finally:
        assert agent.stop() == 0, agent.log
