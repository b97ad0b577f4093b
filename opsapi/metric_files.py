"""The files in which the processes of a machine count, and which `/metrics` adds up.

Call this before the metrics library is imported, because the library reads the variable once.
"""

import hashlib
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from opsapi.environment import declare
from opsapi.secret_files import make_private_directory

VARIABLE = declare("PROMETHEUS_MULTIPROC_DIR", "", "path of a directory")
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 the directory in it is 0700 and its owner is checked


def prepare(data_dir: Path) -> dict[str, str]:
    """Create the directory of the files, remove files of ended processes, return the environment variable.

    The directory is the one in the environment, otherwise a directory in memory: on a full disk, files would
    kill each process that counts. Without shared memory, it is in the data directory. Files of running
    processes stay, because web processes and workers may start one by one.

    Raises: ImproperlyConfigured: the directory cannot be created.
    """
    named = os.environ.get(VARIABLE)
    directory = _made(Path(named)) if named else _in_memory(data_dir) or _in_data_dir(data_dir)
    for file in directory.glob("*_*.db"):
        number = file.stem.rpartition("_")[2]
        if number.isdigit() and not Path("/proc", number).exists():
            file.unlink(missing_ok=True)
    return {VARIABLE: str(directory)}


def remove(data_dir: Path) -> None:
    """Remove the directory in memory, when all counting processes have ended."""
    if not os.environ.get(VARIABLE) and _is_ours(memory_dir(data_dir)):
        shutil.rmtree(memory_dir(data_dir), ignore_errors=True)


def memory_dir(data_dir: Path) -> Path:
    """Return the directory in memory for the installation with this data directory."""
    return SHARED_MEMORY / f"opsapi-metrics-{hashlib.sha256(os.fsencode(data_dir)).hexdigest()[:24]}"


def _in_memory(data_dir: Path) -> Path | None:
    """Return a directory in memory; None without shared memory, or if the name belongs to another user."""
    directory = memory_dir(data_dir)
    if not SHARED_MEMORY.is_dir():
        return None
    with suppress(OSError):
        directory.mkdir(mode=0o700, exist_ok=True)
    return directory if _is_ours(directory) else None


def _is_ours(directory: Path) -> bool:
    try:
        status = directory.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o077


def _in_data_dir(data_dir: Path) -> Path:
    make_private_directory(data_dir)
    directory = _made(data_dir / "metrics")
    directory.chmod(0o700)  # Earlier versions let other users enter it.
    return directory


def _made(directory: Path) -> Path:
    """Return the directory, created with access for its owner only if it does not exist."""
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        directory.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{directory}: the directory cannot be created: {error.strerror}"
        ) from None
    return directory
