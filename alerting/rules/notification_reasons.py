"""Why a message of an alert was, or was not, sent: a reason for programs, and a sentence. Pure.

The page of an alert and the API use the same functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from alerting.choices import AlertStatus, DropReason, NotificationStatus, WaitReason
from alerting.rules.delivery_policy import DeliveryStep, DeliveryVerdict, muted_by
from alerting.rules.timeline import TimelineNotification
from integrations.choices import MessageKind
from opsapi.clock import time_words


class NotificationReason(StrEnum):
    """Why a message was sent, waits, or was not sent. The values are the wire values.

    A message that was dropped has the name of its DropReason.
    """

    DELIVERED = "DELIVERED"
    SENDING = "SENDING"
    DELAYED = "DELAYED"
    """The delayMin of the notification has not passed."""
    REMINDER_LATER = "REMINDER_LATER"
    """A reminder whose interval has not passed."""
    DUE = "DUE"
    """It waits for a worker."""
    RETRYING = "RETRYING"
    """The receiver did not accept it; another attempt follows."""
    MUTED = "MUTED"
    ACKNOWLEDGED = "ACKNOWLEDGED"
    FAILED = "FAILED"
    """The receiver did not accept it, and no attempt follows."""

    ALERT_OVER = "ALERT_OVER"
    CONFIG_OFF = "CONFIG_OFF"
    NOTIFICATION_REMOVED = "NOTIFICATION_REMOVED"
    NOT_ACKNOWLEDGED = "NOT_ACKNOWLEDGED"
    JUST_NOTIFIED = "JUST_NOTIFIED"
    IN_INCIDENT = "IN_INCIDENT"
    MERGED = "MERGED"
    """Another notification has sent the same message to the same address."""
    SENT_AGAIN = "SENT_AGAIN"
    TOO_MANY_RECIPIENTS = "TOO_MANY_RECIPIENTS"
    NO_LONGER_RECIPIENT = "NO_LONGER_RECIPIENT"
    SECRETS_GONE = "SECRETS_GONE"
    NO_USER_WITH_ROLE = "NO_USER_WITH_ROLE"
    NO_USER = "NO_USER"
    NO_MEMBER = "NO_MEMBER"
    NO_PROJECT = "NO_PROJECT"
    NO_ADDRESS = "NO_ADDRESS"

    NOT_OPEN = "NOT_OPEN"
    """The alert is TRACKING: nobody is notified yet."""
    ENDED_BEFORE_OPENING = "ENDED_BEFORE_OPENING"
    ADDED_LATER = "ADDED_LATER"
    """The notification was added to the configuration after the alert opened."""
    NOT_RECORDED = "NOT_RECORDED"
    """The log has no message, and does not say why."""

    NOT_FOR_USERS = "NOT_FOR_USERS"
    """The notification goes to a service."""
    OTHER_ADDRESS = "OTHER_ADDRESS"
    OTHER_USER = "OTHER_USER"
    NOT_IN_TEAM = "NOT_IN_TEAM"
    ROLE_MISSING = "ROLE_MISSING"
    CHANNEL_DISABLED = "CHANNEL_DISABLED"
    """The user has an address only for a channel that the notification does not use."""
    NOT_A_RECIPIENT_THEN = "NOT_A_RECIPIENT_THEN"
    """The notification reaches the user now, but did not when the messages were sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationExplanation:
    """The reason as a code, and as a sentence.

    `until`: the earliest time of a message that waits. `window_id`: the maintenance window that mutes it.
    """

    reason: NotificationReason
    detail: str
    until: datetime | None = None
    window_id: str | None = None


def explain_notification(
    notification: TimelineNotification,
    verdict: DeliveryVerdict | None,
    *,
    windows: Mapping[str, str],
    now: datetime,
) -> NotificationExplanation:
    """Explain a notification of the log.

    `verdict`: the decision at its due time, for a pending notification. `windows`: the names of maintenance
    windows, by ID.
    """
    if notification.status is NotificationStatus.PENDING and verdict is not None:
        return _pending(notification, verdict, windows, now)
    if notification.status is NotificationStatus.DELIVERED:
        detail = f"{notification.recipient} was notified {notification.that}."
        return NotificationExplanation(reason=NotificationReason.DELIVERED, detail=detail)
    if notification.is_merged:
        return NotificationExplanation(reason=NotificationReason.MERGED, detail=notification.merged_words)
    detail = f"{notification.recipient} was not notified {notification.that}"
    if window_id := muted_by(notification.silenced_by, notification.reason):
        return _muted(f"{detail}: ", window_id, windows)
    reason = NotificationReason.FAILED
    if notification.status is NotificationStatus.DROPPED:
        reason = _dropped(notification.reason)
    why = notification.reason or "the reason is not recorded"
    return NotificationExplanation(reason=reason, detail=f"{detail}: {why}.")


