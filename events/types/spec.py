"""The properties of an event type."""

from dataclasses import dataclass
from enum import StrEnum


class Category(StrEnum):
    """What an event type is about. Alert configurations can name types of the first twelve categories.

    The others hold audits only.
    """

    AGENT = "AGENT"
    AUTOMATION_CONFIG = "AUTOMATION_CONFIG"
    BACKUP = "BACKUP"
    BI_CONNECTOR = "BI_CONNECTOR"
    CLUSTER = "CLUSTER"
    DATA_EXPLORER = "DATA_EXPLORER"
    HOST = "HOST"
    ORGANIZATION = "ORGANIZATION"
    GROUP = "GROUP"
    REPLICA_SET = "REPLICA_SET"
    TEAM = "TEAM"
    USER = "USER"
    API_KEY = "API_KEY"
    ACCESS_LIST = "ACCESS_LIST"
    ALERT_CONFIG = "ALERT_CONFIG"
    ALERT = "ALERT"
    MAINTENANCE_WINDOW = "MAINTENANCE_WINDOW"
    INTEGRATION = "INTEGRATION"


class Kind(StrEnum):
    """What an event of a type does to alerts."""

    OPENING = "OPENING"
    CLOSING = "CLOSING"
    TOLD_ONCE = "TOLD_ONCE"
    AUDIT = "AUDIT"


class Target(StrEnum):
    """What an alert is about: a configuration has at most one active alert for each target.

    An alert without a narrower target, of an organization's state too, is about the project.
    """

    AGENT = "AGENT"
    HOST = "HOST"
    HOST_METRIC = "HOST_METRIC"
    REPLICA_SET = "REPLICA_SET"
    CLUSTER = "CLUSTER"
    GROUP = "GROUP"


class Needs(StrEnum):
    """Which threshold a config of an event type must have; every other one is refused."""

    NOTHING = "NOTHING"
    THRESHOLD = "THRESHOLD"
    METRIC_THRESHOLD = "METRIC_THRESHOLD"


_MATCHABLE = frozenset({Category.HOST, Category.REPLICA_SET, Category.CLUSTER})

_REPORTED = frozenset(
    {
        Category.AGENT,
        Category.BACKUP,
        Category.BI_CONNECTOR,
        Category.CLUSTER,
        Category.DATA_EXPLORER,
        Category.HOST,
        Category.REPLICA_SET,
    }
)

_TARGETS = {
    Category.AGENT: Target.AGENT,
    Category.BACKUP: Target.REPLICA_SET,
    Category.BI_CONNECTOR: Target.HOST,
    Category.CLUSTER: Target.CLUSTER,
    Category.HOST: Target.HOST,
    Category.REPLICA_SET: Target.REPLICA_SET,
}


@dataclass(frozen=True)
class EventTypeSpec:
    """One row of the table.

    `closed_by` names the type that ends what this one opened. `derived`: the platform concludes it
    itself, so that an agent's own word could contradict the state an alert is about.
    `global_only`: only global configs may name it. `produced`: something makes such events.
    """

    name: str
    category: Category
    kind: Kind
    target: Target
    closed_by: str | None = None
    needs: Needs = Needs.NOTHING
    derived: bool = False
    global_only: bool = False
    produced: bool = True

    @property
    def alertable(self) -> bool:
        """Say whether an alert configuration may name it."""
        return self.kind in (Kind.OPENING, Kind.TOLD_ONCE)

    @property
    def closes(self) -> bool:
        """Say whether it ends alerts that other types opened (`openers_of` names them)."""
        return self.kind is Kind.CLOSING

    @property
    def about_data(self) -> bool:
        """Say whether its events name a database, a collection and an operation."""
        return self.category is Category.DATA_EXPLORER

    @property
    def told_once(self) -> bool:
        """Say whether it notifies once and opens nothing."""
        return self.kind is Kind.TOLD_ONCE

    @property
    def reported(self) -> bool:
        """Say whether agents may report it. They may not report audits or what the platform derives."""
        return self.category in _REPORTED and self.kind is not Kind.AUDIT and not self.derived

    @property
    def supports_matchers(self) -> bool:
        """Say whether a configuration of it may have matchers."""
        return self.alertable and self.category in _MATCHABLE


def opening(
    category: Category,
    name: str,
    closed_by: str,
    *,
    target: Target | None = None,
    needs: Needs = Needs.NOTHING,
    derived: bool = False,
) -> EventTypeSpec:
    """Make the row of a type that opens alerts, about its category's usual target if none is given."""
    about = target or _target(category)
    return EventTypeSpec(name, category, Kind.OPENING, about, closed_by, needs, derived)


def closing(
    category: Category, name: str, *, target: Target | None = None, derived: bool = False
) -> EventTypeSpec:
    """Make the row of a type that closes the alerts of others."""
    return EventTypeSpec(name, category, Kind.CLOSING, target or _target(category), derived=derived)


def told_once(
    category: Category,
    name: str,
    *,
    target: Target | None = None,
    derived: bool = False,
    global_only: bool = False,
    produced: bool = True,
) -> EventTypeSpec:
    """Make the row of a type that notifies once and opens nothing."""
    about = target or _target(category)
    return EventTypeSpec(
        name,
        category,
        Kind.TOLD_ONCE,
        about,
        derived=derived,
        global_only=global_only,
        produced=produced,
    )


def audit(category: Category, name: str) -> EventTypeSpec:
    """Make the row of a type that is written down only."""
    return EventTypeSpec(name, category, Kind.AUDIT, _target(category))


def _target(category: Category) -> Target:
    return _TARGETS.get(category, Target.GROUP)
