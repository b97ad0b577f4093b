"""Who was told of alerts: those who are told how they go on (decisions 6 "told of what")."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from alerting.choices import ADDRESSED, NotificationStatus
from alerting.models import Notification
from integrations.choices import TELLING, MessageKind


@dataclass(frozen=True, slots=True)
class Told:
    """One who was told of an alert, and the way it went; the fields are those of the notification."""

    group_id: str
    alert_id: str
    setting_id: str
    type_name: str
    channel: str
    recipient: str

    @property
    def key(self) -> tuple[str, ...]:
        """What makes it one receiver: a service's credentials may have changed between two messages."""
        address = (self.recipient,) if self.channel in ADDRESSED else ()
        return (self.alert_id, self.setting_id, self.channel, *address)


_FIELDS = ("group_id", "alert_id", "setting_id", "type_name", "channel", "recipient")


def told_by(notification: Notification) -> Told:
    """Who was told by a notification of an alert."""
    return Told(*(getattr(notification, name) for name in _FIELDS))


def all_told(alerts: Collection[str]) -> Iterator[Told]:
    """Those who were told that these alerts are open, each once."""
    told = Notification.objects.filter(
        alert__in=alerts, kind__in=TELLING, status=NotificationStatus.DELIVERED.value
    )
    seen: set[tuple[str, ...]] = set()
    for values in told.order_by(*_FIELDS).values_list(*_FIELDS).distinct().iterator():
        one = Told(*values)
        if one.key not in seen:
            seen.add(one.key)
            yield one


def end_is_told(told: Told, kind: MessageKind) -> bool:
    """Whether word of the alert's end was written down for one who was told, sent or not."""
    ends = Notification.objects.filter(
        alert=told.alert_id, kind=kind.value, setting_id=told.setting_id, channel=told.channel
    )
    return (ends.filter(recipient=told.recipient) if told.channel in ADDRESSED else ends).exists()
