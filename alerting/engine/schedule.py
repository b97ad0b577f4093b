"""Schedules the notifications that follow from changes of alerts, and builds and inserts their rows."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, F, Q, QuerySet
from django.db.models.expressions import DatabaseDefault

from alerting.configs.models import NotificationSetting
from alerting.configs.notification_types import NOTIFICATION_TYPES
from alerting.configs.recipients import (
    RecipientAddress,
    RecipientAddresses,
    addresses_of,
    org_of,
    recipient_label,
)
from alerting.configs.store import recipient_shown, type_of
from alerting.engine.choices import NotificationStatus
from alerting.engine.ledger import Ledger, Notified, OpeningsSoFar
from alerting.engine.models import LONGEST_RECIPIENT, REMINDERS, Notification
from alerting.engine.rules import LONGEST_REASON, not_retried_words, recent_since, repeat_due
from alerting.engine.store import each_receiver
from alerting.incidents.choices import AlertStatus
from alerting.incidents.models import Alert
from alerting.incidents.store import IncidentState, IncidentView
from alerting.reasons import HOLDING_BACK, NotificationReason
from automation.reports.growth import MESSAGE_OCTETS, StoredKind, rows_counted
from events.choices import Work
from events.outbox.changes import wake_workers
from integrations.channels import CHANNELS
from integrations.choices import OPEN_KINDS, ChannelType, MessageKind
from opsapi.batches import batches
from opsapi.clock import AHEAD
from opsapi.fields import Among
from opsapi.ids import derived_id
from opsapi.outbound.errors import NO_ANSWER
from opsapi.sql import execute

_ROWS_AT_ONCE = 1_000
_COLUMNS = {
    **dict.fromkeys(
        ("id", "group_id", "alert_id", "event_id", "incident_id", "part", "setting_id", "type_name"), "text"
    ),
    **dict.fromkeys(
        ("channel", "kind", "status", "reason", "recipient", "destination", "subject", "handle"), "text"
    ),
    **dict.fromkeys(("created", "due"), "timestamptz"),
    "sequence": "bigint",
}
# The other columns are for attempts. Rows get the numbers of the order of creation in their order.
_INSERT = f"""
INSERT INTO alerting_notification ({", ".join(_COLUMNS)}, attempts, perhaps_received)
SELECT {", ".join(list(_COLUMNS)[:-1])},
       coalesce(sequence, nextval('alerting_notification_sequence')), 0, false
  FROM unnest({", ".join(f"%({name})s::{kind}[]" for name, kind in _COLUMNS.items())})
       AS row({", ".join(_COLUMNS)})
    ON CONFLICT DO NOTHING
"""  # noqa: S608 - built from constants
_TO_DROP = f"""
UPDATE alerting_notification AS stored
   SET status = CASE WHEN perhaps_received THEN 'FAILED' ELSE 'DROPPED' END,
       reason = CASE WHEN perhaps_received THEN left(
           CASE WHEN silenced_by IS NOT NULL OR reason IN ('{"', '".join(HOLDING_BACK)}')
                THEN '{NO_ANSWER}' ELSE coalesce(reason, '{NO_ANSWER}') END, %(room)s) || %(words)s
                     WHEN reason = '{NotificationReason.PLANNED.value}'
                AND %(reason)s = '{NotificationReason.ALERT_OVER.value}' THEN reason
                     ELSE %(reason)s END,
       silenced_by = NULL
"""  # noqa: S608 - built from constants
_DROP = f"{_TO_DROP} WHERE id = ANY(%(ids)s)"
# Rows are locked in the order of their ids, so that two transactions cannot deadlock. Another notification to
# the address sends their message if it is delivered, or being sent.
_DROP_UNSENT = f"""
WITH unsent AS (
    SELECT id FROM alerting_notification AS waiting
     WHERE alert_id = ANY(%(alerts)s) AND status = 'PENDING' AND lease_token IS NULL AND NOT EXISTS (
               SELECT FROM alerting_notification AS other
                WHERE other.alert_id = waiting.alert_id AND other.kind = waiting.kind
                  AND other.destination = waiting.destination AND other.destination > ''
                  AND other.setting_id <> waiting.setting_id
                  AND (other.status = 'DELIVERED'
                       OR other.status = 'PENDING' AND other.lease_token IS NOT NULL))
     ORDER BY id FOR UPDATE OF waiting
)
{_TO_DROP} FROM unsent WHERE stored.id = unsent.id
"""  # noqa: S608 - built from constants
_KINDS_FOR_PEOPLE = OPEN_KINDS | {MessageKind.INFORM}


def alert_row(
    setting: NotificationSetting,
    kind: MessageKind,
    alert: Alert,
    *,
    due: datetime,
    now: datetime,
    number: int | str = 0,
) -> Notification:
    """Return a notification of an alert for the setting's recipients; `number` distinguishes reminders."""
    row = _row(setting, kind, group_id=alert.group_id, due=due, now=now)
    row.id = _id_of_alert(setting, kind, alert.id, number)
    row.incident_id = alert.incident_id
    row.alert, row.subject = alert, alert.target_key
    return row


