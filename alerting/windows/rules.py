"""Maintenance windows: their state, the rule that mutes a target, sentences about the effect. Pure."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final, NamedTuple

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
    """The state of a window; it follows from the time alone and is never stored.

    A window that recurs is pending between its occurrences.
    """

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    EXPIRED = "EXPIRED"


class TimedState(NamedTuple):
    """The state of a window at a time, and until when it has this state; None if forever."""

    state: WindowState
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRule:
    """What a maintenance window mutes and when.

    It mutes alerts of the categories `alert_types`; with matchers, only of targets that match all of them.
    `start` and `end`, which is exclusive, are the first or only occurrence. The id of a window that is not
    saved is empty.
    """

    id: str
    description: str | None = None
    start: datetime
    end: datetime
    alert_types: Collection[str]
    recurrence: Recurrence | None = None
    matchers: Sequence[Matcher] = ()

    @property
    def name(self) -> str:
        """The title in quotes."""
        return f"“{self.title}”"

    @property
    def title(self) -> str:
        """The description, otherwise what the window mutes and when.

        For example: Host alerts, 2026-11-29 02:00 to 04:00 UTC.
        """
        if self.description:
            return self.description
        of = " of selected targets" if self.matchers else ""
        return f"{_category_words(self.alert_types)} alerts{of}, {self._when()}"

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

    def comparisons(self, subject: MatchSubject) -> Iterator[bool]:
        """Compare the subject with the matchers, step by step; the last step is the first that fails."""
        for matcher in self.matchers:
            for is_match in compared_in_steps(matcher, subject):
                yield is_match
                if not is_match:
                    return

    def matches(self, subject: MatchSubject, check: Callable[[], None] = lambda: None) -> bool:
        """Whether all matchers match the subject of an alert or event.

        `check` is called before each comparison, and raises an error when the time is over.
        """
        check()
        for is_match in self.comparisons(subject):
            if not is_match:
                return False
            check()
        return True

    def timed_state(self, now: datetime) -> TimedState:
        """The state, which follows from the current or next occurrence."""
        occurrence = next(self.occurrences(now), None)
        if occurrence is None:
            return TimedState(WindowState.EXPIRED, None)
        if now < occurrence.start:
            return TimedState(WindowState.PENDING, occurrence.start)
        return TimedState(WindowState.ACTIVE, occurrence.end)

    def state(self, now: datetime) -> WindowState:
        """The state at a time."""
        return self.timed_state(now).state


MUTING_FIELDS: Final = tuple(
    column.name for column in fields(WindowRule) if column.name not in {"id", "description"}
)
"""The columns that decide what a window mutes and when: the fields of `WindowRule` but its name."""


def window_rule(
    *,
    id: str = "",
    description: str | None = None,
    start: datetime,
    end: datetime,
    alert_types: Collection[str],
    recurrence: Mapping[str, str] | None = None,
    matchers: Iterable[Mapping[str, str]] | None = None,
) -> WindowRule:
    """Return the rule of a window by its columns."""
    return WindowRule(
        id=id,
        description=description,
        start=start,
        end=end,
        alert_types=alert_types,
        recurrence=recurrence_of(recurrence) if recurrence else None,
        matchers=[matcher_of(matcher) for matcher in matchers or ()],
    )


def rule_of_values(values: Mapping[str, Any]) -> WindowRule:
    """Return the rule of a window that is not saved, from the values of a valid document."""
    return window_rule(**{name: values[name] for name in MUTING_FIELDS if name in values})


class ActiveRule(NamedTuple):
    """The rule of an active window, and the end of its occurrence."""

    rule: WindowRule
    until: datetime


def active_rules(rules: Iterable[WindowRule], now: datetime) -> list[ActiveRule]:
    """The rules of the active windows, in the order of `last_to_end_first`."""
    states = ((rule, rule.timed_state(now)) for rule in rules)
    return last_to_end_first(
        ActiveRule(rule, until) for rule, (state, until) in states if until and state is WindowState.ACTIVE
    )


def last_to_end_first(active: Iterable[ActiveRule]) -> list[ActiveRule]:
    """Active rules in the order in which they are compared with a target."""
    return sorted(active, key=lambda current: (current.until, current.rule.id), reverse=True)


def muting_rule(
    active: Iterable[ActiveRule], subject: MatchSubject, check: Callable[[], None] = lambda: None
) -> ActiveRule | None:
    """Of the active rules of an alert's category, in their order, the first that matches its subject.

    `check` is called before each comparison, and raises an error when the time is over.
    """
    return next((current for current in active if current.rule.matches(subject, check)), None)


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


_MOST_HOSTS: Final = 3
"""The most hosts that a sentence names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteExtent:
    """What a window mutes in a project.

    `is_narrow`: only targets that its matchers match, which are not counted here; `hosts` are their names if
    the matchers only name hosts. `not_only`: the target that a window without matchers was created for.
    """

    categories: Collection[str]
    project: str
    counts: MuteCounts
    is_narrow: bool = False
    hosts: Sequence[str] = ()
    not_only: str = ""

    @property
    def alerts(self) -> str:
        """For example: all backup alerts and all host alerts of 7 hosts."""
        chosen = [category for category in ALERT_CATEGORIES if category.value in self.categories]
        if self.is_narrow:
            names = _listed([inner_words(category) for category in chosen])
            return f"{names} alerts of {self._hosts() or 'targets that match all its matchers'}"
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

    def _hosts(self) -> str:
        """For example: db1:27017, db2:27017 and 5 more hosts."""
        more = len(self.hosts) - _MOST_HOSTS
        return _listed([*self.hosts[:_MOST_HOSTS], *([counted_words(more, "more host")] if more > 0 else [])])

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
