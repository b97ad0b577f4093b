"""A due notification as rules see it, and the receivers that were notified before."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace

from django.db.models import Q

from alerting.configs.models import NotificationSetting
from alerting.configs.recipients import RecipientAddress, org_of, still_reached
from alerting.configs.store import stands_for_people
from alerting.engine.models import Notification, NotificationAttempt
from alerting.engine.rules import DueNotification
from alerting.incidents.store import IncidentState
from alerting.reasons import AttemptFailure, NotificationReason
from events.types import Severity
from integrations.channels import CHANNELS
from integrations.choices import ENDS, ChannelType, MessageKind
from opsapi.sql import fetch_rows


def due_notification(notification: Notification, incident: IncidentState | None) -> DueNotification:
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
    notification: Notification, incident: IncidentState | None, setting: NotificationSetting | None
) -> DueNotification:
    """`due_notification`, and whether configuration, setting and recipient still count.

    `setting` is the current setting, None if it was deleted.
    """
    return replace(
        due_notification(notification, incident),
        config_counts=setting is not None and setting.config.enabled,
        setting_counts=setting is not None and not setting.removed,
        recipient_counts=setting is None or _recipient_counts(notification, setting),
        is_below_minimum=setting is not None and is_below_minimum(setting, incident),
    )


def is_below_minimum(setting: NotificationSetting, incident: IncidentState | None) -> bool:
    """Whether the severity of the incident, or of an event for None, is lower than the setting's minimum.

    An incident without open alerts has no severity: its messages are dropped anyway, except its end.
    """
    if setting.min_severity is None:
        return False
    severity = incident.severity if incident else setting.config.effective_severity
    return severity is not None and severity.rank < Severity(setting.min_severity).rank


def _recipient_counts(notification: Notification, setting: NotificationSetting) -> bool:
    """Time may have passed since the addresses of people were looked up; asked only where it matters."""
    if notification.channel is None or notification.kind in ENDS or not stands_for_people(notification):
        return True
    address = RecipientAddress(ChannelType(notification.channel), notification.recipient)
    org_id = org_of(notification)
    return still_reached(setting, address, group_id=notification.group_id, org_id=org_id)


HELD_BACK = Q(silenced_by__isnull=False) | Q(reason=NotificationReason.ACKNOWLEDGED.value)
"""A notification that a window or an acknowledgement holds back."""
_RECEIVED = "(status = 'DELIVERED' OR perhaps_received)"


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


NOTIFIED = [column.name for column in fields(Notified)][:-1]
"""The columns of a notification that name its receiver."""
_NOTIFIED = f"""
SELECT DISTINCT {", ".join(NOTIFIED)}, handle IS NOT NULL FROM alerting_notification
 WHERE alert_id = ANY(%(alerts)s) AND channel IS NOT NULL AND kind <> ALL(%(ends)s)
   AND ({_RECEIVED} OR (%(or_in_progress)s AND lease_token IS NOT NULL AND destination > ''))
"""  # noqa: S608 - built from constants
_ENDS = [kind.value for kind in ENDS]


def notified_receivers(alerts: Collection[str], *, or_in_progress: bool = False) -> list[Notified]:
    """The receivers that were, or perhaps were, notified that these alerts are open.

    With `or_in_progress` also receivers of messages in progress.
    """
    given = {"alerts": list(alerts), "ends": _ENDS, "or_in_progress": or_in_progress}
    return [Notified(*row) for row in fetch_rows(_NOTIFIED, given)]


def each_receiver(found: Iterable[Notified]) -> Iterator[Notified]:
    """The receivers, each once."""
    # An earlier version may have sent some of the messages: a receiver that has a message to change is last.
    notified = sorted(found, key=lambda receiver: receiver.changes_messages)
    # Rows from before destinations were stored have none. A later row with a destination is the same
    # receiver.
    placed = {receiver.key[:-1] for receiver in notified if receiver.destination}
    kept = {
        receiver.key: receiver
        for receiver in notified
        if receiver.destination or receiver.key[:-1] not in placed
    }
    yield from (kept[key] for key in sorted(kept))


# By alert and by event: each has an index.
_SENT = " UNION ALL ".join(
    f"""
SELECT DISTINCT {column}, destination, setting_id, kind = ANY(%(ends)s) FROM alerting_notification
 WHERE {column} = ANY(%({column}s)s) AND {column} IS NOT NULL AND {_RECEIVED}
"""  # noqa: S608 - built from constants
    for column in ("alert_id", "event_id")
)


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages about the alerts and events of notifications that were, or perhaps were, received."""

    _notified: AbstractSet[tuple[str, str]]
    """Alert or event, and destination, of messages that are not ends; older rows name no destination."""
    _settings: Mapping[tuple[str, str], AbstractSet[str]]
    """The settings of all messages, by alert or event, and destination."""

    @classmethod
    def of(cls, rows: Collection[tuple[str, str, str, bool]]) -> "SentMessages":
        """The messages of these rows: alert or event, destination, setting, and whether it is an end."""
        settings: dict[tuple[str, str], set[str]] = {}
        for about, destination, setting_id, _ in rows:
            settings.setdefault((about, destination), set()).add(setting_id)
        return cls({row[:2] for row in rows if not row[3]}, settings)

    def has_notified(self, notification: Notification) -> bool:
        """Whether the destination was, or perhaps was, notified before the end."""
        about = _about(notification)
        return not self._notified.isdisjoint({(about, notification.destination), (about, "")})

    def can_include(self, notification: Notification) -> bool:
        """Whether a message of another setting to the destination may be the message of the notification."""
        settings = self._settings.get((_about(notification), notification.destination), frozenset())
        return bool(notification.destination) and not settings <= {notification.setting_id}


def sent_messages(notifications: Collection[Notification]) -> SentMessages:
    """Read the messages that were sent about the alerts and events of notifications."""
    alerts = {row.alert_id for row in notifications if row.alert_id}
    events = {row.event_id for row in notifications if row.event_id and not row.alert_id}
    rows = fetch_rows(_SENT, {"alert_ids": list(alerts), "event_ids": list(events), "ends": _ENDS})
    return SentMessages.of([(about, to, setting_id, is_end) for about, to, setting_id, is_end in rows])


def _about(notification: Notification) -> str:
    return notification.alert_id or notification.event_id or ""


def lapses_of(notifications: Sequence[Notification]) -> dict[str, int]:
    """Return the number of attempts without an outcome, by notification id, since the first attempt."""
    first = {row.id: row.first_attempt for row in notifications if row.first_attempt and row.attempts}
    tries = NotificationAttempt.objects.filter(
        notification__in=list(first), reason=AttemptFailure.NO_OUTCOME.value
    )
    counts: dict[str, int] = {}
    for notification_id, ended in tries.values_list("notification_id", "ended"):
        if ended >= first[notification_id]:
            counts[notification_id] = counts.get(notification_id, 0) + 1
    return counts
