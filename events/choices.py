"""Closed sets of the event log. Event types have a table of their own (events.types)."""

from enum import StrEnum


class SignalKind(StrEnum):
    """The content of a signal."""

    EVENT = "event"
    """An alertable event: its type and facts."""
    HOSTS = "hosts"
    """The state of hosts and replica sets, and the measurements of a report."""
    CONFIG = "config"
    """An alert configuration was created, enabled or changed: evaluate it against the current state."""
    VERSIONS = "versions"
    """A version in the project was added, removed or changed: the fleet recalculates which are behind."""
    CANCELLED = "cancelled"
    """Alerts were cancelled: end their incidents, and schedule their last messages."""


class DiffStatus(StrEnum):
    """The kind of a change."""

    NEW = "NEW"
    MODIFIED = "MODIFIED"
    REMOVED = "REMOVED"
    SHUTDOWN = "SHUTDOWN"
    STARTUP = "STARTUP"
    RESTORE = "RESTORE"
    RESTART = "RESTART"


class DiffType(StrEnum):
    """The kind of resource that changed. The set is closed: other resources use the most similar kind."""

    AUTH = "AUTH"
    AUTOMATION_AGENT = "AUTOMATION_AGENT"
    BACKUP_AGENT = "BACKUP_AGENT"
    BI_CONNECTOR = "BI_CONNECTOR"
    MONITORING_AGENT = "MONITORING_AGENT"
    PROCESS = "PROCESS"
    REPLICA_SET = "REPLICA_SET"
    ROLES = "ROLES"
    USERS = "USERS"
    ALERT_CONFIG = "ALERT_CONFIG"
    INTEGRATION = "INTEGRATION"
    MAINTENANCE_WINDOW = "MAINTENANCE_WINDOW"
    ACCESS_LIST = "ACCESS_LIST"
    GROUP = "GROUP"


class Work(StrEnum):
    """The work that wakes workers."""

    SIGNALS = "signals"
    MESSAGES = "messages"
