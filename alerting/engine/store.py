"""Reading for delivery: due notifications, notified receivers, messages to change, and merged messages."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime

from django.db.models import Q

from alerting.configs.models import NotificationSetting
from alerting.configs.recipients import RecipientAddress, org_of, still_reached
from alerting.configs.store import stands_for_people
from alerting.engine.choices import NotificationStatus
from alerting.engine.ledger import NOTIFIED, EarlierMessages, Ledger, Notified
from alerting.engine.models import Notification, NotificationAttempt
from alerting.engine.rules import DueNotification, SameDestination, SentMessages, merged_into, recent_since
from alerting.incidents.store import IncidentState
from alerting.reasons import HOLDING_BACK, AttemptFailure
from events.types import Severity
from integrations.channels import CHANNELS
from integrations.choices import ENDS, ChannelType, MessageKind
from opsapi.fields import Among
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
        config_is_enabled=setting is not None and setting.config.enabled,
        setting_exists=setting is not None and not setting.removed,
        is_still_recipient=setting is None or _recipient_counts(notification, setting),
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


HELD_BACK = Q(silenced_by__isnull=False) | Q(reason__in=HOLDING_BACK)
"""A notification that a window, an acknowledgement or a plan holds back."""
_RECEIVED = "(status = 'DELIVERED' OR perhaps_received)"


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


def each_receiver(receivers: Iterable[Notified]) -> Iterator[Notified]:
    """The receivers, each once."""
    # An earlier version may have sent some of the messages: a receiver that has a message to change is last.
    notified = sorted(receivers, key=lambda receiver: receiver.changes_messages)
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


def sent_messages(notifications: Collection[Notification]) -> SentMessages:
    """Read the messages that were sent about the alerts and events of notifications."""
    alerts = {row.alert_id for row in notifications if row.alert_id}
    events = {row.event_id for row in notifications if row.event_id and not row.alert_id}
    rows = fetch_rows(_SENT, {"alert_ids": list(alerts), "event_ids": list(events), "ends": _ENDS})
    return SentMessages.of([(about, to, setting_id, is_end) for about, to, setting_id, is_end in rows])


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


_EARLIER = """
SELECT alert_id, destination,
       (array_agg(handle ORDER BY sequence DESC) FILTER (WHERE handle > ''))[1],
       max(created) FILTER (WHERE kind = %(acknowledge)s)
  FROM alerting_notification
 WHERE alert_id = ANY(%(alerts)s) AND destination = ANY(%(destinations)s) AND handle IS NOT NULL
 GROUP BY alert_id, destination
