"""Whether an alert is acknowledged, and the states of alerts and notifications in one word. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from alerting.choices import AlertStatus, NotificationStatus
from integrations.choices import MessageKind


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """The acknowledgement of an alert: `username` is a username or the publicKey of a key."""

    until: datetime
    comment: str | None
    username: str | None


def in_force(stored: Acknowledgement | None, now: datetime) -> Acknowledgement | None:
    """The acknowledgement that is valid at `now`; None if it has expired."""
    return stored if stored and stored.until > now else None


def acknowledged(
    current: Acknowledgement | None,
    *,
    until: datetime,
    comment: str | None,
    username: str | None,
    now: datetime,
) -> Acknowledgement | None:
    """The acknowledgement after a request; `current` is valid at `now`.

    None if `until` is in the past, which removes it. A missing comment stays, and unchanged values keep their
    author.
    """
    if until <= now:
        return None
    if current is None:
        return Acknowledgement(until, comment, username)
    kept = current.comment if comment is None else comment
    same = (until, kept) == (current.until, current.comment)
    return current if same else Acknowledgement(until, kept, username)


class AcknowledgementPreset(StrEnum):
    """Preset ends of an acknowledgement, or a custom time."""

    HOUR = "1h"
    FOUR_HOURS = "4h"
    TOMORROW = "tomorrow"
    OWN = "own"


MORNING = 9
"""The UTC hour of the preset "tomorrow"."""


def until_of(preset: AcknowledgementPreset, now: datetime) -> datetime | None:
    """The end in whole seconds; None for a custom time."""
    moment = now.replace(microsecond=0)
    match preset:
        case AcknowledgementPreset.HOUR:
            return moment + timedelta(hours=1)
        case AcknowledgementPreset.FOUR_HOURS:
            return moment + timedelta(hours=4)
        case AcknowledgementPreset.TOMORROW:
            return (moment + timedelta(days=1)).replace(hour=MORNING, minute=0, second=0)
        case AcknowledgementPreset.OWN:
            return None


class AlertState(StrEnum):
    """The state on lists, pages and panels; the values are the words."""

    PENDING = "Pending"
    OPEN = "Open"
    ACKNOWLEDGED = "Acknowledged"
    MUTED = "Muted"
    PERHAPS_MUTED = "Open or muted"
    """Comparing the alert with all windows takes too long."""
    CLOSED = "Closed"
    CANCELLED = "Cancelled"


def alert_state(status: AlertStatus, *, is_acknowledged: bool, is_muted: bool | None) -> AlertState:
    """An acknowledgement comes first, because somebody is working on it.

    Muted means open and covered by a window now. `is_muted` is None if this is not known.
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
            if is_muted is None:
                return AlertState.PERHAPS_MUTED
            return AlertState.MUTED if is_muted else AlertState.OPEN


class NotificationState(StrEnum):
    """The values are the words."""

    DELIVERED = "Delivered"
    FAILED = "Failed"
    DROPPED = "Dropped"
    MERGED = "Merged"
    """Another notification has sent the same message."""
    WAITING = "Waiting"
    SCHEDULED = "Scheduled"


def notification_state(
    status: NotificationStatus,
    *,
    kind: MessageKind,
    due: datetime,
    attempts: int,
    is_held: bool,
    is_merged: bool = False,
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
            return NotificationState.MERGED if is_merged else NotificationState.DROPPED
        case NotificationStatus.PENDING:
            is_to_come = due > now and not attempts and (not is_held or kind is MessageKind.UPDATE)
            return NotificationState.SCHEDULED if is_to_come else NotificationState.WAITING
