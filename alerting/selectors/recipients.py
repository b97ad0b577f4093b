"""The channel, room or team that a notification went to, from its configuration."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from accesslist.models import Team
from alerting.choices import PeopleType
from alerting.models import AlertConfig, Notification, NotificationSetting
from alerting.selectors.notification_settings import type_of
from integrations.channels import CHANNELS
from integrations.models import Integration

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
