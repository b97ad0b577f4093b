"""Maintenance windows: their state, the window that silences, and sentences about their effect. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from alerting.rules.wording import target_of, target_words
from events.types import ALERT_CATEGORIES, Category


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
class WindowSpan:
    """A maintenance window of the alert's category: `end` is exclusive."""

    id: str
    start: datetime
    end: datetime
    description: str | None = None

    @property
    def name(self) -> str:
        """The description, or the id."""
        return f"“{self.description}”" if self.description else self.id


def covering(windows: Iterable[WindowSpan], moment: datetime) -> WindowSpan | None:
    """Of the windows of an alert's category, the active window that ends last.

    Delivery and the page of an alert both use it.
    """
    active = [
        window for window in windows if window_state(window.start, window.end, moment) is WindowState.ACTIVE
    ]
    return max(active, key=lambda window: (window.end, window.id), default=None)


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

    things: Mapping[Category, int] = field(default_factory=dict)
    open_alerts: Mapping[Category, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MuteExtent:
    """What a window mutes in a project; `not_only`: the target that it was created for."""

    categories: Collection[str]
    project: str
    counts: MuteCounts
    not_only: str = ""

    @property
    def alerts(self) -> str:
        """For example: all BACKUP alerts and all HOST alerts of 7 hosts."""
        chosen = [category for category in ALERT_CATEGORIES if category.value in self.categories]
        parts = [f"all {category.value} alerts{self._of_things(category)}" for category in chosen]
        return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)

    @property
    def sentence(self) -> str:
        """For example: all HOST alerts of 7 hosts in customer-accounts, not only db1.example.com:27017."""
        narrower = f", not only {self.not_only}" if self.not_only else ""
        return f"{self.alerts} in {self.project}{narrower}"

    @property
    def open_count(self) -> int:
        """Number of open alerts of its categories now."""
        return sum(self.counts.open_alerts.get(Category(category), 0) for category in self.categories)

    @property
    def open_words(self) -> str:
        """For example: 2 open alerts."""
        return f"{self.open_count or 'no'} open alert{'' if self.open_count == 1 else 's'}"

    def _of_things(self, category: Category) -> str:
        if category not in NOUNS:
            return ""
        count = self.counts.things.get(category, 0)
        return f" of {count} {NOUNS[category][count != 1]}"