def _reminder(
    setting: NotificationSetting, earlier: Notification, *, due: datetime, now: datetime, number: int
) -> Notification:
    """Return the reminder that follows an earlier notification of the same alert and setting."""
    row = _row(setting, MessageKind.UPDATE, group_id=earlier.group_id, due=due, now=now)
    row.id = _id_of_alert(setting, MessageKind.UPDATE, str(earlier.alert_id), number)
    row.incident_id, row.alert_id, row.subject = earlier.incident_id, earlier.alert_id, earlier.subject
    return row


def _id_of_alert(setting: NotificationSetting, kind: MessageKind, alert_id: str, number: int | str) -> str:
    return derived_id(alert_id, kind.value, setting.id, str(number))


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
        incident_id=notified.incident_id,
        recipient=notified.recipient,
        created=now,
        due=now,
        handle="" if notified.changes_messages else None,
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


def is_sent(row: Notification) -> bool:
    """Whether its channel sends messages of its kind."""
    if row.channel is None:
        return row.kind in _KINDS_FOR_PEOPLE
    sent = CHANNELS[ChannelType(row.channel)].kinds_sent(changes_messages=row.handle is not None)
    return row.kind in sent


def notifications_insert(rows: Iterable[Notification], *, wakes: bool = True) -> None:
    """Insert the notifications of kinds that their channels send. Existing ids are skipped.

    `wakes`: the workers wake up when the transaction commits. They find notifications that are due later
    without it.
    """
    for batch in batches(filter(is_sent, rows), _ROWS_AT_ONCE):
        execute(_INSERT, {name: [_stored(row, name) for row in batch] for name in _COLUMNS})
        rows_counted(StoredKind.MESSAGES, (row.group_id for row in batch), MESSAGE_OCTETS)
        if wakes:
            wake_workers(Work.MESSAGES)


def _stored(row: Notification, column: str) -> object:
    """Return None for a number that the database gives."""
    value = getattr(row, column)
    return None if isinstance(value, DatabaseDefault) else value


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


_OF_MESSAGE = (
    *("sequence", "subject", "incident_id", "part", "group_id", "alert_id", "event_id"),
    *("setting_id", "type_name", "kind", "created"),
)
"""The columns of a notification that do not depend on its receiver."""


def _same_message(notification: Notification, now: datetime) -> Notification:
    """Return a notification with the same message, due at once, without id and receiver."""
    return Notification(due=now, **{name: getattr(notification, name) for name in _OF_MESSAGE})


_RECIPIENT = ("alert_id", "channel", "recipient")
_UNUSED = ("config__matchers", "config__metric_threshold", "config__threshold")
_PENDING = NotificationStatus.PENDING.value


@dataclass(frozen=True, slots=True)
class OneShot:
    """An event that opens no alert, and the configuration that notifies of it.

    `group_id` is None for an event without a project.
    """

    config_id: str
    event_id: str
    group_id: str | None
    at: datetime


def schedule_one_shots(notified: Sequence[OneShot], *, ledger: Ledger) -> None:
    """Schedule the notifications of events that open no alert."""
    if not notified:
        return
    settings = ledger.settings_of_configs({event.config_id for event in notified})
    ledger.insert(
        event_row(
            setting, event.event_id, group_id=event.group_id, due=event.at + setting.delay, now=event.at
        )
        for event in notified
        for setting in settings.get(event.config_id, ())
    )


def schedule_ends(*, ended: Mapping[str, datetime], kind: MessageKind, ledger: Ledger) -> None:
    """Drop notifications that were certainly not sent, and notify the end to all notified recipients.

    Recipients who were perhaps notified get the end too, after the message in progress. `ended` is the time
    of the end of incidents, by the id of their first alert. Delivery decides on notifications whose message
    another notification has sent, or is sending: it knows whether they are merged.
    """
    if not ended:
        return
    ledger.drop_unsent(ended)
    notified = each_receiver(ledger.notified(list(ended), or_in_progress=True))
    ledger.insert(notified_row(receiver, kind, ended[receiver.alert_id]) for receiver in notified)


