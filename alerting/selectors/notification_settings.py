"""Notifications of configurations with their secrets, and what they may name."""

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from django.db.models import Min

from accesslist.models import Project, Team
from accesslist.selectors.users import EVERYTHING, Sight, visible_users_named
from alerting.models import AlertConfig, Notification, NotificationSetting
from alerting.notification_types import NOTIFICATION_TYPES
from alerting.notification_types.base import NotificationType
from integrations.redaction import Secrets
from integrations.selectors import integrations_of, readable
from opsapi.encryption import decrypt
from opsapi.fields import Among


def type_of(setting: NotificationSetting) -> NotificationType:
    """The notification type of a setting."""
    return NOTIFICATION_TYPES[setting.type_name]


def stands_for_people(notification: Notification) -> bool:
    """Whether it is for people, or for one of their addresses."""
    return NOTIFICATION_TYPES[notification.type_name].for_people


def secrets_gone(setting: NotificationSetting) -> bool:
    """Whether its secrets were removed: only their redacted form is left."""
    return setting.secrets is None and any(name in setting.fields for name in type_of(setting).secret_fields)


def shortest_delays(config_ids: Iterable[str]) -> Mapping[str, timedelta]:
    """The shortest delay of each configuration with notifications, by configuration id."""
    settings = NotificationSetting.objects.filter(Among("config_id", config_ids)).order_by()
    delays = settings.values_list("config_id").annotate(Min("delay_min"))
    return {config_id: timedelta(minutes=minutes) for config_id, minutes in delays}


def setting_values(setting: NotificationSetting) -> dict[str, Any]:
    """The fields as sent, secrets in full; removed secrets are left out.

    Raises:
        CannotDecryptError: the key that encrypted them is not configured any more.
    """
    secrets = json.loads(decrypt(setting.secrets, owner=setting.id)) if setting.secrets else {}
    return type_of(setting).opened(setting.fields, secrets)


def setting_secrets(setting: NotificationSetting) -> Secrets:
    """The secrets in full, by field; None if they cannot be decrypted."""
    return readable(type_of(setting).secret_fields, setting.fields, lambda: setting_values(setting))


def config_secrets(config: AlertConfig) -> Mapping[str, Secrets]:
    """The secrets of all settings of a configuration in full, by setting id."""
    return {setting.id: setting_secrets(setting) for setting in config.settings.all()}


def own_credentials(setting: NotificationSetting) -> bool:
    """Whether it is complete without an integration."""
    return type_of(setting).has_credentials(setting.fields)


def known_username(name: str, group_id: str | None) -> str | None:
    """The user's name as it is spelled; None when the project's organization has no such user.

    A global configuration (no project) can name every user.
    """
    orgs = _orgs(group_id)
    sight = EVERYTHING if orgs is None else Sight(orgs=orgs)
    return visible_users_named(name, sight).values_list("username", flat=True).first()


def team_name(team_id: str, group_id: str | None) -> str | None:
    """The team's name; None when the project's organization has no such team. As `known_username`."""
    orgs = _orgs(group_id)
    teams = Team.objects.filter(id=team_id)
    visible = teams if orgs is None else teams.filter(org_id__in=orgs)
    return visible.values_list("name", flat=True).first()


def has_integration(group_id: str, integration_type: str) -> bool:
    """Whether the project has an integration of the type."""
    return integrations_of(group_id).filter(type=integration_type).exists()


def named_already(settings: Iterable[NotificationSetting], name: str, value: Any) -> bool:
    """Whether a stored setting has this value, so that it is not looked up again."""
    return any(setting.fields.get(name) == value for setting in settings)


def _orgs(group_id: str | None) -> list[str] | None:
    """The project's organization; None, which means all organizations, without a project."""
    if group_id is None:
        return None
    org_ids = Project.objects.filter(id=group_id).values_list("org_id", flat=True)
    return [org_id for org_id in org_ids if org_id]
