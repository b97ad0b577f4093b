"""Progress of the loops of a worker: which loops are stuck, and where.

Each loop stamps its progress. A look counts the stamps. A loop without a new stamp for a number of looks in a
row is stuck. Looks are counted instead of time, so after a pause of the whole process no loop is stuck.
"""

import sys
import threading
import traceback
from collections import Counter
from pathlib import Path

LOOK_SECONDS = 5.0
"""The interval of looks."""
STUCK_AFTER = 60
"""The number of looks without progress after which a loop is stuck: five minutes."""
_DEEPEST = 30
"""The most calls that `place_of` describes."""


class LoopProgress:
    """The stamps of the loops of one process. Each loop has a thread of its own."""

    def __init__(self) -> None:
        self._stamps: Counter[str] = Counter()
        self._seen: dict[str, int] = {}
        self._looks: Counter[str] = Counter()
        self._threads: dict[str, int] = {}

    def stamp(self, loop: str) -> None:
        """Note the progress of the loop, which runs in this thread."""
        self._threads[loop] = threading.get_ident()
        self._stamps[loop] += 1

    def stamps(self) -> list[tuple[str, int]]:
        """Return the loops with their number of stamps."""
        return list(self._stamps.items())

    def look(self) -> str | None:
        """Return the first loop without a stamp during the last STUCK_AFTER looks, or None."""
        for loop, stamps in sorted(self.stamps()):
            if self._seen.get(loop) == stamps:
                self._looks[loop] += 1
            else:
                self._seen[loop], self._looks[loop] = stamps, 0
            if self._looks[loop] >= STUCK_AFTER:
                return loop
        return None

    def place_of(self, loop: str) -> str:
        """Return the calls in which the loop is at the moment, in one line, the innermost first."""
        frame = sys._current_frames().get(self._threads[loop])
        if frame is None:
            return "its thread has ended"
        calls = reversed(traceback.extract_stack(frame, limit=_DEEPEST))
        return " < ".join(f"{call.name} ({Path(call.filename).name}:{call.lineno})" for call in calls)
