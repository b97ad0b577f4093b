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

DEADLINE = 240.0
"""Seconds until a test fails: a machine that is busy with other programs needs long."""
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two questions. A question often takes a connection and a process of the database."""
_PART = 0.2
"""A pause is this part of the time since the first question."""


def eventually(
    condition: Callable[[], T | None],
    deadline: float = DEADLINE,
    *,
    message: str = "",
    longest_pause: float = LONGEST_PAUSE,
) -> T:
    """Returns the first true answer of `condition`, asked again and again for `deadline` seconds.

    The pauses between grow up to `longest_pause`.
    Raises AssertionError with `message` and the last answer when none came.
    """
    start = time.monotonic()
    while not (answer := condition()):
        waited = time.monotonic() - start
        if waited > deadline:
            raise AssertionError(
                f"{message or 'condition'} not met within {deadline:g} s, last answer: {answer!r}"
            )
        time.sleep(min(longest_pause, max(SHORTEST_PAUSE, waited * _PART)))
    return answer
