"""The state of a notification in one word, as in the log. Pure."""

from datetime import datetime
from enum import StrEnum

from alerting.choices import NotificationStatus
from integrations.choices import MessageKind


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
    """Scheduled: its time has not come, and nothing else holds it back. A reminder is due later in any case.

    `is_held`: a reason is given why it waits.
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