"""


def earlier_messages(notifications: Sequence[Notification]) -> dict[str, EarlierMessages]:
    """Return the earlier messages by the id of a notification, with one query.

    The notifications have an alert; messages about an incident have the first alert of the incident.
    """
    if not notifications:
        return {}
    values = {
        "alerts": sorted({row.alert_id for row in notifications if row.alert_id}),
        "destinations": sorted({row.destination for row in notifications}),
        "acknowledge": MessageKind.ACKNOWLEDGE.value,
    }
    earlier = {(alert, destination): rest for alert, destination, *rest in fetch_rows(_EARLIER, values)}
    return {
        row.id: EarlierMessages(*earlier.get((row.alert_id, row.destination), ())) for row in notifications
    }


Settings = Mapping[tuple[str, str], NotificationSetting]
"""By setting id and type."""


def merged_notifications(
    notifications: Iterable[Notification], settings: Settings, now: datetime, *, ledger: Ledger
) -> dict[str, str]:
    """Return by id the delivered notification into which each notification is merged.

    Notifications that must be sent are left out. Notifications without a destination are never merged.
    `settings` are the settings of the notifications.
    """
    waiting = [row for row in notifications if row.destination]
    if not waiting:
        return {}
    described = {row.id: _described(row, settings.get((row.setting_id, row.type_name))) for row in waiting}
    delivered, configs = _delivered(waiting, described.values(), now, ledger)
    if not delivered:
        return {}
    merges = {
        row.id: merged_into(described[row.id], delivered[_key(row, configs)], now)
        for row in waiting
        if _key(row, configs) in delivered
    }
    return {name: into.id for name, into in merges.items() if into}


def merged_when_due(
    pending: Iterable[tuple[Notification, datetime]], settings: Settings, now: datetime, *, ledger: Ledger
) -> set[str]:
    """Return the ids of pending notifications that are merged if all others are delivered when they are due.

    `pending` are notifications of alerts, with the time at which each can be sent. Delivery finds the
    destination of a reminder when the reminder is due. Until then, it is the destination of an earlier
    message.
    """
    rows = list(pending)
    earlier = _earlier_destinations([row for row, _ in rows if not row.destination])
    coming = []
    for row, at in rows:
        addressed = copy(row)
        addressed.destination = row.destination or earlier.get(_receiver(row), "")
        if addressed.destination:
            coming.append((at, row.sequence, addressed))
    if not coming:
        return set()
    coming.sort(key=lambda message: message[:2])
    waiting = [row for *_, row in coming]
    described = {row.id: _described(row, settings.get((row.setting_id, row.type_name))) for row in waiting}
    delivered, configs = _delivered(waiting, described.values(), now, ledger)
    merged = set()
    for at, _, row in coming:
        sent = delivered[_key(row, configs)]
        if not row.perhaps_received and merged_into(described[row.id], sent, at):
            merged.add(row.id)
        else:
            sent.append(replace(described[row.id], delivered=at))
    return merged


_Receiver = tuple[str | None, str, str | None, str]
"""The alert, the setting, the channel and the address."""
_RECEIVER = ("alert_id", "setting_id", "channel", "recipient")


def _receiver(row: Notification) -> _Receiver:
    return row.alert_id, row.setting_id, row.channel, row.recipient


def _earlier_destinations(rows: Collection[Notification]) -> dict[_Receiver, str]:
    """Return the newest destinations of the messages that the receivers of these notifications got before."""
    if not rows:
        return {}
    of_alerts = Q(Among("alert_id", {row.alert_id for row in rows if row.alert_id}))
    of_settings = Q(Among("setting_id", {row.setting_id for row in rows}))
    sent = Notification.objects.filter(of_alerts, of_settings, destination__gt="")
    newest = sent.order_by(*_RECEIVER, "-sequence").distinct(*_RECEIVER)
    return {
        tuple(receiver): destination
        for *receiver, destination in newest.values_list(*_RECEIVER, "destination")
    }


def _delivered(
    waiting: Sequence[Notification], described: Collection[SameDestination], now: datetime, ledger: Ledger
) -> tuple["defaultdict[_Key, list[SameDestination]]", Mapping[str, str]]:
    """Return the delivered notifications that can have sent messages of `waiting`.

    Return also the alert configuration of each setting that notifies about an event; an alert has only one.
    """
    sent = ledger.delivered(waiting, described, now=now)
    events = {row.setting_id for row in [*waiting, *sent] if not row.alert_id}
    configs = ledger.configs_of_settings(events) if events else {}
    delivered: defaultdict[_Key, list[SameDestination]] = defaultdict(list)
    for row in sent:
        delivered[_key(row, configs)].append(_described(row, None))
    return delivered, configs


_Key = tuple[str, str, str]
"""The alert, or the event and the alert configuration; then the destination."""


def _key(row: Notification, configs: Mapping[str, str]) -> _Key:
    if row.alert_id:
        return row.alert_id, "", row.destination
    # Without a configuration, the notification is merged with no other.
    return row.event_id or "", configs.get(row.setting_id, row.id), row.destination


def delivered_notifications(
    waiting: Sequence[Notification], described: Collection[SameDestination], *, now: datetime
) -> list[Notification]:
    """The delivered notifications that can have sent messages of `waiting`."""
    return list(Notification.objects.filter(_about(waiting), _can_be_same(described, now)))


def configs_of_settings(ids: Collection[str]) -> Mapping[str, str]:
    """The alert configurations of settings, also of removed settings, by setting id."""
    return dict(NotificationSetting.with_removed.filter(Among("id", ids)).values_list("id", "config_id"))


def _described(row: Notification, setting: NotificationSetting | None) -> SameDestination:
    return SameDestination(
        id=row.id,
        setting_id=row.setting_id,
        kind=MessageKind(row.kind),
        created=row.created,
        is_change=row.kind == MessageKind.UPDATE.value and not row.is_reminder,
        interval=setting.interval if setting else None,
        delivered=row.delivered,
    )


def _about(waiting: Collection[Notification]) -> Q:
    """The delivered notifications about the same alerts and events at the same destinations."""
    alerts = {row.alert_id for row in waiting if row.alert_id}
    events = {row.event_id for row in waiting if row.event_id}
    about = Q()
    # A condition without values would keep PostgreSQL from using the index of the other condition.
    if alerts:
        about |= Q(Among("alert_id", alerts))
    if events:
        about |= Q(Among("event_id", events), event_id__isnull=False)
    at_destinations = Q(Among("destination", {row.destination for row in waiting}))
    return about & at_destinations & Q(status=NotificationStatus.DELIVERED.value)


def _can_be_same(waiting: Collection[SameDestination], now: datetime) -> Q:
    """Leave out most earlier reminders: an alert that lasts for months has very many."""
    since = [
        recent_since(message.interval, now) if message.is_reminder and message.interval else message.created
        for message in waiting
        if message.kind is MessageKind.UPDATE
    ]
    lasting = ~Q(kind=MessageKind.UPDATE.value)
    return lasting | Q(delivered__gte=min(since)) if since else lasting
