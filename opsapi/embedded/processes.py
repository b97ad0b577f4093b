"""Finds running server processes by inspecting processes. A number in a file is not trusted."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.embedded.layout import Layout

# Signals for an orphan, with seconds to wait: fast shutdown, immediate shutdown, kill.
FAST, IMMEDIATE, FORCED = signal.SIGINT, signal.SIGQUIT, signal.SIGKILL
PATIENCE = ((FAST, 10.0), (IMMEDIATE, 5.0), (FORCED, 5.0))
PAUSE = 0.02


@dataclass(frozen=True)
class ServerProcesses:
    """The processes of the server at `layout` that runs `binary`.

    Use it with the rights of the server's owner.
    """

    layout: Layout
    binary: Path

    def alive(self) -> frozenset[int]:
        """Return the process IDs of the server and its children, including orphans.

        Raises:
            EmbeddedDatabaseError: a PostgreSQL other than `binary` runs in the data directory.
        """
        home = self.layout.home.resolve()
        found = {int(entry.name): _program(entry) for entry in Path("/proc").iterdir() if _is_in(entry, home)}
        for number, program in found.items():
            if program is not None and program.name == "postgres" and program != self.binary:
                raise EmbeddedDatabaseError(
                    f"another PostgreSQL, process {number} ({program}), runs in {home}"
                )
        return frozenset(number for number, program in found.items() if program == self.binary)

    def postmaster(self) -> int | None:
        """Return the process of the pid file; None if the file is missing, truncated or stale."""
        number = _first_number(self.layout.pid_file)
        return number if number in self.alive() else None

    def end(self) -> None:
        """End the processes of an earlier start, and wait for them.

        Raises:
            EmbeddedDatabaseError: a process survives SIGKILL.
        """
        for signum, seconds in PATIENCE:
            receivers = self._receivers(signum)
            _signal(receivers, signum)
            if self._gone_within(seconds if receivers else 0.0):
                return
        raise EmbeddedDatabaseError(f"processes {sorted(self.alive())} of an earlier start do not stop")

    def _receivers(self, signum: signal.Signals) -> frozenset[int]:
        if signum is not FAST:
            return self.alive()
        # Children interpret SIGINT differently; they follow their postmaster, or notice that it has ended.
        postmaster = self.postmaster()
        return frozenset() if postmaster is None else frozenset({postmaster})

    def _gone_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while alive := self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(PAUSE)
        return not alive


def _is_in(entry: Path, home: Path) -> bool:
    """Whether the process works in a directory directly below `home`, like every server process."""
    if not entry.name.isdigit():
        return False
    try:
        return (entry / "cwd").readlink().parent == home
    except OSError:  # The process has ended meanwhile, or belongs to another user.
        return False


def _program(entry: Path) -> Path | None:
    try:
        # An upgrade may have replaced the file of the running program.
        return Path(str((entry / "exe").readlink()).removesuffix(" (deleted)"))
    except OSError:  # The process has ended meanwhile, or belongs to another user.
        return None


def _first_number(pid_file: Path) -> int | None:
    try:
        first = pid_file.read_bytes()[:64].split(b"\n")[0].strip()
    except FileNotFoundError:
        return None
    return int(first) if first.isdigit() else None


def _signal(numbers: frozenset[int], signum: signal.Signals) -> None:
    for number in numbers:
        try:
            os.kill(number, signum)
        except ProcessLookupError:  # The process ended before it got the signal.
            continue
