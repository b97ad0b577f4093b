"""The maintenance of the targets of a dry run. Pure.

Every window is expanded once, and a search is a bisection.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import takewhile
from typing import Any, NamedTuple

from alerting.configs.matchers import MatchSubject
from alerting.engine.rules import Mute
from alerting.windows.rules import WindowRule


class MutedTime(NamedTuple):
    """An occurrence of a window; `end` is exclusive."""

    start: datetime
    end: datetime
    window_id: str


class TargetMutes:
    """The maintenance of one target until the end of a dry run."""

    def __init__(self, times: Iterable[MutedTime], end: datetime) -> None:
        self._starts: list[datetime] = []
        self._mutes: list[Mute] = []
        for time in sorted(times):
            last = self._mutes[-1] if self._mutes else None
            # As `windows.rules.active_rules`: of several windows the last to end counts.
            if last is None or (time.end, time.window_id) > (last.until, last.window_id):
                self._starts.append(time.start)
                self._mutes.append(Mute(time.window_id, time.end))
        self._last = self._mutes.copy()
        for place in reversed(range(len(self._mutes))):
            until = self._mutes[place].until
            following = self._place(until)
            if until <= end and following is not None:
                self._last[place] = self._last[following]

    def at(self, moment: datetime) -> Mute | None:
        """The maintenance that mutes messages at a time."""
        place = self._place(moment)
        return None if place is None else self._mutes[place]

    def last(self, moment: datetime) -> Mute | None:
        """The last of the windows that put off a message from a time on, one after another."""
        place = self._place(moment)
        return None if place is None else self._last[place]

    def _place(self, moment: datetime) -> int | None:
        place = bisect_right(self._starts, moment) - 1
        return place if place >= 0 and moment < self._mutes[place].until else None


class DryRunMutes:
    """The maintenance of each target of a dry run; `windows` have the category of the configuration.

    `subject_of` returns the subject of a target from its facts. `check` is called before each comparison, and
    raises an error when the time is over.
    """

    def __init__(
        self,
        windows: Sequence[WindowRule],
        subject_of: Callable[[Mapping[str, Any]], MatchSubject],
        start: datetime,
        end: datetime,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._check = check
        self._windows, self._subject_of, self._start, self._end = windows, subject_of, start, end
        self._of_subjects: dict[MatchSubject, TargetMutes] = {}
        self._of_windows: dict[tuple[int, ...], TargetMutes] = {(): TargetMutes((), end)}
        self._times: dict[int, list[MutedTime]] = {}

    def of_target(self, facts: Mapping[str, Any]) -> TargetMutes:
        """The maintenance of the target with these facts."""
        if not self._windows:
            return self._of_windows[()]
        subject = self._subject_of(facts)
        if subject not in self._of_subjects:
            chosen = tuple(
                place for place, window in enumerate(self._windows) if window.matches(subject, self._check)
            )
            if chosen not in self._of_windows:
                times = (time for place in chosen for time in self._times_of(place))
                self._of_windows[chosen] = TargetMutes(times, self._end)
            self._of_subjects[subject] = self._of_windows[chosen]
        return self._of_subjects[subject]

    def _times_of(self, place: int) -> list[MutedTime]:
        if place not in self._times:
            window = self._windows[place]
            occurrences = takewhile(
                lambda occurrence: occurrence.start <= self._end, window.occurrences(self._start)
            )
            self._times[place] = [MutedTime(*occurrence, window.id) for occurrence in occurrences]
        return self._times[place]
