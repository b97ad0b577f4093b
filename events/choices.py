"""Closed sets of the event log beside the event types, which have a table of their own (events.types)."""

from enum import StrEnum


class SignalKind(StrEnum):
    """What a signal carries."""

    EVENT = "event"
    """One alertable event: its type and facts."""
    HOSTS = "hosts"
    """What is known of hosts and replica sets: state, and what a report measured."""
    CONFIG = "config"
    """An alert configuration was made, enabled or changed: hold it against the newest state."""
    VERSIONS = "versions"
    """A version in the project came, went or changed: the fleet weighs anew which are behind."""


class DiffStatus(StrEnum):
    """The nature of a change."""

    NEW = "NEW"
    MODIFIED = "MODIFIED"
    REMOVED = "REMOVED"
    SHUTDOWN = "SHUTDOWN"
    STARTUP = "STARTUP"
    RESTORE = "RESTORE"
    RESTART = "RESTART"


class DiffType(StrEnum):
    """The kind of resource that changed. The set is closed: other resources use the nearest kind."""

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
    """What workers are woken for."""

    SIGNALS = "signals"
    MESSAGES = "messages"
