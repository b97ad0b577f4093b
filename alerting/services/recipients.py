"""Replaces a notification for people by a notification for each of their current addresses."""

from datetime import datetime

from django.db.models import Q

from alerting.choices import DropReason, NotificationStatus
from alerting.models import Alert, Notification, NotificationSetting
from alerting.selectors.recipient_addresses import RecipientAddress, RecipientAddresses, addresses_of, org_of
from alerting.services.leases import lease_finish
from alerting.services.notification_rows import address_row, notifications_insert
from alerting.services.notifications import schedule_reminders
from integrations.choices import OPEN_KINDS, ChannelType, MessageKind


def recipients_replace(
    *, notification: Notification, setting: NotificationSetting, alert: Alert | None, now: datetime
) -> None:
    """Replace a notification for people by one per address, due at once, and schedule the next reminder.

    Runs in the caller's transaction with the alert locked. The notification stays, with the reason, if it has
    no recipients or too many.
    """
    found = addresses_of(setting, group_id=notification.group_id, org_id=org_of(notification))
    recently_notified = _recently_notified(notification, setting, now)
    wanted = [address for address in found.addresses if address not in recently_notified]
    reason = found.nobody or _left_out(found, wanted)
    dropped = reason.value if reason else None
    if not lease_finish(notification, status=NotificationStatus.DROPPED.value, reason=dropped):
        return
    if reason is None:
        Notification.objects.filter(id=notification.id).delete()
    notifications_insert(address_row(notification, address, now) for address in wanted)
    if alert is not None:
        schedule_reminders(notified=[(setting, alert)], now=now)


def _left_out(found: RecipientAddresses, wanted: list[RecipientAddress]) -> DropReason | None:
    if not wanted:
        return DropReason.JUST_NOTIFIED
    return DropReason.REST_LEFT_OUT if found.cut else None


def _recently_notified(
    notification: Notification, setting: NotificationSetting, now: datetime
) -> set[RecipientAddress]:
    """The addresses that a reminder leaves out: with a pending or recent notification.

    Recent means less than half the interval ago. Otherwise a recipient whose mail server was down, or who was
    silenced, would get several reminders at once.
    """
    interval = setting.interval
    if notification.kind != MessageKind.UPDATE.value or interval is None:
        return set()
    lately = Q(status=NotificationStatus.PENDING.value) | Q(delivered__gt=now - interval / 2)
    rows = Notification.objects.filter(
        lately, alert=notification.alert_id, setting_id=setting.id, kind__in=OPEN_KINDS, channel__isnull=False
    )
    return {
        RecipientAddress(ChannelType(str(channel)), to)
        for channel, to in rows.values_list("channel", "recipient")
    }
