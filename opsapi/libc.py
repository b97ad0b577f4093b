"""Calls of the C library: a process ends with its parent (prctl), and returns freed memory (mallopt).

The signal comes when the *thread* that started the child ends: start children from the main thread.
"""

import ctypes
import os
import signal
from collections.abc import Callable

PR_SET_PDEATHSIG = 1
_M_MMAP_THRESHOLD = -3
_LARGE_BLOCK = 1024 * 1024

# Loaded here, because nothing may be imported or looked up between fork and exec.
_libc = ctypes.CDLL(None, use_errno=True)


def die_with(parent: int, signum: signal.Signals) -> None:
    """Ask the kernel to send `signum` to this process when its parent, process `parent`, ends (prctl(2)).

    If the parent has already ended, the signal is sent at once.

    Raises: OSError: the kernel refuses.
    """
    if _libc.prctl(PR_SET_PDEATHSIG, int(signum), 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    if os.getppid() != parent:
        os.kill(os.getpid(), signum)


def dying_with_parent(signum: signal.Signals) -> Callable[[], None]:
    """Return a `preexec_fn` for subprocess: the child gets `signum` when this process ends.

    subprocess calls it after it has changed user and group, which would clear the request. The child handles
    `signum` even if this process ignores it, as a background process of a shell ignores SIGINT. Otherwise the
    signal would be lost until the child has its own handlers.
    """
    parent = os.getpid()

    def before_exec() -> None:
        if signum is not signal.SIGKILL:  # SIGKILL cannot be ignored
            signal.signal(signum, signal.SIG_DFL)
        die_with(parent, signum)

    return before_exec


def return_large_blocks() -> None:
    """Return blocks of 1 MiB or more to the system as soon as they are free (mallopt(3), M_MMAP_THRESHOLD).

    glibc keeps them: after a block of 16 MB was freed, blocks of that size come from the heaps of the
    threads, which rarely shrink. A web process with eight threads stayed at four times its size after a few
    large documents. A C library without mallopt changes nothing.
    """
    if hasattr(_libc, "mallopt"):
        _libc.mallopt(_M_MMAP_THRESHOLD, _LARGE_BLOCK)
