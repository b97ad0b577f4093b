"""Builds and inserts notifications, before anything is sent."""

from collections.abc import Iterable
from datetime import datetime

from alerting.models import Alert, Notification, NotificationSetting
from alerting.models.notifications import LONGEST_RECIPIENT
from alerting.selectors.credentials import recipient_shown
from alerting.selectors.notification_settings import type_of
from alerting.selectors.notified_receivers import Notified
from alerting.selectors.recipient_addresses import RecipientAddress, recipient_label
from events.choices import Work
from events.services import wake_workers
from integrations.channels import CHANNELS
from integrations.choices import OPEN_KINDS, ChannelType, MessageKind
from opsapi.batches import batches
from opsapi.ids import derived_id

_ROWS_AT_ONCE = 1_000
_KINDS_FOR_PEOPLE = OPEN_KINDS | {MessageKind.INFORM}


def alert_row(
    setting: NotificationSetting,
    kind: MessageKind,
    alert: Alert,
    *,
    due: datetime,
    now: datetime,
    number: int = 0,
) -> Notification:
    """Return a notification of an alert for the setting's recipients; `number` distinguishes reminders."""
    row = _row(setting, kind, group_id=alert.group_id, due=due, now=now)
    row.id = derived_id(alert.id, kind.value, setting.id, str(number))
    row.alert, row.subject = alert, alert.target_key
    return row


def event_row(
    setting: NotificationSetting, event_id: str, *, group_id: str | None, due: datetime, now: datetime
) -> Notification:
    """Return a one-shot notification of an event for the recipients of the setting."""
    row = _row(setting, MessageKind.INFORM, group_id=group_id, due=due, now=now)
    row.id = derived_id(event_id, setting.id, group_id or "")
    row.event_id = row.subject = event_id
    return row


def notified_row(notified: Notified, kind: MessageKind, now: datetime, *, version: str = "") -> Notification:
    """Return a notification of the next state of an alert for a receiver that was notified before.

    It is due at once and goes to the same destination. `version` distinguishes several of one kind.
    """
    return Notification(
        id=derived_id(*notified.key, kind.value, version),
        group_id=notified.group_id,
        alert_id=notified.alert_id,
        setting_id=notified.setting_id,
        type_name=notified.type_name,
        channel=notified.channel,
        kind=kind.value,
        destination=notified.destination,
        subject=notified.subject,
        recipient=notified.recipient,
        created=now,
        due=now,
    )


def address_row(notification: Notification, address: RecipientAddress, now: datetime) -> Notification:
    """Return the notification for one address that replaces a notification for people; due at once."""
    row = _same_message(notification, now)
    row.id = derived_id(notification.id, address.channel, address.recipient)
    row.channel, row.recipient = address.channel, address.recipient
    return row


def redirected_row(
    notification: Notification, destination: str, recipient: str, now: datetime
) -> Notification:
    """Return the same notification for another destination; due at once, with a new hour of retries."""
    row = _same_message(notification, now)
    row.id = derived_id(notification.id, destination, str(notification.attempts))
    row.channel, row.destination = notification.channel, destination
    row.recipient = recipient[:LONGEST_RECIPIENT]
    return row


def notifications_insert(rows: Iterable[Notification]) -> None:
    """Insert the notifications of kinds that their channels send. Existing ids are skipped."""
    wanted = (row for row in rows if MessageKind(row.kind) in _kinds(row))
    for batch in batches(wanted, _ROWS_AT_ONCE):
        Notification.objects.bulk_create(batch, ignore_conflicts=True)
        wake_workers(Work.MESSAGES)


def _row(
    setting: NotificationSetting, kind: MessageKind, *, group_id: str | None, due: datetime, now: datetime
) -> Notification:
    """A notification for people names the recipients of the setting until their addresses are looked up."""
    for_people = type_of(setting).for_people
    named = recipient_label(setting) if for_people else recipient_shown(setting, group_id=group_id)
    return Notification(
        group_id=group_id,
        setting_id=setting.id,
        type_name=setting.type_name,
        channel=None if for_people else setting.type_name,
        kind=kind.value,
        recipient=named[:LONGEST_RECIPIENT],
        created=now,
        due=due,
    )


def _same_message(notification: Notification, now: datetime) -> Notification:
    """Return a notification with the same message, due at once, without id and receiver."""
    return Notification(
        sequence=notification.sequence,
        subject=notification.subject,
        group_id=notification.group_id,
        alert_id=notification.alert_id,
        event_id=notification.event_id,
        setting_id=notification.setting_id,
        type_name=notification.type_name,
        kind=notification.kind,
        created=notification.created,
        due=now,
    )


def _kinds(row: Notification) -> frozenset[MessageKind]:
    return CHANNELS[ChannelType(row.channel)].kinds if row.channel else _KINDS_FOR_PEOPLE
