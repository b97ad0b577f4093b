"""The time of a turn, its costs, and where the next turn continues. Pure."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Clock = Callable[[], float]
"""A monotonic clock, in seconds."""


class Costs:
    """The seconds of work by name."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, name: str, seconds: float) -> None:
        """Add seconds to the costs of `name`."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def of(self, name: str) -> float:
        """Return the seconds of `name`; 0 if it has none."""
        return self._seconds.get(name, 0.0)

    def total(self) -> float:
        """Return the seconds of all names together."""
        return sum(self._seconds.values())

    def dearest(self) -> str | None:
        """Return the name with the highest costs; None if there are no costs."""
        return max(self._seconds, key=self._seconds.__getitem__, default=None)


class TimeSlice:
    """The time of a turn, from now until `seconds` have passed or `rows` are to be written.

    Rows are limited as well as time: what is decided is written after the slice, which cannot measure that
    time.
    """

    def __init__(
        self, clock: Clock, seconds: float, costs: Costs | None = None, rows: float = math.inf
    ) -> None:
        """`charge` adds to `costs`, which may be older than the slice."""
        self._clock = clock
        self.began = self.last_look = self._charged = clock()
        self._end = self.began + seconds
        self._rows_left = rows
        self.costs = Costs() if costs is None else costs
        """The seconds of what `charge` was called for, by its name."""

    @classmethod
    def endless(cls) -> "TimeSlice":
        """Return a slice that is never over."""
        return cls(lambda: 0.0, 0.0)

    def now(self) -> float:
        """Return the time of the clock, in seconds."""
        return self._clock()

    def is_over(self) -> bool:
        """Return whether the time has passed or the rows are used up. Sets `last_look`."""
        self.last_look = self._clock()
        return self.last_look > self._end or self._rows_left <= 0

    def count_rows(self, rows: int) -> None:
        """Count rows that were written or are to be written."""
        self._rows_left -= rows

    def allow_as_much_as_since(self, began: float) -> None:
        """Extend the slice by the time since `began`, so that reading always leaves time to decide."""
        now = self._clock()
        self._end = max(self._end, now + now - began)

    def charge(self, name: str) -> None:
        """Add the seconds since the last call to the costs of `name`, or to nothing if it is empty."""
        before, self._charged = self._charged, self._clock()
        if name:
            self.costs.add(name, self._charged - before)

    def used(self) -> float:
        """Return the seconds since the slice began."""
        return self._clock() - self.began


class Place(NamedTuple):
    """Where the evaluation of signals continues: a signal, a configuration and the target of an alert.

    Pairs of a configuration and a target are compared in this order, so a place stays right if
    configurations or hosts come and go in between. Empty strings come first.
    """

    signal: int
    config: str = ""
    target: str = ""

    @property
    def is_inside_signal(self) -> bool:
        """Whether a part of the signal has been evaluated."""
        return bool(self.config)


@dataclass(frozen=True, slots=True)
class Progress:
    """The signals that a turn began and did not finish, and where the next turn continues.

    `hosts_after`: the fleet is compared in parts; the next part begins after the host with this id. Empty for
    the first part.
    """

    signals: tuple[int, ...]
    place: Place
    hosts_after: str = ""

    def stored(self) -> dict[str, Any]:
        """Return the JSON that `progress_of` reads."""
        return {"signals": self.signals, "place": self.place, "hostsAfter": self.hosts_after}


def progress_of(stored: Mapping[str, Any]) -> Progress:
    """Return the progress of `Progress.stored`."""
    return Progress(tuple(stored["signals"]), Place(*stored["place"]), stored["hostsAfter"])
