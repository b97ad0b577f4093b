"""The log of notifications: who was notified of an alert or an event, and why a recipient was not."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.db.models import (
    Case,
    CharField,
    Exists,
    Expression,
    F,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Concat, NullIf

from accesslist.models import Team
from alerting.configs.choices import PeopleType
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.notification_types import NOTIFICATION_TYPES, recipient_words
from alerting.configs.recipients import recipient_label
from alerting.configs.store import recipient_shown, team_name, type_of
from alerting.engine.choices import NotificationStatus
from alerting.engine.models import Notification, NotificationAttempt
from alerting.incidents.models import Alert, Incident
from events.log.store import EventRow, event_row
from events.models import Event
from events.wording import sentence
from integrations.channels import CHANNELS
from integrations.choices import ChannelType, MessageKind
from integrations.models import Integration

MOST_ATTEMPTS = 100
"""The most attempts of a notification that are shown, the newest."""

MOST_MERGED = 100
"""The maximum number of merged notifications that are shown for a notification."""

_RECIPIENT = NullIf("recipient", Value(""))


def alert_notifications(alert_id: str, *, with_recipients: bool) -> QuerySet[Notification]:
    """The notifications of an alert or of its incident, newest first.

    `shown_recipient` is None where it is not shown.
    """
    recipient = _RECIPIENT if with_recipients else Value(None, CharField())
    return _newest_first(Notification.objects.filter(about_alert(alert_id)), recipient)


def about_alert(alert_id: str) -> Q:
    """The notifications of an alert, and the messages about its incident."""
    incident = Alert.objects.filter(id=alert_id).values("incident_id")
    lead = Incident.objects.filter(id=Subquery(incident)).values("lead_id")
    # Scalar subqueries, because PostgreSQL reads the whole table for OR with IN (SELECT …).
    return Q(alert_id=alert_id) | Q(alert_id=Subquery(lead))


def alert_notification(alert_id: str, notification_id: str) -> Notification | None:
    return Notification.objects.filter(about_alert(alert_id), id=notification_id).first()


def event_notifications(event_id: str, *, group_id: str, with_global: bool) -> QuerySet[Notification]:
    """The one-shot notifications of an event in a project, as `alert_notifications`.

    `with_global`: also with the recipients of global configurations.
    """
    of_event = Notification.objects.filter(event_id=event_id, group_id=group_id)
    recipient = _RECIPIENT if with_global else Case(When(Exists(_own_settings()), then=_RECIPIENT))
    return _newest_first(of_event, recipient)


def _newest_first(notifications: QuerySet[Notification], recipient: Expression) -> QuerySet[Notification]:
    return notifications.annotate(shown_recipient=recipient).order_by("-created", "-id")


def newest_attempts() -> QuerySet[NotificationAttempt]:
    """The newest attempts of a notification of the outer query, the newest first."""
    attempts = NotificationAttempt.objects.filter(notification_id=OuterRef("id"))
    return attempts.order_by("-number")[:MOST_ATTEMPTS]


def merged_into(notification_id: str | OuterRef) -> QuerySet[Notification]:
    """The notifications that were merged into this one."""
    return Notification.objects.filter(merged_into=notification_id, merged_into__isnull=False).order_by("id")


def merged_into_this() -> QuerySet[Notification]:
    """The first MOST_MERGED notifications that were merged into a notification of the outer query."""
    return merged_into(OuterRef("id"))[:MOST_MERGED]


def merged_reason() -> Expression:
    """The reason of a notification of the outer query; a merged notification names the one that sent it."""
    sent = Notification.objects.filter(id=OuterRef("merged_into"))
    names = Concat(Value(": "), "type_name", Value(" notification "), "setting_id", output_field=CharField())
    named = Concat("reason", Subquery(sent.values_list(names)[:1]), output_field=CharField())
    return Case(When(merged_into__isnull=False, then=named), default=F("reason"))


def senders_of(notifications: Collection[Notification], *, with_recipients: bool) -> dict[str, str]:
    """Which notification sent the message of each merged notification, by the id of the merged notification.

    The words are its type and the recipients of its setting, as in the log; without `with_recipients`, and if
    the setting was deleted, only its type.
    """
    merged = {row.id: row.merged_into for row in notifications if row.merged_into}
    if not merged:
        return {}
    senders = Notification.objects.in_bulk(list(set(merged.values())))
    ids = {row.setting_id for row in senders.values()} if with_recipients else set()
    settings = NotificationSetting.with_removed.select_related("config").in_bulk(list(ids))
    words = {
        (row.setting_id, row.type_name, row.group_id): _words_of_sender(row, settings.get(row.setting_id))
        for row in senders.values()
    }
    sent_by = {name: senders[into] for name, into in merged.items() if into in senders}
    return {name: words[row.setting_id, row.type_name, row.group_id] for name, row in sent_by.items()}


def _words_of_sender(sender: Notification, setting: NotificationSetting | None) -> str:
    label = NOTIFICATION_TYPES[sender.type_name].label
    if setting is None or setting.type_name != sender.type_name:
        return label
    words = setting_words(setting, sender.group_id)
    return words if words.startswith(label) else f"{label}: {words}"


def notified_event(event_id: str, *, group_id: str, org_id: str) -> EventRow | None:
    """An event of the project, or of its organization if the project was notified; None for others."""
    event = event_row(event_id, group_id=group_id)
    if event is not None:
        return event
    # The project must not see other events of its organization.
    logged = Notification.objects.filter(event_id=event_id, group_id=group_id).exists()
    return event_row(event_id, org_id=org_id) if logged else None


@dataclass(frozen=True, slots=True)
class NotifiedEvent:
    """The event of a one-shot notification: its id, and what happened in a sentence.

    `is_of_project`: whether the event belongs to the project of the notification, so its readers see it.
    """

    id: str
    words: str
    is_of_project: bool


def events_of_notifications(notifications: Collection[Notification]) -> dict[str, NotifiedEvent]:
    """The event of each notification without an alert, by the id of the notification, with one query.

    Events that retention has deleted are left out. The notifications have their projects loaded.
    """
    ids = {notification.event_id for notification in notifications if notification.event_id}
    events = Event.objects.defer("raw", "diffs").in_bulk(ids) if ids else {}
    notified_events: dict[str, NotifiedEvent] = {}
    for notification in notifications:
        event = events.get(notification.event_id or "")
        if event is not None:
            is_of_project = event.group_id is not None and event.group_id == notification.group_id
            project = notification.group.name if is_of_project and notification.group else None
            words = sentence(event.event_type, event.details, project)
            notified_events[notification.id] = NotifiedEvent(event.id, words, is_of_project)
    return notified_events


def scheduled(now: datetime) -> Q:
    """Notifications that are scheduled, as defined by `notification_state`."""
    to_come = Q(status=NotificationStatus.PENDING.value, attempts=0, due__gt=now)
    return to_come & (Q(reason=None) | Q(kind=MessageKind.UPDATE.value))


def of_own_configs(notifications: QuerySet[Notification]) -> QuerySet[Notification]:
    """Leave out notifications of global configurations: a project does not learn their recipients."""
    own = _own_settings()
    return notifications.filter(Q(alert__is_global=False) | Q(Exists(own), alert=None))


def _own_settings() -> QuerySet[NotificationSetting]:
    """The setting of a notification, if it belongs to the project's own configurations."""
    settings = NotificationSetting.with_removed.filter(id=OuterRef("setting_id"))
    return settings.filter(config__group_id=OuterRef("group_id"))


