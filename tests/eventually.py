"""The one way a test waits for a real process."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar


def is_running(pid: int) -> bool:
    """Whether a process lives; one that has ended but was not yet reaped by its parent does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


T = TypeVar("T")

PAUSE = 0.02


def eventually(condition: Callable[[], T], deadline: float = 120.0, *, message: str = "") -> T:
    """Returns the first true answer of `condition`, asked again and again for `deadline` seconds.

    Raises AssertionError with `message` and the last answer when none came.
    """
    end = time.monotonic() + deadline
    while not (answer := condition()):
        if time.monotonic() > end:
            raise AssertionError(
                f"{message or 'condition'} not met within {deadline:g} s, last answer: {answer!r}"
            )
        time.sleep(PAUSE)
    return answer
