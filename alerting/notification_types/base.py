"""The definition of a notification type: its fields, its channels, and the source of its credentials."""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

from integrations.channels import CHANNELS
from integrations.choices import ChannelType
from integrations.fields import Field, FieldSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.fields import ListOf
from opsapi.wire_json import JsonObject

DEFAULT_INTERVAL_MIN = 60


@dataclass(frozen=True, slots=True)
class NotificationField(Field):
    """A field of a notification.

    `config_name` is its name in the configuration of a channel and in an integration; None if it is in
    neither.
    """

    _: KW_ONLY
    config_name: str | None = None


@dataclass(frozen=True, slots=True)
class NotificationType(FieldSet):
    """One type of notification; its example leaves out the fields that every type has.

    `channels` are the channels it is sent by. `integration` is the type of the project's integration that
    supplies what a notification leaves out; the first field is then the credential that decides whether the
    notification or the integration has the credentials. `missing_code` refuses a notification that lacks a
    required field. A configuration has at most `most` notifications of the type; `global_only`: only global
    configurations have any.
    """

    fields: tuple[NotificationField, ...]
    _: KW_ONLY
    channels: tuple[ChannelType, ...]
    integration: str | None = None
    missing_code: ErrorCode = ErrorCode.MISSING_ATTRIBUTE
    most: int | None = None
    global_only: bool = False

    @property
    def arrays(self) -> frozenset[str]:
        """Fields that answers always have, empty if not sent."""
        return frozenset(field.name for field in self.fields if isinstance(field.form, ListOf))

    @property
    def for_people(self) -> bool:
        """Whether it is for people, whose addresses are looked up when it is due."""
        return len(self.channels) > 1

    @property
    def default_interval_min(self) -> int | None:
        """The default interval of reminders in minutes. Services that track incidents need no reminders."""
        stateful = any(CHANNELS[channel].keeps_state for channel in self.channels)
        return None if stateful else DEFAULT_INTERVAL_MIN

    def secrets(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The values that are stored encrypted, by their names in the configuration of the channel."""
        return {
            field.config_name: values[field.name]
            for field in self.fields
            if field.config_name and field.name in self.secret_fields and field.name in values
        }

    def opened(self, shown: Mapping[str, Any], secrets: Mapping[str, str]) -> JsonObject:
        """The values in full again, from the results of `shown` and `secrets`; without lost secrets."""
        plain = {name: value for name, value in shown.items() if name not in self.secret_fields}
        names = {field.config_name: field.name for field in self.fields}
        return plain | {names[config_name]: value for config_name, value in secrets.items()}

    def has_credentials(self, values: Mapping[str, Any]) -> bool:
        """Whether it is complete without an integration; true if its type has none."""
        return self.integration is None or self.fields[0].name in values

    def channel_config(self, values: Mapping[str, Any], integration: Mapping[str, Any]) -> dict[str, str]:
        """The config of its channel; `values` are in full.

        Without credentials of its own it is the integration's, except for what the notification itself says.
        The two are never mixed otherwise: no secret goes to a URL that it was not given for.
        """
        own = {
            field.config_name: str(values[field.name])
            for field in self.fields
            if field.config_name and field.name in values
        }
        if self.has_credentials(values):
            return own
        return {name: str(value) for name, value in integration.items()} | own