def _pending(
    notification: TimelineNotification, verdict: DeliveryVerdict, windows: Mapping[str, str], now: datetime
) -> NotificationExplanation:
    future = f"{notification.recipient} will be notified {notification.that}"
    if notification.being_sent:
        return NotificationExplanation(reason=NotificationReason.SENDING, detail=f"{future}: sending now.")
    if verdict.step is DeliveryStep.DROP:
        detail = f"{notification.recipient} will not be notified {notification.that}: {verdict.reason}."
        if window_id := muted_by(None, verdict.reason):
            return _muted(f"{detail[:-1]}: ", window_id, windows)
        return NotificationExplanation(reason=_dropped(verdict.reason), detail=detail)
    postponed = verdict.step is DeliveryStep.POSTPONE
    until = verdict.until if postponed and verdict.until else max(notification.due, now)
    at_earliest = f"{future} at {time_words(until)} at the earliest: "
    if window_id := verdict.silenced_by or notification.silenced_by:
        return _muted(at_earliest, window_id, windows, until)
    if WaitReason.ACKNOWLEDGED in (verdict.reason, notification.reason):
        reason, why = NotificationReason.ACKNOWLEDGED, WaitReason.ACKNOWLEDGED.value
        return NotificationExplanation(reason=reason, detail=f"{at_earliest}{why}.", until=until)
    reason, why = _waiting(notification, now)
    return NotificationExplanation(reason=reason, detail=f"{at_earliest}{why}.", until=until)


def _waiting(notification: TimelineNotification, now: datetime) -> tuple[NotificationReason, str]:
    if notification.attempts and notification.reason:
        return NotificationReason.RETRYING, notification.reason
    if notification.due <= now:
        return NotificationReason.DUE, "it is due and waits for a worker"
    if notification.kind is MessageKind.UPDATE:
        return NotificationReason.REMINDER_LATER, "the interval of reminders has not passed"
    return NotificationReason.DELAYED, "the delay of the notification has not passed"


def _muted(
    beginning: str, window_id: str, windows: Mapping[str, str], until: datetime | None = None
) -> NotificationExplanation:
    name = windows.get(window_id, window_id)
    return NotificationExplanation(
        reason=NotificationReason.MUTED,
        detail=f"{beginning}maintenance window {name} mutes the alert.",
        until=until,
        window_id=window_id,
    )


_DROPPED = {reason.value: NotificationReason[reason.name] for reason in DropReason}
MESSAGE_REASONS = (
    NotificationReason.DELIVERED,
    NotificationReason.SENDING,
    NotificationReason.DELAYED,
    NotificationReason.REMINDER_LATER,
    NotificationReason.DUE,
    NotificationReason.RETRYING,
    NotificationReason.MUTED,
    NotificationReason.ACKNOWLEDGED,
    NotificationReason.FAILED,
    *_DROPPED.values(),
    NotificationReason.NOT_RECORDED,
)
"""The reasons of `explain_notification`."""


def _dropped(reason: str | None) -> NotificationReason:
    return _DROPPED.get(reason or "", NotificationReason.NOT_RECORDED)


def no_notification_reason(
    status: AlertStatus, *, opens: datetime, resolved: datetime | None
) -> NotificationReason:
    """Why the log of an alert has no message of a notification of its configuration."""
    if status is AlertStatus.TRACKING:
        return NotificationReason.NOT_OPEN
    if status is AlertStatus.OPEN:
        return NotificationReason.ADDED_LATER
    if status is AlertStatus.CLOSED and resolved is not None and resolved < opens:
        return NotificationReason.ENDED_BEFORE_OPENING
    return NotificationReason.NOT_RECORDED


NO_NOTIFICATION_WORDS: Mapping[NotificationReason, str] = {
    NotificationReason.NOT_OPEN: "the alert has not opened",
    NotificationReason.ADDED_LATER: "the notification was added to the configuration after the alert opened",
    NotificationReason.ENDED_BEFORE_OPENING: "the alert ended before it opened",
    NotificationReason.NOT_RECORDED: "no message is recorded",
}
"""The reasons of `no_notification_reason` as clauses."""