_PLACES: Mapping[str, str] = {
    name: channel.place_field for name, channel in CHANNELS.items() if channel.place_field
}
"""The field that names a channel or a room, by type."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The configuration of a notification, None if deleted, and the channel, room or team, if known."""

    config: AlertConfig | None = None
    place: str = ""


def origins_of(notifications: Collection[Notification]) -> dict[str, Origin]:
    """The origin of each notification by its id: at most three queries, however many notifications."""
    ids = {notification.setting_id for notification in notifications}
    rows = NotificationSetting.with_removed.filter(id__in=ids).select_related("config")
    settings = {row.id: row for row in rows}
    integrations = _integrations(notifications, settings)
    teams = _teams(settings)
    return {
        notification.id: _origin(notification, settings.get(notification.setting_id), integrations, teams)
        for notification in notifications
    }


def _origin(
    notification: Notification,
    setting: NotificationSetting | None,
    integrations: Mapping[tuple[str | None, str], Integration],
    teams: Mapping[str, str],
) -> Origin:
    if setting is None:
        return Origin()
    if setting.type_name == PeopleType.TEAM:
        return Origin(setting.config, teams.get(setting.fields["teamId"], ""))
    integration = integrations.get((notification.group_id, setting.type_name))
    return Origin(setting.config, _place(notification, setting, integration))


def _place(notification: Notification, setting: NotificationSetting, integration: Integration | None) -> str:
    """Empty if the credentials have changed: the notification went to another place."""
    name = _PLACES.get(setting.type_name)
    if name is None or setting.type_name != notification.type_name:
        return ""
    kind = type_of(setting)
    own = kind.has_credentials(setting.fields)
    helping = {} if own or integration is None else integration.fields
    first = kind.fields[0]
    token = setting.fields.get(first.name) or helping.get(first.config_name or "")
    if notification.recipient and token != notification.recipient:
        return ""
    return str(setting.fields.get(name) or helping.get(name) or "")


def _integrations(
    notifications: Collection[Notification], settings: Mapping[str, NotificationSetting]
) -> dict[tuple[str | None, str], Integration]:
    """The integrations of notifications without own credentials, by project and type."""
    without = [
        notification
        for notification in notifications
        if (setting := settings.get(notification.setting_id))
        and setting.type_name in _PLACES
        and not type_of(setting).has_credentials(setting.fields)
    ]
    if not without:
        return {}
    groups = {notification.group_id for notification in without}
    types = {notification.type_name for notification in without}
    rows = Integration.objects.filter(group_id__in=groups, type__in=types)
    return {(row.group_id, row.type): row for row in rows}


def _teams(settings: Mapping[str, NotificationSetting]) -> dict[str, str]:
    team = PeopleType.TEAM
    ids = {setting.fields["teamId"] for setting in settings.values() if setting.type_name == team}
    return dict(Team.objects.filter(id__in=ids).values_list("id", "name")) if ids else {}


def setting_words(setting: NotificationSetting, group_id: str | None) -> str:
    """The recipients of a setting, as in the log."""
    kind = type_of(setting)
    if not kind.for_people:
        recipient = recipient_shown(setting, group_id=group_id)
        channel = ChannelType(setting.type_name)
        return recipient_words(type_name=setting.type_name, channel=channel, recipient=recipient)
    team = setting.type_name == PeopleType.TEAM
    place = team_name(setting.fields["teamId"], None) or "" if team else ""
    label = recipient_label(setting)
    return recipient_words(type_name=setting.type_name, channel=None, recipient=label, place=place)
