"""A notification that is due, as rules see it."""

from dataclasses import replace

from alerting.choices import AlertStatus
from alerting.models import Alert, Notification, NotificationSetting
from alerting.rules.delivery_policy import DueNotification
from alerting.selectors.notification_settings import stands_for_people
from alerting.selectors.recipient_addresses import RecipientAddress, org_of, still_reached
from integrations.channels import CHANNELS
from integrations.choices import ENDS, ChannelType, MessageKind


def due_of(notification: Notification, alert: Alert | None) -> DueNotification:
    """The facts of the notification and its alert; `alert` is None for a one-shot notification."""
    channel = notification.channel
    return DueNotification(
        kind=MessageKind(notification.kind),
        status=AlertStatus(alert.status) if alert else None,
        perhaps_received=notification.perhaps_received,
        keeps_state=channel is not None and CHANNELS[ChannelType(channel)].keeps_state,
        acknowledged_until=alert.acknowledged_until if alert else None,
    )


def held_against(
    notification: Notification, alert: Alert | None, setting: NotificationSetting | None
) -> DueNotification:
    """Like `due_of`, with the current setting; None if it was deleted."""
    return replace(
        due_of(notification, alert),
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
