"""What the supervisor sleeps on: signals, children that end, and messages of children."""

import os
import select
import signal
from types import FrameType

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Wakeup:
    """Turns signals into something to wait for. One per process, in its main thread."""

    def __init__(self) -> None:
        self.stop_requested = False
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)
        for signum in STOP_SIGNALS:
            if (
                signal.getsignal(signum) is not signal.SIG_IGN or signum is signal.SIGTERM
            ):  # nohup is honoured
                signal.signal(signum, self._request_stop)
        signal.signal(signal.SIGCHLD, _notice)

    def is_stop_requested(self) -> bool:
        """Whether one of the stop signals came."""
        return self.stop_requested

    def wait(self, seconds: float, *more: int) -> set[int]:
        """Sleeps until a signal, or something to read on a descriptor of `more` (those are returned)."""
        ready, _, _ = select.select([self._read, *more], [], [], max(seconds, 0.0))
        if self._read in ready:
            os.read(self._read, 4096)
        return set(ready) - {self._read}

    def _request_stop(self, _signum: int, _frame: FrameType | None) -> None:
        self.stop_requested = True


def _notice(_signum: int, _frame: FrameType | None) -> None:
    """A handler must exist, or the signal would not wake anybody."""
