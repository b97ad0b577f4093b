"""Notifications of configurations: what they may name, their secrets, and the credentials to send with."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Min

from accesslist.models import Project, Team
from accesslist.users.store import EVERYTHING, VisibleUsers, visible_users_named
from alerting.models import AlertConfig, Notification, NotificationSetting
from alerting.notification_types import NOTIFICATION_TYPES, NotificationType
from alerting.reasons import AttemptFailure, NotificationReason
from alerting.selectors.recipient_addresses import RecipientAddress
from integrations.channels import CHANNELS
from integrations.choices import ENDS, ChannelType
from integrations.credentials.store import integration_values, integrations_of, readable, stored_integration
from integrations.models import Integration
from integrations.redaction import Secrets
from opsapi.encryption import decrypt
from opsapi.fields import Among


def type_of(setting: NotificationSetting) -> NotificationType:
    return NOTIFICATION_TYPES[setting.type_name]


def filled(row: NotificationSetting, place: int, values: Mapping[str, Any]) -> NotificationSetting:
    """Set the values of a row except its secrets, which are redacted in `fields`; nothing is saved.

    `values` are a validated setting, by their wire names.
    """
    kind = NOTIFICATION_TYPES[values["typeName"]]
    row.position, row.type_name, row.delay_min = place, kind.type, values["delayMin"]
    row.interval_min = values.get("intervalMin", kind.default_interval_min)
    row.min_severity = values.get("minSeverity")
    row.fields = kind.shown(values)
    return row


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


def setting_document(setting: NotificationSetting) -> dict[str, Any]:
    """A stored setting in full, as a validated document has it.

    Raises:
        CannotDecryptError: as `setting_values`.
    """
    common = {"id": setting.id, "typeName": setting.type_name, "delayMin": setting.delay_min}
    interval = {} if setting.interval_min is None else {"intervalMin": setting.interval_min}
    minimum = {} if setting.min_severity is None else {"minSeverity": setting.min_severity}
    return {**common, **interval, **minimum, **setting_values(setting)}


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
    visible = EVERYTHING if orgs is None else VisibleUsers(orgs=orgs)
    return visible_users_named(name, visible).values_list("username", flat=True).first()


def team_name(team_id: str, group_id: str | None) -> str | None:
    """The team's name; None when the project's organization has no such team. As `known_username`."""
    orgs = _orgs(group_id)
    teams = Team.objects.filter(id=team_id)
    visible = teams if orgs is None else teams.filter(org_id__in=orgs)
    return visible.values_list("name", flat=True).first()


def has_integration(group_id: str, integration_type: str) -> bool:
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


class NoCredentialsError(Exception):
    """Neither the setting nor an integration has credentials; `reason` is for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ChannelCredentials:
    """The field values of the channel, secrets decrypted; `shown`: the recipient, redacted."""

    config: Mapping[str, str]
    shown: str


def settings_of(notifications: Iterable[Notification]) -> dict[tuple[str, str], NotificationSetting]:
    """Return the settings of notifications by id and type, including removed settings.

    Deleted settings are missing, and settings that now have another type.
    """
    ids = {notification.setting_id for notification in notifications}
    settings = NotificationSetting.with_removed.select_related("config").filter(Among("id", ids))
    return {(setting.id, setting.type_name): setting for setting in settings}


def setting_of(notification: Notification) -> NotificationSetting | None:
    """Like `settings_of`, for one notification."""
    return settings_of([notification]).get((notification.setting_id, notification.type_name))


def credentials_for(notification: Notification, setting: NotificationSetting | None) -> ChannelCredentials:
    """Return the credentials for a notification that has a channel.

    Raises:
        NoCredentialsError: the setting or its secrets were deleted, or the project has no integration for it.
        CannotDecryptError: the key of its secrets is no longer configured.
    """
    if _keeps_its_address(notification):
        address = RecipientAddress(ChannelType(str(notification.channel)), notification.recipient)
        return ChannelCredentials(address_config(address), notification.recipient)
    if setting is None:
        raise NoCredentialsError(NotificationReason.NOTIFICATION_REMOVED.value)
    return setting_credentials(setting, group_id=notification.group_id)


def credentials_gone(
    notification: Notification, setting: NotificationSetting | None
) -> NotificationReason | None:
    """Why it cannot be sent, whatever integrations the project has; None if it can, or has no channel yet."""
    if notification.channel is None or _keeps_its_address(notification):
        return None
    if setting is None:
        return NotificationReason.NOTIFICATION_REMOVED
    return NotificationReason.SECRETS_GONE if secrets_gone(setting) else None


def address_config(address: RecipientAddress) -> Mapping[str, str]:
    """The configuration of the channel for one address."""
    return {CHANNELS[address.channel].fields[0].name: address.recipient}


def setting_credentials(setting: NotificationSetting, *, group_id: str | None) -> ChannelCredentials:
    """The credentials of a setting that is not for people; `group_id`: the project of the integration.

    Raises: as `credentials_for`.
    """
    if secrets_gone(setting):
        raise NoCredentialsError(NotificationReason.SECRETS_GONE.value)
    kind, values = type_of(setting), setting_values(setting)
    integration = _integration(setting, group_id)
    if integration is None and not kind.has_credentials(values):
        failure = AttemptFailure.NO_INTEGRATION if group_id else AttemptFailure.NO_PROJECT
        raise NoCredentialsError(failure.value.format(integration=kind.full_name))
    helping = {} if integration is None else integration_values(integration)
    return ChannelCredentials(kind.channel_config(values, helping), _shown(setting, integration))


def recipient_shown(setting: NotificationSetting, *, group_id: str | None) -> str:
    """The recipient of a setting that is not for people, as shown in the log; empty without a recipient."""
    return _shown(setting, _integration(setting, group_id))


def _integration(setting: NotificationSetting, group_id: str | None) -> Integration | None:
    """The integration that a setting without credentials uses; None if there is none."""
    kind = type_of(setting)
    if kind.integration is None or group_id is None or kind.has_credentials(setting.fields):
        return None
    return stored_integration(group_id, kind.integration)


def _shown(setting: NotificationSetting, integration: Integration | None) -> str:
    first = type_of(setting).fields[0]
    if integration is None:
        return str(setting.fields.get(first.name, ""))
    return str(integration.fields.get(first.config_name or "", ""))


def _keeps_its_address(notification: Notification) -> bool:
    """Ends, and messages to people, go to the stored address, whatever the configuration names now."""
    fixed = notification.kind in ENDS or stands_for_people(notification)
    return (
        fixed and notification.channel is not None and CHANNELS[ChannelType(notification.channel)].has_address
    )
