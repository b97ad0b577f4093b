"""Which server processes live, told from the processes themselves and never from a number in a file."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from opsapi.embedded.errors import EmbeddedDatabaseError
from opsapi.embedded.layout import Layout

# How an orphan is asked to end, and how many seconds it has: in good order, at once, by force.
FAST, IMMEDIATE, FORCED = signal.SIGINT, signal.SIGQUIT, signal.SIGKILL
PATIENCE = ((FAST, 10.0), (IMMEDIATE, 5.0), (FORCED, 5.0))
PAUSE = 0.02


@dataclass(frozen=True)
class ServerProcesses:
    """The processes of the server at `layout` that runs `binary`. Call it with the server owner's rights."""

    layout: Layout
    binary: Path

    def alive(self) -> frozenset[int]:
        """Process ids of the server and its children, orphans included.

        Raises EmbeddedDatabaseError when another PostgreSQL than `binary` runs in the data directory.
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
        """The pid file's process if it is that server; None for a missing, truncated or stale file."""
        number = _first_number(self.layout.pid_file)
        return number if number in self.alive() else None

    def end(self) -> None:
        """Ends what an earlier start left behind and waits for it.

        Raises EmbeddedDatabaseError when something survives even SIGKILL.
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
        # Children read SIGINT in other ways; they follow their postmaster, or notice that it is gone.
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
    """Whether the process works in a directory directly below `home`, as every server process does."""
    if not entry.name.isdigit():
        return False
    try:
        return (entry / "cwd").readlink().parent == home
    except OSError:  # ended meanwhile, or somebody else's
        return False


def _program(entry: Path) -> Path | None:
    try:
        # An upgrade may have replaced the file below the running program.
        return Path(str((entry / "exe").readlink()).removesuffix(" (deleted)"))
    except OSError:  # ended meanwhile, or somebody else's
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
        except ProcessLookupError:  # ended between looking and signalling
            continue
