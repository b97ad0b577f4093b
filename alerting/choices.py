"""Closed sets of alerting; the values are the wire values."""

from enum import StrEnum


class AlertStatus(StrEnum):
    """An alert's state."""

    TRACKING = "TRACKING"
    OPEN = "OPEN"
    CLOSED = "CLOSED"
    CANCELLED = "CANCELLED"


ACTIVE = (AlertStatus.TRACKING, AlertStatus.OPEN)
"""At most one of these per configuration and target."""


class NotificationStatus(StrEnum):
    """The status of a notification."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"
    DROPPED = "DROPPED"


class DestinationState(StrEnum):
    """The health of a destination; the values are also labels of metrics."""

    FAILING = "failing"
    """Its last attempt failed."""
    SLOWED = "slowed_down"
    """It accepts messages but asked for a lower rate."""
    HEALTHY = "healthy"
    UNTRIED = "not_tried"


class Grouping(StrEnum):
    """How the messages about the alerts of a configuration are grouped; the values are wire values."""

    NONE = "NONE"
    """Each alert has its own messages."""
    TOPOLOGY = "TOPOLOGY"
    """The alerts of one outage have their messages together (docs/grouping.md)."""


GROUP_WAIT_SEC = 15
"""The default of `groupWaitSec`."""
LONGEST_GROUP_WAIT_SEC = 300


class SetupMarkName(StrEnum):
    """What a project or the installation remembers of its set-up."""

    CHANNEL_TESTED = "CHANNEL_TESTED"
    HOST_DOWN_NOTICE_DISMISSED = "HOST_DOWN_NOTICE_DISMISSED"
    CHECKLIST_DISMISSED = "CHECKLIST_DISMISSED"


class IncidentPart(StrEnum):
    """Why an update about an incident is sent; a reminder has none."""

    CHANGE = "CHANGE"
    """Sent only if the incident has an important change since the last message."""
    UNGROUPED = "UNGROUPED"
    """Sent because its configuration no longer groups messages."""


class PeopleType(StrEnum):
    """Notification types for people; the other types are the channels."""

    ADMIN = "ADMIN"
    GROUP = "GROUP"
    ORG = "ORG"
    USER = "USER"
    TEAM = "TEAM"


class CutReason(StrEnum):
    """Why an answer is incomplete."""

    TIME = "TIME"
