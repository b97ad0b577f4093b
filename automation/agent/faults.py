"""Log lines about unexpected errors, and safe versions of server texts for the log."""

from __future__ import annotations

import logging
import traceback
from pathlib import Path

log = logging.getLogger("opsapi.agent")

_LONGEST_SHOWN = 100
_MOST_FRAMES = 6

MOST_PROBLEMS = 2000
"""Maximum number of remembered problems."""


class Problems:
    """Logs a problem once: when it starts, changes or ends."""

    def __init__(self) -> None:
        self._known: dict[object, str] = {}

    def report(self, about: object, problem: str, line: str) -> None:
        """Log the line if it differs from the last problem of `about`. An empty line ends the problem."""
        before = self._known.pop(about, "")
        if problem and problem != before:
            log.warning("%s", line)
        elif before and not problem:
            log.info("%s answers normally again", about)
        if problem:
            self._known[about] = problem
            while len(self._known) > MOST_PROBLEMS:
                del self._known[next(iter(self._known))]

    def forget(self, *about: object) -> None:
        for subject in about:
            self._known.pop(subject, None)


def log_unexpected(about: object, error: BaseException) -> None:
    """A line with the type and place of an error.

    The message is left out: it may quote a connection string or a server text.
    """
    frames = traceback.extract_tb(error.__traceback__)[-_MOST_FRAMES:]
    places = " < ".join(
        f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames)
    )
    log.error("%s: unexpected %s at %s", about, type(error).__name__, places or "no frame")


def shown(text: object) -> str:
    """A server text for the log: quoted, without control characters, cut to 100 characters."""
    return repr(str(text)[:_LONGEST_SHOWN])[:_LONGEST_SHOWN]


def printable(value: object, longest: int = 200) -> str | None:
    """A server text without unprintable characters, cut; None if nothing is left."""
    if not isinstance(value, str):
        return None
    return "".join(character for character in value[:longest] if character.isprintable()).strip() or None
