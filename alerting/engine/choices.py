"""Closed sets of notifications; the values are the wire values."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from integrations.choices import MessageKind


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


KIND_WORDS: Final[Mapping[MessageKind, str]] = {
    MessageKind.OPEN: "opened",
    MessageKind.UPDATE: "still open",
    MessageKind.ACKNOWLEDGE: "acknowledged",
    MessageKind.CLOSE: "closed",
    MessageKind.CANCEL: "cancelled",
    MessageKind.INFORM: "recorded",
}
"""What a message says of its alert or event."""
