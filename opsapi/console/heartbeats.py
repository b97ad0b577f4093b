"""Heartbeat bars: the last 24 hours of a row in cells, drawn on the server.

Apps contribute the times in which alerts about rows are muted.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import Any, Final

from opsapi.apps import contributions
from opsapi.clock import age_words

CELL: Final = timedelta(minutes=15)
CELLS: Final = 96
"""A day."""
CELL_WIDTH: Final = 3


class CellState(StrEnum):
    """The state of a row in a cell; the values are in the names of classes of styles."""

    UP = "up"
    DOWN = "down"
    NO_DATA = "none"


CELL_WORDS: Final = {CellState.UP: "up", CellState.DOWN: "down", CellState.NO_DATA: "no data"}


@dataclass(frozen=True, slots=True)
class HeartbeatRun:
    """Equal cells next to each other: their place and width in the picture."""

    x: int
    width: int
    state: str


@dataclass(frozen=True, slots=True)
class HeartbeatBar:
    """The cells of a row, the oldest first, and the places of the muted ones.

    `is_cut`: more cells may be muted.
    """

    states: Sequence[CellState]
    muted: frozenset[int]
    is_cut: bool = False

    @property
    def width(self) -> int:
        return len(self.states) * CELL_WIDTH

    @property
    def runs(self) -> list[HeartbeatRun]:
        """The states as bars."""
        return list(_runs([state.value for state in self.states]))

    @property
    def muted_runs(self) -> list[HeartbeatRun]:
        """The muted times as lines."""
        places = ["muted" if place in self.muted else "" for place in range(len(self.states))]
        return [run for run in _runs(places) if run.state]

    @property
    def words(self) -> str:
        """The bar in words: `Last 24 hours: up 22 h, down 2 h. Muted 1 h.`"""
        counts = Counter(self.states)
        parts = [
            f"{CELL_WORDS[state]} {age_words(counts[state] * CELL)}" for state in CellState if counts[state]
        ]
        muted = f" Muted {age_words(len(self.muted) * CELL)}." if self.muted else ""
        more = " More may be muted: not all maintenance windows were compared." if self.is_cut else ""
        return f"Last 24 hours: {', '.join(parts)}.{muted}{more}"


def _runs(names: Sequence[str]) -> Iterator[HeartbeatRun]:
    place = 0
    for name, same in groupby(names):
        length = len(list(same))
        yield HeartbeatRun(place * CELL_WIDTH, length * CELL_WIDTH, name)
        place += length


MutedTime = tuple[str, datetime, datetime]
"""The id of a row, and the start and the end of a time in which alerts about it are muted."""


@dataclass(frozen=True, slots=True)
class MutedTimes:
    """Times in which alerts about rows are muted. `is_cut`: there may be more."""

    times: Sequence[MutedTime] = ()
    is_cut: bool = False


ContributeMutes = Callable[[Sequence[Any], datetime, datetime], MutedTimes]


def muted_times(rows: Sequence[Any], since: datetime, until: datetime) -> MutedTimes:
    """Return the `muted_times` of every app's AppConfig."""
    made: list[MutedTimes] = [
        contribute(rows, since, until)
        for contributed in contributions("muted_times")
        for contribute in contributed
    ]
    return MutedTimes([time for some in made for time in some.times], any(some.is_cut for some in made))
