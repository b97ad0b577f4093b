"""The trial of a new file: it runs as a child, and the old file waits until it has sent a report.

The two talk over a socket pair. The child writes an octet when the platform has accepted a report. The end of
the socket means that the child must stop: the old file takes over, or has died. Keep this protocol: the old
file and the new file are of different versions.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from typing import Callable

OPTION = "--trial"
"""The option of the child, with the number of its end of the socket."""

STOP_SECONDS = 8.0
"""How long a child may take to stop before it is killed."""
_LOOK_SECONDS = 0.2
_PROOF = b"1"


class UpdateTrial:
    """The end of the child. Thread-safe."""

    def __init__(self, descriptor: int) -> None:
        """Raises: OSError: the descriptor is no socket."""
        self._socket = socket.socket(fileno=descriptor)
        self._socket.set_inheritable(False)
        self._has_proof = False
        self.is_over = False
        """Whether the old file wants this process to stop."""

    def watch(self, stop: Callable[[], None]) -> None:
        """Call `stop` at the end of the trial, from another thread."""
        threading.Thread(target=self._wait, args=[stop], name="trial", daemon=True).start()

    def prove(self) -> None:
        """The platform has accepted a report."""
        if not self._has_proof:
            self._has_proof = True
            with contextlib.suppress(OSError):  # The trial has ended.
                self._socket.sendall(_PROOF)

    def _wait(self, stop: Callable[[], None]) -> None:
        with contextlib.suppress(OSError):
            while self._socket.recv(1):
                pass
        self.is_over = True
        stop()


class TrialFailed(Exception):  # noqa: N818 - it is a result
    """The new file did not prove that it works; the message says why."""


def run_trial(command: Sequence[str], seconds: float, stop: threading.Event) -> bool:
    """Run a new file until it has sent a report, at most `seconds`, then stop it.

    Returns whether it has sent a report; False only after `stop`.

    Raises: TrialFailed: it did not send a report, or cannot run.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            child = subprocess.Popen(  # noqa: S603 - a file of the platform, whose checksum is right
                [*command, OPTION, str(theirs.fileno())], stdin=subprocess.DEVNULL, pass_fds=[theirs.fileno()]
            )
        except OSError as error:
            raise TrialFailed(f"it cannot run: {error.strerror}") from None
        theirs.close()
        try:
            return _proven(child, ours, seconds, stop)
        finally:
            ours.close()
            _stop(child)


def _proven(
    child: subprocess.Popen[bytes], ours: socket.socket, seconds: float, stop: threading.Event
) -> bool:
    end = time.monotonic() + seconds
    with selectors.DefaultSelector() as waiting:
        waiting.register(ours, selectors.EVENT_READ)
        while not stop.is_set():
            if waiting.select(_LOOK_SECONDS):
                if ours.recv(1):
                    return True
                # It closed its end, as it does when it ends.
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(STOP_SECONDS)
                if stop.is_set():
                    return False  # systemd stops all processes of a service at once.
                raise TrialFailed(_ended(child.returncode))
            if time.monotonic() > end:
                raise TrialFailed(f"the platform accepted no report of it within {seconds:.0f} seconds")
    return False


def _ended(status: int | None) -> str:
    if status is None:
        return "it gave up its trial"
    return f"it was killed by signal {-status}" if status < 0 else f"it ended with status {status}"


def _stop(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(STOP_SECONDS)  # The end of the socket asks it to stop.
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
