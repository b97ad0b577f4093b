"""Who is to be told, as rows written before anything is sent (decisions 6 "told of what")."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from alerting.choices import AlertStatus, DropReason, NotificationStatus
from alerting.models import Alert, Notification, NotificationSetting
from alerting.rules.sending import follow_up, repeat_due
from alerting.selectors.configs import setting_view
from events.services import wake_workers
from integrations.channels import CHANNELS
from integrations.choices import ChannelType, MessageKind
from opsapi.batches import ROWS_AT_ONCE

_TELLING = (MessageKind.OPEN.value, MessageKind.UPDATE.value)


def schedule_opening(*, alert: Alert, now: datetime) -> None:
    """One notification per setting of the configuration, due when its delay has passed."""
    _insert(
        _row(setting, MessageKind.OPEN, due=alert.created + setting_view(setting).delay, now=now, alert=alert)
        for setting in NotificationSetting.objects.filter(config_id=alert.config_id)
    )


def schedule_once(*, config_id: str, group_id: str, event_id: str, now: datetime) -> None:
    """Tell of an event that opens nothing."""
    _insert(
        Notification(
            group_id=group_id,
            event_id=event_id,
            setting_id=setting.id,
            type_name=setting.type_name,
            channel=setting.type_name,
            kind=MessageKind.INFORM.value,
            recipient=_recipient(setting),
            created=now,
            due=now + setting_view(setting).delay,
        )
        for setting in NotificationSetting.objects.filter(config_id=config_id)
    )


def schedule_end(*, alerts: Sequence[Alert], kind: MessageKind, now: datetime) -> None:
    """The alerts are over: what was not sent is dropped, and those who were told are told so.

    What is being sent this moment stays: its recording sees that the alert is over.
    """
    over = {alert.id: alert for alert in alerts}
    waiting = Notification.objects.filter(
        alert__in=over, status=NotificationStatus.PENDING.value, lease_token=None
    )
    waiting.update(status=NotificationStatus.DROPPED.value, reason=DropReason.ALERT_OVER.value)
    told = Notification.objects.filter(
        alert__in=over, kind__in=_TELLING, status=NotificationStatus.DELIVERED.value
    )
    pairs = sorted(told.values_list("alert_id", "setting_id").distinct())
    settings = NotificationSetting.objects.in_bulk([setting_id for _, setting_id in pairs])
    _insert(
        _row(settings[setting_id], kind, due=now, now=now, alert=over[alert_id])
        for alert_id, setting_id in pairs
        if setting_id in settings
    )


def schedule_follow_up(*, notification: Notification, alert: Alert, now: datetime) -> None:
    """After a delivery: the next repeat, or, when the alert ended meanwhile, word of its end."""
    kind = follow_up(MessageKind(notification.kind), AlertStatus(alert.status))
    setting = NotificationSetting.objects.filter(id=notification.setting_id).first()
    if kind is None or setting is None:
        return
    due = repeat_due(setting_view(setting).interval, now) if kind is MessageKind.UPDATE else now
    if due is not None:
        _insert([_row(setting, kind, due=due, now=now, alert=alert)])


def _row(
    setting: NotificationSetting, kind: MessageKind, *, due: datetime, now: datetime, alert: Alert
) -> Notification:
    return Notification(
        group_id=alert.group_id,
        alert=alert,
        setting_id=setting.id,
        type_name=setting.type_name,
        channel=setting.type_name,
        kind=kind.value,
        recipient=_recipient(setting),
        created=now,
        due=due,
    )


def _insert(rows: Iterable[Notification]) -> None:
    """Insert what the rows' channels are told of at all; an end is told once, whoever else saw it."""
    wanted = [row for row in rows if MessageKind(row.kind) in CHANNELS[ChannelType(row.type_name)].kinds]
    if wanted:
        Notification.objects.bulk_create(wanted, ROWS_AT_ONCE, ignore_conflicts=True)
        wake_workers()


def _recipient(setting: NotificationSetting) -> str:
    """Whom it goes to, as the log shows it: the first field of the setting, redacted as ever."""
    channel = CHANNELS[ChannelType(setting.type_name)]
    return str(setting.fields.get(channel.fields[0].notification_name, ""))[:300]
