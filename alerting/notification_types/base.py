"""A type of notification: its fields, its channels, and where its credentials come from."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from alerting.choices import ConfigNotificationType
from integrations.channels import CHANNELS
from integrations.choices import ChannelType, IntegrationType, SecretKind
from integrations.types.base import IntegrationField
from opsapi.api.fields import ListOf

DEFAULT_INTERVAL_MIN = 60


@dataclass(frozen=True, slots=True)
class NotificationField(IntegrationField):
    """One field of a notification.

    `config_name` is its name among what the channel and an integration know; None: it is no business of
    theirs.
    """

    config_name: str | None = None


@dataclass(frozen=True, slots=True)
class NotificationType:
    """One type of notification; `example` is one as it is sent, without what goes with every type.

    `channels` are the ways it goes out. Those of `integration` can take what a notification leaves out
    from a project's integration; its first field is then the credential that decides which of the two
    it is. `most` of them can stand in one configuration; `global_only`: in global ones alone.
    """

    type: ConfigNotificationType
    channels: tuple[ChannelType, ...]
    fields: tuple[NotificationField, ...]
    example: Mapping[str, Any]
    integration: IntegrationType | None = None
    most: int | None = None
    global_only: bool = False

    @property
    def secret_fields(self) -> Mapping[str, NotificationField]:
        """The fields that are shown redacted, by name."""
        return {field.name: field for field in self.fields if field.secret is not SecretKind.PLAIN}

    @property
    def arrays(self) -> frozenset[str]:
        """The array fields. Answers always have them, empty if nothing was sent."""
        return frozenset(field.name for field in self.fields if isinstance(field.form, ListOf))

    @property
    def for_people(self) -> bool:
        """Whether it names people, whose addresses are found when it is due."""
        return len(self.channels) > 1

    @property
    def default_interval_min(self) -> int | None:
        """Minutes between repeats where none are given; services that keep state need no repeats."""
        stateful = any(CHANNELS[channel].keeps_state for channel in self.channels)
        return None if stateful else DEFAULT_INTERVAL_MIN

    def shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values as answers show them, secrets redacted."""
        return {field.name: field.shown(values[field.name]) for field in self.fields if field.name in values}

    def secrets(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The values that are kept sealed, by the names that channels know."""
        return {
            field.config_name: values[name]
            for name, field in self.secret_fields.items()
            if name in values and field.config_name
        }

    def opened(self, shown: Mapping[str, Any], secrets: Mapping[str, str]) -> dict[str, Any]:
        """The values in full again, of what `shown` and `secrets` made of them; no secret that is gone."""
        fields = {field.config_name: name for name, field in self.secret_fields.items()}
        plain = {name: value for name, value in shown.items() if name not in self.secret_fields}
        return {**plain, **{fields[config_name]: value for config_name, value in secrets.items()}}

    def has_credentials(self, values: Mapping[str, Any]) -> bool:
        """Whether it is complete without an integration; true where there could be none."""
        return self.integration is None or self.fields[0].name in values

    def channel_config(self, values: Mapping[str, Any], integration: Mapping[str, Any]) -> dict[str, str]:
        """What a channel needs to send, by its own names; `values` in full.

        Without credentials of its own it is the integration's, but for what the notification says
        itself: nobody's secret goes where another's URL leads.
        """
        own = {
            field.config_name: str(values[field.name])
            for field in self.fields
            if field.config_name and field.name in values
        }
        if self.has_credentials(values):
            return own
        return {name: str(value) for name, value in integration.items()} | own
