"""Times of a document that ask for a move of a process: lastRestart, lastResync and lastCompact. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime


def is_due(asked: datetime | None, done: Iterable[datetime | None], now: datetime) -> bool:
    """Whether a time asks for a move by now that has not happened.

    `done`: when the move happened, and the time of the document under which it happened. The latter counts,
    too, whatever the clock of the machine says: otherwise a wrong clock would repeat the move forever.
    """
    return asked is not None and asked <= now and not any(time is not None and time >= asked for time in done)
