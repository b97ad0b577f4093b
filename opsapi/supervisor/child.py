"""A child process that writes to our output and ends with this process."""

import logging
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence

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
        """Start the command. Call this in the main thread.

        Raises:
            OSError: it cannot be started.
        """
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
