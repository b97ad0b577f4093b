"""One supervisor per data directory."""

import fcntl
import os
import time
from pathlib import Path

from opsapi.supervisor.errors import StartError

# A supervisor killed a moment ago may still be on its way out.
PATIENCE_SECONDS = 2.0
PAUSE = 0.05


class DirectoryLock:
    """A lock on a directory, held until this process ends in whatever way (flock(2))."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / "lock"
        self._file: int | None = None

    def acquire(self) -> None:
        """Raises StartError when another process holds it, or the directory cannot be written."""
        try:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        except OSError as error:
            raise StartError(f"{self._path}: cannot be written: {error.strerror}") from None
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not _locked(file):
            if time.monotonic() > deadline:
                holder = os.read(file, 32).decode(errors="replace").strip() or "unknown"
                os.close(file)
                raise StartError(
                    f"{self._path.parent} is in use: the platform runs there as process {holder}"
                )
            time.sleep(PAUSE)
        os.truncate(file, 0)
        os.write(file, f"{os.getpid()}\n".encode())
        self._file = file

    def release(self) -> None:
        """Gives it up; for tests, since ending the process does the same."""
        if self._file is not None:
            os.close(self._file)
            self._file = None


def _locked(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
