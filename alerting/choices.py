"""Closed sets of alerting; the values are the wire values."""

from enum import StrEnum


class AlertStatus(StrEnum):
    """An alert's state."""

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
    NOTIFICATION_REMOVED = "the notification was taken out of the alert configuration"
    NOT_ACKNOWLEDGED = "the acknowledgement had lapsed or was taken back before it was delivered"
    JUST_TOLD = "everybody it would reach has just been told, or is about to be"
    SENT_ANEW = "what it would repeat had failed, and is sent again in its place"
    REST_LEFT_OUT = "too many people: only the first 1000 were told"
    NOT_AMONG_THEM = "the address is not one of the people's it was for any more"
    SECRETS_GONE = "its credentials were removed with the deleted alert configuration"
    NO_HOLDER = "nobody to tell: no user holds such a role there"
    NO_USER = "nobody to tell: there is no such user who may be told"
    NO_MEMBER = "nobody to tell: the team is gone or has no member"
    NO_PROJECT = "nobody to tell: there is no alert whose project's people it could be"
    NO_ADDRESS = "nobody to tell: none of them has an address for it"


class DestinationState(StrEnum):
    """How a destination fares; the values are labels of metrics too."""

    FAILING = "failing"
    """Its last attempt failed."""
    SLOWED = "slowed_down"
    """It takes messages and asked for fewer at a time."""
    HEALTHY = "healthy"
    UNTRIED = "not_tried"


class WaitReason(StrEnum):
    """Why a notification that is due waits; the values are what the log shows."""

    ACKNOWLEDGED = "the alert is acknowledged"


class PeopleType(StrEnum):
    """Types of notifications to people; the other types are the channels."""

    ADMIN = "ADMIN"
    GROUP = "GROUP"
    ORG = "ORG"
    USER = "USER"
    TEAM = "TEAM"
