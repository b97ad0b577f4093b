"""Closed sets of notifications; the values are the wire values."""

from enum import StrEnum


class NotificationStatus(StrEnum):
    """The status of a notification."""

    PENDING = "PENDING"
    DELIVERED = "DELIVERED"
    FAILED = "FAILED"
    DROPPED = "DROPPED"


class IncidentPart(StrEnum):
    """Why an update about an incident is sent; a reminder has none."""

    CHANGE = "CHANGE"
    """Sent only if the incident has an important change since the last message."""
    UNGROUPED = "UNGROUPED"
    """Sent because its configuration no longer groups messages."""
