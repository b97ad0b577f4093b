"""The states of alerts and notifications in one word, the same on every page. Pure."""

from datetime import datetime
from enum import StrEnum

from alerting.choices import AlertStatus, NotificationStatus
from integrations.choices import MessageKind


class AlertState(StrEnum):
    """The state on lists, pages and panels; the values are the words."""

    PENDING = "Pending"
    OPEN = "Open"
    ACKNOWLEDGED = "Acknowledged"
    MUTED = "Muted"
    CLOSED = "Closed"
    CANCELLED = "Cancelled"


def alert_state(status: AlertStatus, *, is_acknowledged: bool, is_muted: bool) -> AlertState:
    """An acknowledgement comes first, because somebody is working on it.

    Muted means open and covered by a window now.
    """
    match status:
        case AlertStatus.CLOSED:
            return AlertState.CLOSED
        case AlertStatus.CANCELLED:
            return AlertState.CANCELLED
        case _ if is_acknowledged:
            return AlertState.ACKNOWLEDGED
        case AlertStatus.TRACKING:
            return AlertState.PENDING
        case AlertStatus.OPEN:
            return AlertState.MUTED if is_muted else AlertState.OPEN


class NotificationState(StrEnum):
    """The values are the words."""

    DELIVERED = "Delivered"
    FAILED = "Failed"
    DROPPED = "Dropped"
    WAITING = "Waiting"
    SCHEDULED = "Scheduled"


def notification_state(
    status: NotificationStatus,
    *,
    kind: MessageKind,
    due: datetime,
    attempts: int,
    is_held: bool,
    now: datetime,
) -> NotificationState:
    """Return the state of a notification.

    A pending notification is scheduled if it is due later, was never attempted and is not held (`is_held`: it
    has a reason to wait). A reminder is scheduled even if it is held.
    """
    match status:
        case NotificationStatus.DELIVERED:
            return NotificationState.DELIVERED
        case NotificationStatus.FAILED:
            return NotificationState.FAILED
        case NotificationStatus.DROPPED:
            return NotificationState.DROPPED
        case NotificationStatus.PENDING:
            is_to_come = due > now and not attempts and (not is_held or kind is MessageKind.UPDATE)
            return NotificationState.SCHEDULED if is_to_come else NotificationState.WAITING
