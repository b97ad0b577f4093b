"""Turns of databases of a server: each is measured every ten minutes, in a round as many as time allows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from automation.agent.engine import Sample

DATABASES_EVERY = 600.0
"""Seconds between two looks at a database: it costs the server more than all the rest."""

MOST_DATABASES = 1000


@dataclass
class Turns:
    """When the databases of a server are due, and what was measured of them and not told yet."""

    due: dict[str, float] = field(default_factory=dict)
    _list_due: float = float("-inf")
    _fresh: dict[str, Sequence[Sample]] = field(default_factory=dict)
    _told: frozenset[str] = frozenset()

    def take(
        self,
        clock: Callable[[], float],
        seconds: float,
        names: Callable[[], Iterable[str]],
        measure: Callable[[str, float], Sequence[Sample]],
    ) -> None:
        """Measure the databases that are due, for so many seconds; the others are measured in later rounds.

        `names` asks which databases there are: new ones are due at once. `measure` is given the name of one
        and how many seconds are left. What they raise ends the round; what was measured until then is kept.
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

    def told(self) -> Mapping[str, Sequence[Sample]] | None:
        """By database the samples that were not told yet; None when there are none.

        When a database appeared or is gone, the databases are told even without samples.
        """
        fresh, self._fresh = self._fresh, {}
        names = frozenset(self.due)
        changed, self._told = names != self._told, names
        return {name: fresh.get(name, ()) for name in self.due} if fresh or changed else None
