"""Decides what happens to a due notification, and what follows its delivery. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from alerting.choices import AlertStatus
from alerting.reasons import AttemptFailure, NotificationReason, window_of
from integrations.choices import ENDS, OPEN_KINDS, MessageKind

_OF_A_RUNNING_ALERT = OPEN_KINDS | {MessageKind.ACKNOWLEDGE}


class DeliveryStep(StrEnum):
    """The steps of a due notification."""

    SEND = "SEND"
    ADDRESS = "ADDRESS"
    """Find its destination: the addresses of people, or the destination in the configuration."""
    MERGE = "MERGE"
    """Another notification has sent the same message to the same address."""
    POSTPONE = "POSTPONE"
    DROP = "DROP"
    GIVE_UP = "GIVE_UP"
    """It was sent and perhaps received, or tried too often: do not send it again."""
    REMOVE = "REMOVE"
    """The end of an alert, if the receiver got no message about it; an unimportant change of an incident."""


@dataclass(frozen=True, slots=True)
class Mute:
    """A maintenance window that mutes notifications until its end; `window_id` is its ID."""

    window_id: str
    until: datetime

    @property
    def reason(self) -> str:
        return NotificationReason.MUTED.value.format(window=self.window_id)


def mute_of_incident(mutes: Iterable[Mute | None]) -> Mute | None:
    """Return, of the mutes of the open alerts, the mute that ends first; None if an alert is not muted."""
    first: Mute | None = None
    for mute in mutes:
        if mute is None:
            return None
        if first is None or (mute.until, mute.window_id) < (first.until, first.window_id):
            first = mute
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNotification:
    """The facts of a due notification.

    `status` is the alert's, None for a one-shot notification. `config_counts`: the configuration exists and
    is enabled; `setting_counts`: it still has this notification; `recipient_counts`: the address still
    belongs to a recipient. `is_below_minimum`: the severity is lower than the minimum of the notification.
    `perhaps_received`: an attempt was sent and not definitely refused, so the
    notification is never dropped as if nothing was sent. `lapsed_too_often`: too many attempts left no
    outcome. `addressed`: its destination is decided, and still the one that its configuration names.
    `perhaps_notified`: the receiver of an end was, or perhaps was, notified of the alert. `keeps_state`: the
    service tracks the alert itself. `mute`: the maintenance window that mutes it now. `worth_sending`:
    False for an unimportant change of an incident. `merged_into`: the notification that has sent the same
    message to the same address.
    """

    kind: MessageKind
    status: AlertStatus | None
    config_counts: bool = True
    setting_counts: bool = True
    recipient_counts: bool = True
    is_below_minimum: bool = False
    perhaps_received: bool = False
    lapsed_too_often: bool = False
    addressed: bool = True
    perhaps_notified: bool = True
    keeps_state: bool = False
    acknowledged_until: datetime | None = None
    mute: Mute | None = None
    worth_sending: bool = True
    merged_into: str | None = None


_SINCE_IT_WAS_SENT = frozenset({None, NotificationReason.ALERT_OVER, NotificationReason.NOT_ACKNOWLEDGED})
"""What can have happened since the other notification sent the message: the message is merged anyway."""


@dataclass(frozen=True, slots=True)
class DeliveryVerdict:
    """The step, and the reason to drop, postpone or give up.

    `until` and `silenced_by` belong to POSTPONE. `stopped` belongs to GIVE_UP: why it is not retried. Then
    `reason` is None, and the reason of the last attempt is kept (`not_retried`).
    """

    step: DeliveryStep
    reason: str | None = None
    until: datetime | None = None
    silenced_by: str | None = None
    stopped: NotificationReason | None = None


LONGEST_REASON = 300
"""The maximum length of the reason of a notification or an attempt, in characters."""


def not_retried_words(reason: NotificationReason) -> str:
    """The end of the reason of a failed notification that is no longer retried."""
    return f"; not retried: {reason.not_retried}"


def not_retried(failure: str, reason: NotificationReason | None) -> str:
    """Return the reason of a failed notification: its last failure, and why it is not retried.

    `reason` is None if its retries have ended as they should, or it needs none.
    """
    words = not_retried_words(reason) if reason else ""
    return failure[: LONGEST_REASON - len(words)] + words


def decide_delivery(due: DueNotification, now: datetime) -> DeliveryVerdict:
    """Checks in this order: merged, needless, over or outdated, muted, acknowledged, given up, sent."""
    reason = drop_reason(due, now)
    if due.merged_into is not None and not due.perhaps_received and reason in _SINCE_IT_WAS_SENT:
        return DeliveryVerdict(DeliveryStep.MERGE, NotificationReason.MERGED.value)
    if _is_needless(due):
        return DeliveryVerdict(DeliveryStep.REMOVE)
    if reason is not None:
        # A message that may have arrived is not dropped: its receiver gets the end of the alert.
        return (
            DeliveryVerdict(DeliveryStep.GIVE_UP, stopped=reason)
            if due.perhaps_received
            else DeliveryVerdict(DeliveryStep.DROP, reason.value)
        )
    if held_back := _held_back(due, now):
        return held_back
    if due.lapsed_too_often:
        return DeliveryVerdict(DeliveryStep.GIVE_UP, AttemptFailure.NO_OUTCOME.value)
    return DeliveryVerdict(DeliveryStep.SEND if due.addressed else DeliveryStep.ADDRESS)


def drop_reason(due: DueNotification, now: datetime) -> NotificationReason | None:
    """Why it is no longer sent; None if it is."""
    if due.kind in _OF_A_RUNNING_ALERT and due.status is not AlertStatus.OPEN:
        return NotificationReason.ALERT_OVER
    if due.kind not in ENDS and (reason := _not_asked_for(due)):
        return reason
    if due.kind is MessageKind.ACKNOWLEDGE and not _is_acknowledged(due, now):
        return NotificationReason.NOT_ACKNOWLEDGED
    return None


def _is_needless(due: DueNotification) -> bool:
    return not due.perhaps_notified if due.kind in ENDS else not (due.worth_sending or due.perhaps_received)


def repeat_due(interval: timedelta | None, delivered: datetime) -> datetime | None:
    """When the next reminder is due: a fixed interval after the last delivery; None without reminders."""
    return None if interval is None else delivered + interval


def recent_since(interval: timedelta, now: datetime) -> datetime:
    """Return the time after which a message to people is recent: they get no reminder yet."""
    return now - interval / 2


def _not_asked_for(due: DueNotification) -> NotificationReason | None:
    """Why its configuration no longer notifies."""
    if due.kind is MessageKind.INFORM and not due.config_counts:
        return NotificationReason.CONFIG_OFF
    if not due.setting_counts:
        return NotificationReason.NOTIFICATION_REMOVED
    # An acknowledgement goes to receivers of the opening.
    if due.is_below_minimum and due.kind is not MessageKind.ACKNOWLEDGE:
        return NotificationReason.BELOW_MIN_SEVERITY
    return None if due.recipient_counts else NotificationReason.NO_LONGER_RECIPIENT


def _held_back(due: DueNotification, now: datetime) -> DeliveryVerdict | None:
    # Services that track incidents get the end at once: it cancels a call and causes none.
    if due.mute is not None and not (due.keeps_state and due.kind in ENDS):
        return _muted(due, due.mute)
    if due.kind is MessageKind.UPDATE and _is_acknowledged(due, now):
        return DeliveryVerdict(
            DeliveryStep.POSTPONE, NotificationReason.ACKNOWLEDGED.value, until=due.acknowledged_until
        )
    return None


def _muted(due: DueNotification, mute: Mute) -> DeliveryVerdict:
    """Messages about a running alert and its end can be sent later; one-shot notifications are not kept."""
    if due.kind is MessageKind.INFORM:
        return DeliveryVerdict(DeliveryStep.DROP, mute.reason)
    return DeliveryVerdict(DeliveryStep.POSTPONE, mute.reason, until=mute.until, silenced_by=mute.window_id)


def _is_acknowledged(due: DueNotification, now: datetime) -> bool:
    return due.acknowledged_until is not None and due.acknowledged_until > now


def muted_by(silenced_by: str | None, reason: str | None) -> str | None:
    """The ID of the window that mutes or muted a notification; a dropped one has it in its reason."""
    return silenced_by or window_of(reason)
