"""Processes that die with their parent, however it dies (prctl(2), PR_SET_PDEATHSIG).

The signal comes when the *thread* that started the child ends: start children from the main thread.
"""

import ctypes
import os
import signal
from collections.abc import Callable

PR_SET_PDEATHSIG = 1

# Looked up once, here: between fork and exec nothing may be imported or looked up.
_libc = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int, signum: signal.Signals) -> None:
    """Asks the kernel to send `signum` to this process when its parent, process `parent`, ends.

    Raises OSError when the kernel refuses. A parent that is gone already can no longer be followed, so
    then the signal is sent at once.
    """
    if _libc.prctl(PR_SET_PDEATHSIG, int(signum), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if os.getppid() != parent:
        os.kill(os.getpid(), signum)


def dying_with_parent(signum: signal.Signals) -> Callable[[], None]:
    """A `preexec_fn` for subprocess: the child gets `signum` when this process ends.

    subprocess calls it after user and group were changed, which is when it must be: changing them
    clears the request. The child takes `signum` even if this process ignores it, as a process in the
    background of a shell ignores SIGINT: until the child has handlers of its own, an ignored signal is lost.
    """
    parent = os.getpid()

    def before_exec() -> None:
        if signum is not signal.SIGKILL:  # which nobody can ignore
            signal.signal(signum, signal.SIG_DFL)
        die_with(parent, signum)

    return before_exec
