"""Finds notifications whose message another notification has delivered, by the rule of `rules.merging`."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from datetime import datetime

from django.db.models import Q

from alerting.configs.models import NotificationSetting
from alerting.engine.choices import NotificationStatus
from alerting.engine.ledger import Ledger
from alerting.engine.models import Notification
from alerting.engine.rules import SameDestination, merged_into, recent_since
from integrations.choices import MessageKind
from opsapi.fields import Among

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
    found = {
        row.id: merged_into(described[row.id], delivered[_key(row, configs)], now)
        for row in waiting
        if _key(row, configs) in delivered
    }
    return {name: into.id for name, into in found.items() if into}


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
        found = copy(row)
        found.destination = row.destination or earlier.get(_receiver(row), "")
        if found.destination:
            coming.append((at, row.sequence, found))
    if not coming:
        return set()
    coming.sort(key=lambda each: each[:2])
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
        recent_since(each.interval, now) if each.is_reminder and each.interval else each.created
        for each in waiting
        if each.kind is MessageKind.UPDATE
    ]
    lasting = ~Q(kind=MessageKind.UPDATE.value)
    return lasting | Q(delivered__gte=min(since)) if since else lasting
