"""Child processes, and keeping them running: restarts with growing delays if a process ends repeatedly."""

import logging
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from typing import Protocol

from opsapi.embedded import EmbeddedDatabaseError
from opsapi.libc import dying_with_parent

log = logging.getLogger("opsapi.supervisor")


class Child:
    """A command that can be started, watched and stopped. It is killed when this process ends."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        descriptors: Sequence[int] = (),
        stdout: int | None = None,
    ) -> None:
        """`environment` extends ours. `descriptors` stay open in the child. `stdout` is as for subprocess."""
        self.name = name
        self.process: subprocess.Popen[str] | None = None
        self._command = list(command)
        self._environment = {**os.environ, **(environment or {})}
        self._descriptors = tuple(descriptors)
        self._stdout = stdout

    def start(self) -> None:
        """Start the command. Call this in the main thread. Raises OSError: it cannot be started."""
        self.process = subprocess.Popen(  # noqa: S603 our own commands
            self._command,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=self._stdout,
            text=True,
            pass_fds=self._descriptors,
            process_group=0,  # Ctrl-C in a terminal is for the supervisor only.
            preexec_fn=dying_with_parent(signal.SIGKILL),  # noqa: PLW1509 one prctl, looked up before
        )

    def poll(self) -> int | None:
        """Return the exit status if it has ended; None while it runs or before it was started."""
        return self.process.poll() if self.process else None

    def read_output(self) -> str:
        """Return its output if `stdout` is a pipe. Call this when it has ended."""
        if self.process is None or self.process.stdout is None:
            return ""
        with self.process.stdout as stdout:
            return stdout.read()

    def send(self, signum: signal.Signals) -> None:
        """Send a signal if the command runs."""
        if self.process is not None:
            self.process.send_signal(signum)

    def stop(self, seconds: float) -> None:
        """Send SIGTERM, and after `seconds` SIGKILL to the command and its children."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            log.warning("%s did not stop within %g s and is killed", self.name, seconds)
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


LONGEST_DELAY = 30.0
# After a run of this length, the next end counts as the first.
SOUND_AFTER = 60.0


class Kept(Protocol):
    """A process that can be kept running."""

    def start(self) -> None:
        """Start it. Raises OSError, EmbeddedDatabaseError: it cannot be started."""

    def poll(self) -> int | None:
        """Return the exit status if it has ended, otherwise None."""


def restart_delay(deaths: int) -> float:
    """Return the seconds to wait after this many ends in a row: 0, then 1, 2, 4 … at most 30."""
    return 0.0 if deaths <= 1 else min(2.0 ** min(deaths - 2, 10), LONGEST_DELAY)


class Keeper:
    """Watches `kept`. The first `look` starts it."""

    def __init__(self, name: str, kept: Kept) -> None:
        self._name = name
        self._kept = kept
        self._started = 0.0
        self._deaths = 0
        self._due: float | None = 0.0

    def look(self, now: float) -> float:
        """Start the process if it is due at `now` (monotonic). Return the seconds until the next look."""
        if self._due is None and (status := self._kept.poll()) is not None:
            self._note_death(exit_words(status), now)
        if self._due is None:
            return LONGEST_DELAY
        if now < self._due:
            return self._due - now
        self._start(now)
        return LONGEST_DELAY if self._due is None else self._due - now

    def _start(self, now: float) -> None:
        self._due, self._started = None, now
        try:
            self._kept.start()
        except (OSError, EmbeddedDatabaseError) as error:
            self._note_death(str(error), now)

    def _note_death(self, reason: str, now: float) -> None:
        self._deaths = 1 if now - self._started >= SOUND_AFTER else self._deaths + 1
        delay = restart_delay(self._deaths)
        self._due = now + delay
        log.error("%s stopped (%s), restarting in %g s", self._name, reason, delay)


def exit_words(status: int) -> str:
    """Return an exit status of subprocess in words."""
    return f"signal {-status}" if status < 0 else f"exit status {status}"