def notifications_drop_unsent(alerts: Collection[str]) -> None:
    """Drop the pending notifications of alerts that are over, if no other has sent, or sends, the message."""
    execute(_DROP_UNSENT, {"alerts": list(alerts), **_dropped(NotificationReason.ALERT_OVER)})


def schedule_acknowledged(*, incident: IncidentView, now: datetime, ledger: Ledger) -> None:
    """Follow a new, changed or removed acknowledgement; the caller locks the alerts of the incident.

    Reminders that it held back are decided again. Channels that send acknowledgements send it to receivers of
    the opening, unless an acknowledgement is still pending there.
    """
    lead_id = incident.lead.id
    with ledger.transaction():
        ledger.reminders_decide_again(lead_id, now=now)
        until, kind = incident.acknowledged_until, MessageKind.ACKNOWLEDGE
        if until is None or until <= now:
            return
        waiting = ledger.acknowledgements_wait(lead_id)
        ledger.insert(
            notified_row(receiver, kind, now, version=now.isoformat())
            for receiver in each_receiver(ledger.notified([lead_id]))
            if receiver.destination not in waiting
        )


def reminders_decide_again(alert_id: str, *, now: datetime) -> None:
    """Decide again on the reminders of an alert that its acknowledgement holds back."""
    held_back = Notification.objects.filter(alert_id=alert_id, reason=NotificationReason.ACKNOWLEDGED.value)
    _decide_again(held_back.filter(kind=MessageKind.UPDATE.value), now)


def acknowledgements_wait(alert_id: str) -> set[str]:
    """Return the destinations that an acknowledgement of the alert waits for."""
    rows = Notification.objects.filter(
        alert_id=alert_id, kind=MessageKind.ACKNOWLEDGE.value, status=_PENDING, lease_token=None
    )
    return set(rows.values_list("destination", flat=True))


@transaction.atomic(savepoint=False)
def notifications_drop(*, rows: QuerySet[Notification], reason: NotificationReason) -> None:
    """Drop pending notifications; running attempts decide in `record`.

    A notification that was perhaps received is not dropped: it fails with the reason of its last failure, and
    why it is not retried.
    """
    waiting = rows.filter(status=_PENDING, lease_token=None).select_for_update().order_by("id")
    execute(_DROP, {"ids": list(waiting.values_list("id", flat=True)), **_dropped(reason)})


def _dropped(reason: NotificationReason) -> dict[str, str | int]:
    """Return the parameters of `_DROP` besides its rows."""
    words = not_retried_words(reason)
    return {"reason": reason.value, "words": words, "room": LONGEST_REASON - len(words)}


@transaction.atomic
def notifications_unmute(*, group_id: str, now: datetime, window_id: str | None = None) -> None:
    """Decide again on notifications that this window, or any window, of a project mutes."""
    muted = Notification.objects.filter(group_id=group_id, silenced_by__isnull=False)
    _decide_again(muted.filter(silenced_by=window_id) if window_id else muted, now)


@transaction.atomic
def planned_decide_again(*, group_id: str, now: datetime, **_: object) -> None:
    """Decide again on notifications that a plan holds back, because the time of a turn has changed."""
    held_back = Notification.objects.filter(group_id=group_id, reason=NotificationReason.PLANNED.value)
    _decide_again(held_back, now)


@transaction.atomic
def notifications_retry_now(*, destination: str, now: datetime) -> None:
    """Make retries at this destination due now."""
    retries = Notification.objects.filter(destination=destination, first_attempt__isnull=False)
    _decide_again(retries.filter(destination__gt="", lease_token=None), now)


def notifications_bring_forward(*, now: datetime) -> int:
    """Make due what would otherwise wait until the clock is there again. Return the number of notifications.

    Their due times were written before the clock stepped back, or by a machine whose clock is ahead. A
    notification that was due at once when it was written is due now. So is the retry of a first attempt in
    the future, whose hour of retries starts again. Reminders, delays and later retries keep their time.
    """
    at_once = Q(attempts=0, silenced_by=None, created__gt=now, due__lte=F("created"))
    retried = Q(attempts__gt=0, first_attempt__gt=now)
    waiting = Notification.objects.filter(status=_PENDING, lease_token=None, due__gt=now)
    # Separate statements, because each has an index.
    return waiting.filter(at_once).update(due=now) + waiting.filter(retried).update(
        due=now, first_attempt=now
    )


