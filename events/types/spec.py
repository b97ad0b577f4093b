"""The properties of an event type."""

from dataclasses import dataclass
from enum import StrEnum


class Category(StrEnum):
    """The subject of an event type.

    Alert configurations can use the first twelve categories; the others only have audits.
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


class AlertEffect(StrEnum):
    """The effect of an event type on alerts."""

    OPENING = "OPENING"
    CLOSING = "CLOSING"
    ONE_SHOT = "ONE_SHOT"
    AUDIT = "AUDIT"


class Target(StrEnum):
    """The target of an alert: a configuration has at most one active alert per target.

    The default target is the project, also for the state of an organization.
    """

    AGENT = "AGENT"
    HOST = "HOST"
    HOST_METRIC = "HOST_METRIC"
    REPLICA_SET = "REPLICA_SET"
    CLUSTER = "CLUSTER"
    GROUP = "GROUP"


class Needs(StrEnum):
    """The threshold that configurations of an event type must have; others are rejected."""

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
    """A row of the table.

    `closed_by` is the type that closes alerts of this type. `derived`: the platform derives the event,
    because an agent's report could contradict the state of the alert. `global_only`: only global
    configurations can use it. `produced`: something creates such events.
    """

    name: str
    category: Category
    kind: AlertEffect
    target: Target
    closed_by: str | None = None
    needs: Needs = Needs.NOTHING
    derived: bool = False
    global_only: bool = False
    produced: bool = True

    @property
    def alertable(self) -> bool:
        """Whether an alert configuration can use the type."""
        return self.kind in (AlertEffect.OPENING, AlertEffect.ONE_SHOT)

    @property
    def closes(self) -> bool:
        """Whether the type closes alerts of other types (`openers_of` returns them)."""
        return self.kind is AlertEffect.CLOSING

    @property
    def about_data(self) -> bool:
        """Whether its events name a database, a collection and an operation."""
        return self.category is Category.DATA_EXPLORER

    @property
    def one_shot(self) -> bool:
        """Whether it notifies once and opens no alert."""
        return self.kind is AlertEffect.ONE_SHOT

    @property
    def reported(self) -> bool:
        """Whether agents can report it. They cannot report audits and derived events."""
        return self.category in _REPORTED and self.kind is not AlertEffect.AUDIT and not self.derived

    @property
    def supports_matchers(self) -> bool:
        """Whether configurations of the type can have matchers."""
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
    """Create the row of a type that opens alerts, by default with the usual target of its category."""
    about = target or _target(category)
    return EventTypeSpec(name, category, AlertEffect.OPENING, about, closed_by, needs, derived)


def closing(
    category: Category, name: str, *, target: Target | None = None, derived: bool = False
) -> EventTypeSpec:
    """Create the row of a type that closes alerts of other types."""
    return EventTypeSpec(name, category, AlertEffect.CLOSING, target or _target(category), derived=derived)


def one_shot(
    category: Category,
    name: str,
    *,
    target: Target | None = None,
    derived: bool = False,
    global_only: bool = False,
    produced: bool = True,
) -> EventTypeSpec:
    """Create the row of a type that notifies once and opens no alert."""
    about = target or _target(category)
    return EventTypeSpec(
        name,
        category,
        AlertEffect.ONE_SHOT,
        about,
        derived=derived,
        global_only=global_only,
        produced=produced,
    )


def audit(category: Category, name: str) -> EventTypeSpec:
    """Create the row of a type that is only recorded."""
    return EventTypeSpec(name, category, AlertEffect.AUDIT, _target(category))


def _target(category: Category) -> Target:
    return _TARGETS.get(category, Target.GROUP)
