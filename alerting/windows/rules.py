"""Maintenance windows: their state, the window that mutes a target, sentences about the effect. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, NamedTuple

from alerting.configs.matchers import Matcher, MatcherField, MatchSubject, compared_in_steps, matcher_of
from alerting.windows.recurrence import (
    Occurrence,
    Recurrence,
    clock_gaps,
    occurrences,
    recurrence_of,
    recurrence_words,
)
from automation.quantities import counted_words
from events.types import ALERT_CATEGORIES, Category
from events.wording import in_words, inner_words, target_of, target_words


class WindowState(StrEnum):
    """The state of a window; it follows from the time alone and is never stored."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    EXPIRED = "EXPIRED"


def window_state(start: datetime, end: datetime, now: datetime) -> WindowState:
    """Whether a window is to come, in effect, or over: `start` is inclusive, `end` exclusive."""
    if now < start:
        return WindowState.PENDING
    return WindowState.ACTIVE if now < end else WindowState.EXPIRED


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRule:
    """When a maintenance window mutes alerts of its categories, and of which targets.

    `start` and `end`, which is exclusive, are the first or only occurrence. Without matchers it mutes all
    targets. `description` and `categories` are empty where nobody reads its name.
    """

    id: str
    start: datetime
    end: datetime
    recurrence: Recurrence | None = None
    matchers: Sequence[Matcher] = ()
    description: str | None = None
    categories: Collection[str] = ()

    @property
    def name(self) -> str:
        """The title in quotes; the id if the categories were not read."""
        return f"“{self.title}”" if self.description or self.categories else self.id

    @property
    def title(self) -> str:
        """The description, otherwise what the window mutes and when.

        For example: Host alerts, 2026-11-29 02:00 to 04:00 UTC.
        """
        if self.description:
            return self.description
        of = " of selected targets" if self.matchers else ""
        return f"{_category_words(self.categories)} alerts{of}, {self._when()}"

    def _when(self) -> str:
        if self.recurrence:
            return recurrence_words(self.recurrence)
        start, end = self.start.astimezone(UTC), self.end.astimezone(UTC)
        until = f"{end:%H:%M}" if start.date() == end.date() else f"{end:%Y-%m-%d %H:%M}"
        return f"{start:%Y-%m-%d %H:%M} to {until} UTC"

    def occurrences(self, after: datetime) -> Iterator[Occurrence]:
        """Yield the occurrences that end after a time, in order."""
        return occurrences(self.start, self.end, self.recurrence, after=after)

    def gaps(self, after: datetime) -> list[Occurrence]:
        """The gaps that changes of the clock leave in the window during the next year."""
        return clock_gaps(self.start, self.end, self.recurrence, after=after) if self.recurrence else []

    @property
    def compares_labels(self) -> bool:
        """Whether a matcher compares the labels of hosts."""
        return any(matcher.field is MatcherField.LABEL for matcher in self.matchers)

    def mutes(self, subject: MatchSubject, check: Callable[[], None] = lambda: None) -> bool:
        """Whether the matchers match the subject of an alert or event of its categories.

        `check` is called before each comparison, and raises an error when the time is over.
        """
        check()
        for matcher in self.matchers:
            for is_match in compared_in_steps(matcher, subject):
                if not is_match:
                    return False
                check()
        return True

    def state(self, now: datetime) -> WindowState:
        """Whether an occurrence is in effect, the next is to come, or all are over."""
        current = next(self.occurrences(now), None)
        return window_state(*current, now) if current else WindowState.EXPIRED


def window_rule(
    *,
    id: str,
    start: datetime,
    end: datetime,
    recurrence: Mapping[str, str] | None,
    matchers: Iterable[Mapping[str, str]] | None,
    description: str | None = None,
    categories: Collection[str] = (),
) -> WindowRule:
    """Return the rule of a stored window, by its columns."""
    return WindowRule(
        id=id,
        start=start,
        end=end,
        recurrence=recurrence_of(recurrence) if recurrence else None,
        matchers=[matcher_of(matcher) for matcher in matchers or ()],
        description=description,
        categories=categories,
    )