def schedule_follow_ups(
    *, ended: Sequence[tuple[Notification, IncidentState]], now: datetime, ledger: Ledger
) -> None:
    """After deliveries, schedule the next reminders of open incidents.

    After a message to an address of people nothing is scheduled: their next reminder was scheduled when their
    addresses were looked up. It is scheduled here if that failed for good.
    """
    opened = [
        notification
        for notification, incident in ended
        if notification.kind in OPEN_KINDS and incident.status is AlertStatus.OPEN
    ]
    ids = {notification.setting_id for notification in opened}
    repeated = ledger.repeated_settings(ids) if ids else ()
    # A later version may know other types.
    settings = {setting.id: setting for setting in repeated if setting.type_name in NOTIFICATION_TYPES}
    schedule_reminders(
        notified=[
            (setting, notification)
            for notification in opened
            if (setting := settings.get(notification.setting_id))
            and (notification.channel is None or not type_of(setting).for_people)
        ],
        now=now,
        ledger=ledger,
    )


def schedule_reminders(
    *, notified: Sequence[tuple[NotificationSetting, Notification]], now: datetime, ledger: Ledger
) -> None:
    """Schedule the next reminder of the alert and setting of each notification, one interval after `now`.

    None if the setting has no reminders, or if another notification of the setting and alert is pending: its
    own delivery schedules the next reminder. The caller locks the alerts.
    """
    due = {
        (notification.alert_id, setting.id): (setting, notification, at)
        for setting, notification in notified
        if (at := repeat_due(setting.interval, now)) is not None
    }
    if not due:
        return
    waiting, numbers = _so_far(
        {setting.id: setting for setting, _, _ in due.values()},
        {str(alert_id) for alert_id, _ in due},
        ledger,
    )
    reminders = (
        _reminder(setting, notification, due=at, now=now, number=numbers[key])
        for key, (setting, notification, at) in due.items()
        if key not in waiting
    )
    ledger.insert(reminders, wakes=False)


def settings_of_configs(config_ids: Collection[str]) -> Mapping[str, Sequence[NotificationSetting]]:
    """The notification settings of configurations, with these, by configuration id."""
    settings: dict[str, list[NotificationSetting]] = {}
    rows = NotificationSetting.objects.filter(Among("config_id", config_ids))
    for setting in rows.select_related("config").defer(*_UNUSED):
        settings.setdefault(setting.config_id, []).append(setting)
    return settings


_Repeated = tuple[str | None, str]
"""The alert and the setting of reminders."""


def repeated_settings(ids: Collection[str]) -> list[NotificationSetting]:
    """The settings with these ids that have reminders."""
    return list(NotificationSetting.objects.filter(Among("id", ids), interval_min__isnull=False))


def openings_so_far(alerts: Collection[str], settings: Collection[str]) -> list[OpeningsSoFar]:
    """Count the openings and reminders of alerts and settings; changes of an incident are left out."""
    rows = Notification.objects.filter(Among("alert_id", alerts), Among("setting_id", settings))
    fields = OpeningsSoFar._fields[:-1]
    about_open = rows.filter(Q(kind=MessageKind.OPEN.value) | REMINDERS)
    counted = about_open.values_list(*fields).annotate(Count("id"))
    return [OpeningsSoFar(*row) for row in counted]


def _so_far(
    settings: Mapping[str, NotificationSetting], alerts: Collection[str], ledger: Ledger
) -> tuple[set[_Repeated], Counter[_Repeated]]:
    """Return which pairs of alert and setting have a pending notification, and their numbers of reminders.

    A notification to a single address of people is not pending in this sense, but it counts as a reminder, so
    that no number is used twice. Changes of an incident are no reminders.
    """
    waiting: set[_Repeated] = set()
    numbers: Counter[_Repeated] = Counter()
    for row in ledger.openings_so_far(alerts, settings.keys()):
        setting, key = settings[row.setting_id], (row.alert_id, row.setting_id)
        whole = None if type_of(setting).for_people else setting.type_name
        numbers[key] += row.number if row.kind == MessageKind.UPDATE.value else 0
        if row.status == _PENDING and (row.type_name, row.channel) == (setting.type_name, whole):
            waiting.add(key)
    return waiting, numbers


def _decide_again(rows: QuerySet[Notification], now: datetime) -> None:
    """Make notifications that wait for a later time due now, so that delivery decides again."""
    if _locked(rows.filter(status=_PENDING, due__gt=now)).update(due=now):
        wake_workers(Work.MESSAGES)


def _locked(rows: QuerySet[Notification]) -> QuerySet[Notification]:
    """Lock the rows, always in the same order, so that two transactions cannot deadlock."""
    return Notification.objects.filter(id__in=rows.select_for_update().order_by("id").values("id"))


