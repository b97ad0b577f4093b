"""Why a message of an alert was, or was not, sent: a reason for programs, and a sentence. Pure.

The page of an alert and the API use the same functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from alerting.engine.choices import NotificationStatus
from alerting.engine.rules import DeliveryStep, DeliveryVerdict, muted_by
from alerting.incidents.choices import AlertStatus
from alerting.insight.timeline_entries import TimelineNotification
from alerting.reasons import HOLDING_REASONS, AlertReason, NotificationReason
from integrations.choices import MessageKind
from opsapi.clock import time_words


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
        return NotificationExplanation(
            reason=NotificationReason.SENDING, detail=f"{future}: {NotificationReason.SENDING}."
        )
    if verdict.step is DeliveryStep.DROP:
        reason = verdict.reason or NotificationReason.NOT_RECORDED
        detail = f"{notification.recipient} will not be notified {notification.that}: {verdict.sentence}"
        if verdict.window_id:
            return _muted(f"{detail}: ", verdict.window_id, windows)
        return NotificationExplanation(reason=reason, detail=f"{detail}.")
    postponed = verdict.step is DeliveryStep.POSTPONE
    until = verdict.until if postponed and verdict.until else max(notification.due, now)
    at_earliest = f"{future} at {time_words(until)} at the earliest: "
    if window_id := verdict.window_id or notification.silenced_by:
        return _muted(at_earliest, window_id, windows, until)
    reason = _waiting(notification, verdict, now)
    why = notification.reason if reason is NotificationReason.RETRYING else reason.value
    return NotificationExplanation(reason=reason, detail=f"{at_earliest}{why}.", until=until)


def _waiting(
    notification: TimelineNotification, verdict: DeliveryVerdict, now: datetime
) -> NotificationReason:
    for held_back in HOLDING_REASONS:
        if held_back in (verdict.reason, notification.reason):
            return held_back
    if notification.attempts and notification.reason:
        return NotificationReason.RETRYING
    if notification.due <= now:
        return NotificationReason.DUE
    if notification.kind is MessageKind.UPDATE:
        return NotificationReason.REMINDER_LATER
    return NotificationReason.DELAYED


def _dropped(text: str | None) -> NotificationReason:
    return NotificationReason.of_log(text) or NotificationReason.NOT_RECORDED


def _muted(
    beginning: str, window_id: str, windows: Mapping[str, str], until: datetime | None = None
) -> NotificationExplanation:
    why = AlertReason.MUTED.value.format(window=windows.get(window_id, window_id))
    return NotificationExplanation(
        reason=NotificationReason.MUTED,
        detail=f"{beginning}{why}.",
        until=until,
        window_id=window_id,
    )


_WITHOUT_MESSAGE: Mapping[AlertStatus, NotificationReason] = {
    AlertStatus.TRACKING: NotificationReason.NOT_OPEN,
    AlertStatus.OPEN: NotificationReason.ADDED_LATER,
    AlertStatus.CLOSED: NotificationReason.ENDED_BEFORE_OPENING,
}
REASONS_WITHOUT_MESSAGE = (*_WITHOUT_MESSAGE.values(), NotificationReason.NOT_RECORDED)
"""The reasons of `no_notification_reason`."""


def no_notification_reason(
    status: AlertStatus, *, opens: datetime, resolved: datetime | None
) -> NotificationReason:
    """Why the log of an alert has no message of a notification of its configuration."""
    reason = _WITHOUT_MESSAGE.get(status, NotificationReason.NOT_RECORDED)
    has_opened = resolved is None or resolved >= opens
    is_before = reason is NotificationReason.ENDED_BEFORE_OPENING
    return NotificationReason.NOT_RECORDED if is_before and has_opened else reason
