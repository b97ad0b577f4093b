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


class DropReason(StrEnum):
    """Why a notification was not sent; the values appear in the log."""

    ALERT_OVER = "the alert was over before it was delivered"
    CONFIG_OFF = "the alert configuration was deleted or disabled"
    NOTIFICATION_REMOVED = "the notification was removed from the alert configuration"
    NOT_ACKNOWLEDGED = "the acknowledgement expired or was removed before delivery"
    JUST_NOTIFIED = "all its recipients have just been notified, or are about to be"
    IN_INCIDENT = "the messages of its incident include the alert"
    MERGED = "merged into the same message of another notification to this address"
    SENT_AGAIN = "the notification that it would repeat had failed and is sent again instead"
    TOO_MANY_RECIPIENTS = "too many recipients: only the first 1000 were notified"
    NO_LONGER_RECIPIENT = "the address no longer belongs to a recipient of the notification"
    SECRETS_GONE = "its credentials were deleted with the alert configuration"
    NO_USER_WITH_ROLE = "no recipients: no user has the required role"
    NO_USER = "no recipients: the user does not exist or cannot be notified"
    NO_MEMBER = "no recipients: the team was deleted or has no members"
    NO_PROJECT = "no recipients: an event without a project has no project members"
    NO_ADDRESS = "no recipients: no user has an address for this channel"


class DestinationState(StrEnum):
    """The health of a destination; the values are also labels of metrics."""

    FAILING = "failing"
    """Its last attempt failed."""
    SLOWED = "slowed_down"
    """It accepts messages but asked for a lower rate."""
    HEALTHY = "healthy"
    UNTRIED = "not_tried"


class WaitReason(StrEnum):
    """Why a due notification waits; the values appear in the log."""

    ACKNOWLEDGED = "the alert is acknowledged"


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
