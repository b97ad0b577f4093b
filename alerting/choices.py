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
    """Kinds of notification a project's configuration can have (decisions 5 "notifications.typeName")."""

    EMAIL = "EMAIL"
    WEBHOOK = "WEBHOOK"
