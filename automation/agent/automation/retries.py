"""When a move that failed for a reason that can pass is tried again, and for how long. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from automation.plan.values import Move, MoveKind

PAUSE_SECONDS = 60.0
"""Seconds between two tries."""
PATIENCE_SECONDS = 1800.0
"""Seconds of tries after which the move has failed, so that somebody hears of it."""


@dataclass(frozen=True)
class _Tries:
    first: float
    last: float
    why: str


class Retries:
    """The tries of the moves of each process. An agent that starts again has forgotten them."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._tries: dict[tuple[str, MoveKind], _Tries] = {}

    def why_not_yet(self, move: Move) -> str:
        """Why the last try failed, while the next try of the move is not due; empty if it is due."""
        tries = self._tries.get(_key(move))
        return tries.why if tries and self._monotonic() - tries.last < PAUSE_SECONDS else ""

    def note(self, move: Move, why: str) -> bool:
        """Note a try that failed. Returns whether the move is tried again."""
        now, known = self._monotonic(), self._tries.get(_key(move))
        first = known.first if known else now
        self._tries[_key(move)] = _Tries(first, now, why)
        return now - first < PATIENCE_SECONDS

    def forget(self, move: Move) -> None:
        """Forget the tries: the move is done, or has failed."""
        self._tries.pop(_key(move), None)

    def forget_all(self) -> None:
        """Forget all tries: the document is another."""
        self._tries.clear()


def _key(move: Move) -> tuple[str, MoveKind]:
    """A server that is down starts also while a download of its process is tried again."""
    return move.process, move.kind
