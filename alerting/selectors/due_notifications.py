"""A due notification as rules see it, and the receivers that were notified before."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields, replace

from django.db.models import F, Q
from django.db.models.lookups import IsNull

from alerting.choices import NotificationStatus, WaitReason
from alerting.models import Notification, NotificationAttempt, NotificationSetting
from alerting.rules.delivery_policy import NO_OUTCOME, DueNotification
from alerting.selectors.incidents import IncidentView
from alerting.selectors.notification_settings import stands_for_people
from alerting.selectors.recipient_addresses import RecipientAddress, org_of, still_reached
from integrations.channels import CHANNELS
from integrations.choices import ENDS, ChannelType, MessageKind
from opsapi.fields import Among


def due_notification(notification: Notification, incident: IncidentView | None) -> DueNotification:
    """The facts of the notification and its incident, which is None for a one-shot notification."""
    channel = notification.channel
    return DueNotification(
        kind=MessageKind(notification.kind),
        status=incident.status if incident else None,
        perhaps_received=notification.perhaps_received,
        keeps_state=channel is not None and CHANNELS[ChannelType(channel)].keeps_state,
        acknowledged_until=incident.acknowledged_until if incident else None,
    )


def due_notification_with_setting(
    notification: Notification, incident: IncidentView | None, setting: NotificationSetting | None
) -> DueNotification:
    """`due_notification`, and whether configuration, setting and recipient still count.

    `setting` is the current setting, None if it was deleted.
    """
    return replace(
        due_notification(notification, incident),
        config_counts=setting is not None and setting.config.enabled,
        setting_counts=setting is not None and not setting.removed,
        recipient_counts=setting is None or _recipient_counts(notification, setting),
    )


def _recipient_counts(notification: Notification, setting: NotificationSetting) -> bool:
    """Time may have passed since the addresses of people were looked up; asked only where it matters."""
    if notification.channel is None or notification.kind in ENDS or not stands_for_people(notification):
        return True
    address = RecipientAddress(ChannelType(notification.channel), notification.recipient)
    org_id = org_of(notification)
    return still_reached(setting, address, group_id=notification.group_id, org_id=org_id)


HELD_BACK = Q(silenced_by__isnull=False) | Q(reason=WaitReason.ACKNOWLEDGED.value)
"""A notification that a window or an acknowledgement holds back."""
_RECEIVED = Q(status=NotificationStatus.DELIVERED.value) | Q(perhaps_received=True)
_IN_PROGRESS = Q(lease_token__isnull=False, destination__gt="")


@dataclass(frozen=True, slots=True)
class Notified:
    """A receiver that was notified of an alert; the fields are columns of the notification."""

    group_id: str
    alert_id: str
    setting_id: str
    type_name: str
    channel: str
    destination: str
    subject: str
    recipient: str
    incident_id: str | None = None
    changes_messages: bool = False
    """Whether a message to it is changed by later messages about the alert."""

    @property
    def key(self) -> tuple[str, ...]:
        """The identity of the receiver; rows from before destinations were stored have only a recipient."""
        return (self.alert_id, self.setting_id, self.channel, self.destination or self.recipient)


_FIELDS = [column.name for column in fields(Notified)]
_CHANGES_MESSAGES = {"changes_messages": IsNull(F("handle"), False)}


def all_notified(alerts: Collection[str], *, or_in_progress: bool = False) -> Iterator[Notified]:
    """The receivers that were, or perhaps were, notified that these alerts are open, each once.

    With `or_in_progress` also receivers of messages in progress.
    """
    received = _RECEIVED | _IN_PROGRESS if or_in_progress else _RECEIVED
    rows = Notification.objects.filter(received, Among("alert_id", alerts), channel__isnull=False)
    found = rows.exclude(kind__in=ENDS).annotate(**_CHANGES_MESSAGES).values_list(*_FIELDS).distinct()
    # An earlier version may have sent some of the messages: a receiver that has a message to change is last.
    notified = sorted((Notified(*row) for row in found), key=lambda receiver: receiver.changes_messages)
    # Rows from before destinations were stored have none. A later row with a destination is the same
    # receiver.
    placed = {receiver.key[:-1] for receiver in notified if receiver.destination}
    kept = {
        receiver.key: receiver
        for receiver in notified
        if receiver.destination or receiver.key[:-1] not in placed
    }
    yield from (kept[key] for key in sorted(kept))


def notified_destinations(alerts: Sequence[str]) -> set[tuple[str, str]]:
    """Alert and destination of each message that was, or perhaps was, received, except ends."""
    if not alerts:
        return set()
    rows = Notification.objects.filter(_RECEIVED, Among("alert_id", alerts)).exclude(kind__in=ENDS)
    return set(rows.values_list("alert_id", "destination").distinct())


def lapses_of(notifications: Sequence[Notification]) -> dict[str, int]:
    """Return the number of attempts without an outcome, by notification id, since the first attempt."""
    first = {row.id: row.first_attempt for row in notifications if row.first_attempt and row.attempts}
    tries = NotificationAttempt.objects.filter(notification__in=list(first), reason=NO_OUTCOME)
    counts: dict[str, int] = {}
    for notification_id, ended in tries.values_list("notification_id", "ended"):
        if ended >= first[notification_id]:
            counts[notification_id] = counts.get(notification_id, 0) + 1
    return counts
