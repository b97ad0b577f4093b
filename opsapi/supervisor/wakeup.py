"""Wakes the supervisor: on signals, when a child ends or writes, and when the parent ends."""

import os
import select
import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
# Maximum seconds until the end of the parent is noticed.
LONGEST_SLEEP = 0.5


class Wakeup:
    """Waits for signals. Create it once, in the main thread."""

    def __init__(self, parent: int | None = None) -> None:
        """`parent`: a process whose end is also a request to stop."""
        self._signalled = False
        self._parent = parent
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for signum in STOP_SIGNALS:
            # nohup makes a process ignore SIGHUP.
            if signum is not signal.SIGHUP or signal.getsignal(signum) is not signal.SIG_IGN:
                signal.signal(signum, self._request_stop)
        signal.signal(signal.SIGCHLD, _notice)

    def is_stop_requested(self) -> bool:
        """Whether a stop signal was received, or the parent has ended."""
        # PR_SET_PDEATHSIG does not suffice: it is lost whenever root acts as another user (prctl(2)).
        return self._signalled or (self._parent is not None and os.getppid() != self._parent)

    def wait(self, seconds: float, *more: int) -> set[int]:
        """Sleep for at most half a second, until a signal or until a descriptor of `more` is readable.

        Return the readable descriptors.
        """
        seconds = min(max(seconds, 0.0), LONGEST_SLEEP)
        ready, _, _ = select.select([self._read, *more], [], [], seconds)
        if self._read in ready:
            os.read(self._read, 4096)
        return set(ready) - {self._read}

    def _request_stop(self, _signum: int, _frame: FrameType | None) -> None:
        self._signalled = True


def _notice(_signum: int, _frame: FrameType | None) -> None:
    """Do nothing; without a handler, the signal would not wake the process."""
