"""Notifications as they are written before anything is sent."""

from collections.abc import Iterable
from datetime import datetime

from alerting.models import Alert, Notification, NotificationSetting
from alerting.models.notifications import LONGEST_RECIPIENT
from alerting.rules.receivers import receiver_key
from alerting.selectors.credentials import recipient_shown
from alerting.selectors.people import Address, people_label
from alerting.selectors.settings import type_of
from alerting.selectors.told import Told
from events.services import wake_workers
from integrations.channels import CHANNELS
from integrations.choices import TELLING, ChannelType, MessageKind
from opsapi.batches import batches

_ROWS_AT_ONCE = 1_000
_PEOPLE_ARE_TOLD_OF = TELLING | {MessageKind.INFORM}


def alert_row(
    setting: NotificationSetting, kind: MessageKind, alert: Alert, *, due: datetime, now: datetime
) -> Notification:
    """Tells whomever the setting names of an alert."""
    row = _row(setting, kind, group_id=alert.group_id, due=due, now=now)
    row.alert = alert
    return row


def event_row(
    setting: NotificationSetting, event_id: str, *, group_id: str | None, due: datetime, now: datetime
) -> Notification:
    """Tells whomever the setting names of an event, once."""
    row = _row(setting, MessageKind.INFORM, group_id=group_id, due=due, now=now)
    row.event_id = event_id
    return row


def told_row(told: Told, kind: MessageKind, now: datetime) -> Notification:
    """Tells one who was told of an alert how it goes on, due at once."""
    return Notification(
        group_id=told.group_id,
        alert_id=told.alert_id,
        setting_id=told.setting_id,
        type_name=told.type_name,
        channel=told.channel,
        kind=kind.value,
        recipient=told.recipient,
        created=now,
        due=now,
    )


def address_row(notification: Notification, address: Address, now: datetime) -> Notification:
    """Tells one address, due at once, in the place of a notification that stands for people."""
    return Notification(
        group_id=notification.group_id,
        alert_id=notification.alert_id,
        event_id=notification.event_id,
        setting_id=notification.setting_id,
        type_name=notification.type_name,
        channel=address.channel.value,
        kind=notification.kind,
        recipient=address.recipient,
        created=notification.created,
        due=now,
    )


def notifications_insert(rows: Iterable[Notification]) -> None:
    """Insert what the rows' channels are told of at all; an end is told once, whoever else saw it."""
    wanted = (_with_receiver(row) for row in rows if MessageKind(row.kind) in _kinds(row))
    for batch in batches(wanted, _ROWS_AT_ONCE):
        Notification.objects.bulk_create(batch, ignore_conflicts=True)
        wake_workers()


def _row(
    setting: NotificationSetting, kind: MessageKind, *, group_id: str | None, due: datetime, now: datetime
) -> Notification:
    """People are named by what the setting says of them, until their addresses are looked up."""
    for_people = type_of(setting).for_people
    named = people_label(setting) if for_people else recipient_shown(setting, group_id=group_id)
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


def _with_receiver(row: Notification) -> Notification:
    row.receiver = receiver_key(ChannelType(row.channel), row.recipient) if row.channel else ""
    return row


def _kinds(row: Notification) -> frozenset[MessageKind]:
    return CHANNELS[ChannelType(row.channel)].kinds if row.channel else _PEOPLE_ARE_TOLD_OF
