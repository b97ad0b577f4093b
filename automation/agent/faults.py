"""What the log says of faults that nobody foresaw, and of texts that servers sent."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

log = logging.getLogger("opsapi.agent")

_LONGEST_SHOWN = 100
_MOST_FRAMES = 6

MOST_PROBLEMS = 2000
"""So many are remembered at a time."""


class Problems:
    """What the log was told of, so that it is told once: when a problem begins, becomes another, or ends."""

    def __init__(self) -> None:
        """Nothing is wrong."""
        self._known: dict[object, str] = {}

    def tell(self, about: object, problem: str, line: str) -> None:
        """Write the line when this is not the problem that `about` had before; an empty one is its end."""
        before = self._known.pop(about, "")
        if problem and problem != before:
            log.warning("%s", line)
        elif before and not problem:
            log.info("%s answers in full again", about)
        if problem:
            self._known[about] = problem
            while len(self._known) > MOST_PROBLEMS:
                del self._known[next(iter(self._known))]

    def forget(self, *about: object) -> None:
        """Nothing is known of these any more."""
        for one in about:
            self._known.pop(one, None)


def log_unforeseen(about: object, error: BaseException) -> None:
    """A line with the type of a fault and where it was raised.

    Its message stays out: it may quote a connection string, or what a server sent.
    """
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    places = " < ".join(f"{Path(one.filename).name}:{one.lineno} {one.name}" for one in reversed(frames))
    log.error("%s: unforeseen %s at %s", about, type(error).__name__, places or "no frame")


def shown(text: object) -> str:
    """A text of a server for the log: quoted, without control characters, cut to 100 characters."""
    return repr(str(text)[:_LONGEST_SHOWN])[:_LONGEST_SHOWN]


def printable(value: object, longest: int = 200) -> str | None:
    """A text of a server without its unprintable characters, cut; None when nothing is left of it."""
    if not isinstance(value, str):
        return None
    return "".join(one for one in value[:longest] if one.isprintable()).strip() or None
