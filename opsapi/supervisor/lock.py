"""Allows one supervisor for each data directory."""

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path

from opsapi.supervisor import StartError

# A supervisor may not have noticed yet that its parent was killed. A stopping supervisor writes STOPPING.
PATIENCE_SECONDS = 3.0
STOPPING_PATIENCE_SECONDS = 15.0
STOPPING = "stopping"
PAUSE = 0.05


class DirectoryLock:
    """A lock on a directory (flock(2)). It ends with this process, however the process ends."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "lock"
        self._file: int | None = None

    def acquire(self) -> None:
        """Acquire the lock. Raises StartError: another process holds it, or the directory is not writable."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StartError(f"{self._path}: cannot be written: {error.strerror}") from None
        began = time.monotonic()
        while not _locked(file):
            holder = os.pread(file, 64, 0).decode(errors="replace").strip()
            patience = STOPPING_PATIENCE_SECONDS if holder.endswith(STOPPING) else PATIENCE_SECONDS
            if time.monotonic() - began > patience:
                os.close(file)
                raise StartError(f"{self._path.parent} is in use by a running platform, process {holder}")
            time.sleep(PAUSE)
        self._file = file
        self._write(str(os.getpid()))

    def say_stopping(self) -> None:
        """Write into the lock file that this process is stopping, so that another start waits longer."""
        self._write(f"{os.getpid()} {STOPPING}")

    def release(self) -> None:
        """Release the lock before the process ends."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _write(self, text: str) -> None:
        if self._file is not None:
            with suppress(OSError):  # On a full disk, the lock works without the text.
                os.ftruncate(self._file, 0)
                os.pwrite(self._file, f"{text}\n".encode(), 0)


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
