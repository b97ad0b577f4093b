"""Counts the rooms that a flow enters: the files of product code in which its functions run.

    with Rooms() as rooms:
        list(delivery.decide(claimed, now=now))
    print(rooms)

A *stay* begins each time that the flow enters another room by a call or a return. A flow with few rooms and
few stays can be read without leaving the page.
"""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any, Self

ROOT = Path(__file__).parent.parent
PACKAGES = ("alerting", "integrations", "automation", "accesslist", "events")
"""`opsapi` is left out: everything uses it, like a library."""


class Rooms:
    """The rooms of the code that runs in its block, in this thread."""

    def __init__(self) -> None:
        self.stays: Counter[str] = Counter()
        """The number of stays by room."""
        self._last = ""
        self._names: dict[str, str] = {}

    def __enter__(self) -> Self:
        sys.setprofile(self._see)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def __str__(self) -> str:
        lines = [f"{count:4} {room}" for room, count in sorted(self.stays.items())]
        return "\n".join([*lines, f"{len(self.stays)} rooms in {self.stays.total()} stays"])

    def _see(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            self._enter(frame)
        elif event == "return" and frame.f_back is not None:
            self._enter(frame.f_back)

    def _enter(self, frame: FrameType) -> None:
        room = self._room(frame.f_code.co_filename)
        if room and room != self._last:
            self.stays[room] += 1
            self._last = room

    def _room(self, filename: str) -> str:
        if filename not in self._names:
            path = Path(filename)
            name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
            self._names[filename] = name if name.partition("/")[0] in PACKAGES else ""
        return self._names[filename]
