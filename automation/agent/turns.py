"""Schedules the databases of a server: each is measured every ten minutes, spread over rounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from automation.agent.engine import Sample

DATABASES_EVERY = 600.0
"""Seconds between two measurements of a database, which cost the server more than everything else."""

MOST_DATABASES = 1000


@dataclass
class DatabaseTurns:
    """The schedule of the databases of a server, and their unreported samples."""

    due: dict[str, float] = field(default_factory=dict)
    _list_due: float = float("-inf")
    _fresh: dict[str, Sequence[Sample]] = field(default_factory=dict)
    _reported_names: frozenset[str] = frozenset()

    def take(
        self,
        clock: Callable[[], float],
        seconds: float,
        names: Callable[[], Iterable[str]],
        measure: Callable[[str, float], Sequence[Sample]],
    ) -> None:
        """Measure due databases for up to `seconds`; the others follow in later rounds.

        `names` returns the current databases; new ones are due immediately. `measure` gets a name and the
        seconds left. An exception ends the round; earlier samples are kept.
        """
        now = clock()
        end = now + seconds
        if now >= self._list_due:
            self._list_due = now + DATABASES_EVERY
            self.due = {name: self.due.get(name, now) for name in names()}
        for name in [name for name, moment in self.due.items() if moment <= now]:
            left = end - clock()
            if left <= 0:
                break
            self.due[name] = now + DATABASES_EVERY
            self._fresh[name] = measure(name, left)

    def take_samples(self) -> Mapping[str, Sequence[Sample]] | None:
        """The unreported samples by database; None if there are none.

        When a database appears or disappears, the databases are reported even without samples.
        """
        fresh, self._fresh = self._fresh, {}
        names = frozenset(self.due)
        changed, self._reported_names = names != self._reported_names, names
        return {name: fresh.get(name, ()) for name in self.due} if fresh or changed else None