@dataclass(frozen=True, slots=True)
class ForPeople:
    """A leased notification for people, its setting, and the present addresses of the people."""

    notification: Notification
    setting: NotificationSetting
    found: RecipientAddresses

    @property
    def is_reminder(self) -> bool:
        """Whether it repeats an earlier notification of its alert and setting."""
        return self.notification.is_reminder and self.setting.interval is not None


@dataclass(frozen=True, slots=True)
class PeopleLookup:
    """Finds the addresses of people for notifications that are decided together; equal settings once."""

    _found: dict[tuple[str, str, str | None, str | None], RecipientAddresses] = field(default_factory=dict)

    def of(self, notification: Notification, setting: NotificationSetting) -> ForPeople:
        """Look up the addresses of a notification."""
        group_id, org_id = notification.group_id, org_of(notification)
        key = (setting.id, setting.type_name, group_id, org_id)
        if key not in self._found:
            self._found[key] = addresses_of(setting, group_id=group_id, org_id=org_id)
        return ForPeople(notification, setting, self._found[key])


def recipients_replace(replaced: Sequence[ForPeople], *, now: datetime, ledger: Ledger) -> None:
    """Replace notifications by one for each address, due at once, and schedule the next reminders.

    Runs in the caller's transaction with the alerts locked. A notification stays, with the reason, if it has
    no recipients or too many.
    """
    leased = ledger.lock([people.notification for people in replaced])
    replaced = [people for people in replaced if people.notification.id in leased]
    notified = _recently_notified(replaced, now, ledger)
    stay: dict[NotificationReason, list[Notification]] = {}
    gone: list[Notification] = []
    rows: list[Notification] = []
    for people in replaced:
        row = people.notification
        known = notified[row.alert_id, people.setting.id] if people.is_reminder else ()
        wanted = [address for address in people.found.addresses if address not in known]
        if reason := _why_it_stays(people.found, wanted):
            stay.setdefault(reason, []).append(row)
        else:
            gone.append(row)
        rows += [address_row(row, address, now) for address in wanted]
        if row.kind in OPEN_KINDS:
            notified[row.alert_id, people.setting.id].update(wanted)
    for reason, of_reason in stay.items():
        ledger.release_with(of_reason, status=NotificationStatus.DROPPED.value, reason=reason.value)
    ledger.remove(gone)
    ledger.insert(rows)
    about_alerts = [people for people in replaced if people.notification.incident_id]
    schedule_reminders(
        notified=[(people.setting, people.notification) for people in about_alerts], now=now, ledger=ledger
    )


def _why_it_stays(
    addresses: RecipientAddresses, wanted: Sequence[RecipientAddress]
) -> NotificationReason | None:
    if addresses.nobody or not wanted:
        return addresses.nobody or NotificationReason.JUST_NOTIFIED
    return NotificationReason.TOO_MANY_RECIPIENTS if addresses.cut else None


def _recently_notified(
    replaced: Sequence[ForPeople], now: datetime, ledger: Ledger
) -> defaultdict[tuple[str | None, str], set[RecipientAddress]]:
    """The addresses that reminders leave out, by alert and setting: with a pending or recent notification.

    Otherwise a recipient whose mail server was down, or who was muted, would get several reminders at once.
    """
    reminded: dict[str, tuple[timedelta, set[str]]] = {}
    for people in replaced:
        if people.is_reminder and (interval := people.setting.interval):
            alerts = reminded.setdefault(people.setting.id, (interval, set()))[1]
            alerts.add(str(people.notification.alert_id))
    left_out: defaultdict[tuple[str | None, str], set[RecipientAddress]] = defaultdict(set)
    for setting_id, (interval, alert_ids) in reminded.items():
        since = recent_since(interval, now)
        for alert_id, channel, to in ledger.recent_recipients(setting_id, alert_ids, since=since, now=now):
            left_out[alert_id, setting_id].add(RecipientAddress(ChannelType(channel), to))
    return left_out


def recent_recipients(
    setting_id: str, alerts: Collection[str], *, since: datetime, now: datetime
) -> list[tuple[str, str, str]]:
    """Return alert, channel and recipient of pending openings, and of openings delivered `since`."""
    delivered = Q(delivered__gt=since, delivered__lte=now + AHEAD)
    rows = Notification.objects.filter(
        Q(status=_PENDING) | delivered,
        Among("alert_id", alerts),
        setting_id=setting_id,
        kind__in=OPEN_KINDS,
        channel__isnull=False,
    )
    return [(str(alert), str(channel), to) for alert, channel, to in rows.values_list(*_RECIPIENT)]
