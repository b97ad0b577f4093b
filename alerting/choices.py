"""Closed sets of alerting; the values are the wire values."""

from enum import StrEnum


class AlertStatus(StrEnum):
    """An alert's state (decisions 6 "status")."""

    TRACKING = "TRACKING"
    OPEN = "OPEN"
    CLOSED = "CLOSED"
    CANCELLED = "CANCELLED"


ACTIVE = (AlertStatus.TRACKING, AlertStatus.OPEN)
"""Of these there is at most one per config and target."""


class NotificationStatus(StrEnum):
    """Where a notification stands."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"
    DROPPED = "DROPPED"


class DropReason(StrEnum):
    """Why a notification was not sent; the values are what the log shows."""

    ALERT_OVER = "the alert was over before it was delivered"
    CONFIG_OFF = "the alert configuration was deleted or disabled"


class ConfigNotificationType(StrEnum):
    """Kinds of notification a configuration can have (decisions 5 "notifications.typeName")."""

    ADMIN = "ADMIN"
    GROUP = "GROUP"
    ORG = "ORG"
    USER = "USER"
    TEAM = "TEAM"
    EMAIL = "EMAIL"
    SMS = "SMS"
    PAGER_SERVICE = "PAGER_SERVICE"
    CHAT_SERVICE = "CHAT_SERVICE"
    GROUP_CHAT_SERVICE = "GROUP_CHAT_SERVICE"
    METRICS_SERVICE = "METRICS_SERVICE"
    OPS_ALERT_SERVICE = "OPS_ALERT_SERVICE"
    ON_CALL_SERVICE = "ON_CALL_SERVICE"
    WEBHOOK = "WEBHOOK"
    TEAM_CHAT_SERVICE = "TEAM_CHAT_SERVICE"
