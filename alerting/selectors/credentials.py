"""What a channel needs to send a notification: the notification's own, or the project's integration's."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from alerting.choices import DropReason
from alerting.models import Notification, NotificationSetting
from alerting.selectors.notification_settings import secrets_gone, setting_values, stands_for_people, type_of
from alerting.selectors.recipient_addresses import RecipientAddress
from integrations.channels import CHANNELS
from integrations.choices import ENDS, ChannelType
from integrations.models import Integration
from integrations.selectors import integration_values, stored_integration
from opsapi.fields import Among


class NoCredentialsError(Exception):
    """There are none, neither of its own nor of an integration; `reason` is for the log."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class ChannelCredentials:
    """What the channel takes, under its own field names, secrets opened; `shown`: whom that is, redacted."""

    config: Mapping[str, str]
    shown: str


def settings_of(notifications: Iterable[Notification]) -> dict[tuple[str, str], NotificationSetting]:
    """What configurations say of notifications, by id and type, also when it was taken out meanwhile.

    Nothing for what is gone, or has become one of another type, which is another notification.
    """
    ids = {notification.setting_id for notification in notifications}
    settings = NotificationSetting.with_removed.select_related("config").filter(Among("id", ids))
    return {(setting.id, setting.type_name): setting for setting in settings}


def setting_of(notification: Notification) -> NotificationSetting | None:
    """As `settings_of`, of one notification."""
    return settings_of([notification]).get((notification.setting_id, notification.type_name))


def credentials_for(notification: Notification, setting: NotificationSetting | None) -> ChannelCredentials:
    """What a notification that has a channel is sent with.

    Raises:
        NoCredentialsError: its setting is gone, or its secrets are, or it takes them from an integration the
            project does not have.
        CannotDecryptError: the key that encrypted them is not configured any more.
    """
    if _keeps_its_address(notification):
        address = RecipientAddress(ChannelType(str(notification.channel)), notification.recipient)
        return ChannelCredentials(address_config(address), notification.recipient)
    if setting is None:
        raise NoCredentialsError(DropReason.NOTIFICATION_REMOVED.value)
    return setting_credentials(setting, group_id=notification.group_id)


def credentials_gone(notification: Notification, setting: NotificationSetting | None) -> DropReason | None:
    """Why it cannot be sent whatever integrations the project has; None when it can, or is yet for people."""
    if notification.channel is None or _keeps_its_address(notification):
        return None
    if setting is None:
        return DropReason.NOTIFICATION_REMOVED
    return DropReason.SECRETS_GONE if secrets_gone(setting) else None


def address_config(address: RecipientAddress) -> Mapping[str, str]:
    """What tells one address."""
    return {CHANNELS[address.channel].fields[0].name: address.recipient}


def setting_credentials(setting: NotificationSetting, *, group_id: str | None) -> ChannelCredentials:
    """What tells whom a setting names that stands for no people; `group_id`: whose integration helps out.

    Raises: as `credentials_for`.
    """
    if secrets_gone(setting):
        raise NoCredentialsError(DropReason.SECRETS_GONE.value)
    kind, values = type_of(setting), setting_values(setting)
    integration = _integration(setting, group_id)
    if integration is None and not kind.has_credentials(values):
        whose = "the project has" if group_id else "without a project there is"
        raise NoCredentialsError(f"{whose} no {kind.full_name} integration")
    helping = {} if integration is None else integration_values(integration)
    return ChannelCredentials(kind.channel_config(values, helping), _shown(setting, integration))


def recipient_shown(setting: NotificationSetting, *, group_id: str | None) -> str:
    """Whom a setting names that stands for no people, as the log shows it; empty where nobody is named."""
    return _shown(setting, _integration(setting, group_id))


def _integration(setting: NotificationSetting, group_id: str | None) -> Integration | None:
    """The integration that helps a setting out; None where none does."""
    kind = type_of(setting)
    if kind.integration is None or group_id is None or kind.has_credentials(setting.fields):
        return None
    return stored_integration(group_id, kind.integration)


def _shown(setting: NotificationSetting, integration: Integration | None) -> str:
    """The first field, redacted as ever."""
    first = type_of(setting).fields[0]
    if integration is None:
        return str(setting.fields.get(first.name, ""))
    return str(integration.fields.get(first.config_name or "", ""))


def _keeps_its_address(notification: Notification) -> bool:
    """The end goes where the rest went, whatever address the configuration names by now."""
    fixed = notification.kind in ENDS or stands_for_people(notification)
    return (
        fixed and notification.channel is not None and CHANNELS[ChannelType(notification.channel)].has_address
    )