class ActiveWindow(NamedTuple):
    """A window, and the end of its occurrence that is in effect."""

    window: WindowRule
    until: datetime


def active_windows(windows: Iterable[WindowRule], moment: datetime) -> list[ActiveWindow]:
    """The windows with an occurrence in effect, the last to end first."""
    current = ((window, next(window.occurrences(moment), None)) for window in windows)
    return last_to_end_first(
        ActiveWindow(window, occurrence.end)
        for window, occurrence in current
        if occurrence and occurrence.start <= moment
    )


def last_to_end_first(active: Iterable[ActiveWindow]) -> list[ActiveWindow]:
    """Active windows in the order in which they are asked whether they mute a target."""
    return sorted(active, key=lambda current: (current.until, current.window.id), reverse=True)


def muting(
    active: Iterable[ActiveWindow], subject: MatchSubject, check: Callable[[], None] = lambda: None
) -> ActiveWindow | None:
    """Of the active windows of an alert's category, in their order, the first that mutes its subject.

    `check` is called before each comparison, and raises an error when the time is over.
    """
    return next((candidate for candidate in active if candidate.window.mutes(subject, check)), None)


NOUNS: Mapping[Category, tuple[str, str]] = {
    Category.HOST: ("host", "hosts"),
    Category.REPLICA_SET: ("replica set", "replica sets"),
    Category.CLUSTER: ("cluster", "clusters"),
    Category.AGENT: ("agent", "agents"),
}
"""The targets of a category's alerts; for other categories the project itself."""


def named_target(facts: Mapping[str, Any]) -> str:
    """The host, replica set, cluster or agent of an alert; empty for an alert about the project."""
    return target_words(facts) if target_of(facts) else ""


@dataclass(frozen=True, slots=True)
class MuteCounts:
    """Counts of a project by category: targets of alerts, and open alerts."""

    targets: Mapping[Category, int] = field(default_factory=dict)
    open_alerts: Mapping[Category, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteExtent:
    """What a window mutes in a project.

    `is_narrow`: only targets that its matchers match, which are not counted here. `not_only`: the target that
    a window without matchers was created for.
    """

    categories: Collection[str]
    project: str
    counts: MuteCounts
    is_narrow: bool = False
    not_only: str = ""

    @property
    def alerts(self) -> str:
        """For example: all backup alerts and all host alerts of 7 hosts."""
        chosen = [category for category in ALERT_CATEGORIES if category.value in self.categories]
        if self.is_narrow:
            names = _listed([inner_words(category) for category in chosen])
            return f"{names} alerts of targets that match all its matchers"
        return _listed(
            [f"all {inner_words(category)} alerts{self._of_targets(category)}" for category in chosen]
        )

    @property
    def sentence(self) -> str:
        """For example: all host alerts of 7 hosts in customer-accounts, not only db1.example.com:27017."""
        narrower = f", not only {self.not_only}" if self.not_only and not self.is_narrow else ""
        return f"{self.alerts} in {self.project}{narrower}"

    @property
    def open_count(self) -> int:
        """Number of open alerts of its categories now."""
        return sum(self.counts.open_alerts.get(Category(category), 0) for category in self.categories)

    @property
    def open_words(self) -> str:
        """For example: 2 open alerts."""
        return counted_words(self.open_count, "open alert")

    def _of_targets(self, category: Category) -> str:
        if category not in NOUNS:
            return ""
        count = self.counts.targets.get(category, 0)
        return f" of {count} {NOUNS[category][count != 1]}"


def category_list(categories: Collection[str]) -> str:
    """Categories in words, in their usual order: `Host, Replica set`."""
    return ", ".join(in_words(category) for category in ALERT_CATEGORIES if category.value in categories)


def _category_words(categories: Collection[str]) -> str:
    """For example: Host and replica set."""
    chosen = [inner_words(category) for category in ALERT_CATEGORIES if category.value in categories]
    words = _listed(chosen)
    return words[:1].upper() + words[1:]


def _listed(parts: Sequence[str]) -> str:
    """For example: host, cluster and backup."""
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)
