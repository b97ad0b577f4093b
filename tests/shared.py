"""What the first process of a test run makes or does for all of its processes."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


def run_directory() -> Path:
    """Where the processes of a run keep what they share: the data directory of its PostgreSQL."""
    return Path(os.environ["OPSAPI_TEST_DATA_DIR"])


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """A directory of this name, which the first process that asks makes and fills; the others wait for it."""
    directory = run_directory() / name
    done = directory.with_suffix(".made")
    with directory.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            directory.mkdir(mode=0o711)
            make(directory)
            done.touch()
    return directory


@contextmanager
def first_alone(name: str) -> Iterator[None]:
    """The first process that comes is alone in the block of this name; the others enter once it has left."""
    left = run_directory() / f"{name}.left"
    with left.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not left.exists():
            try:
                yield
            finally:
                left.touch()
            return
    yield
