"""The notification types: for people, and one for each channel; their recipients and schedules in words."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from alerting.configs.choices import PeopleType
from events.types import Severity
from integrations.channels import CHANNELS
from integrations.channels.base import Channel, ChannelField
from integrations.channels.email import EMAIL
from integrations.channels.sms import SMS
from integrations.channels.webhook_fields import WebhookBody
from integrations.choices import ChannelType, SecretKind
from integrations.fields import Field, FieldSet
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import BadField
from opsapi.api.fields import Flag, Identifier, ListOf, OneOf, Text
from opsapi.clock import age_words
from opsapi.roles import Role
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

    def secrets(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values that are stored encrypted, by their names in the configuration of the channel."""
        return {
            field.config_name: values[field.name]
            for field in self.fields
            if field.config_name and field.name in self.secret_fields and field.name in values
        }

    def opened(self, redacted: Mapping[str, Any], secrets: Mapping[str, Any]) -> JsonObject:
        """The values in full again, from the results of `shown` and `secrets`; without lost secrets."""
        plain = {name: value for name, value in redacted.items() if name not in self.secret_fields}
        names = {field.config_name: field.name for field in self.fields}
        return plain | {names[config_name]: value for config_name, value in secrets.items()}

    def has_credentials(self, values: Mapping[str, Any]) -> bool:
        """Whether it is complete without an integration; true if its type has none."""
        return self.integration is None or self.fields[0].name in values

    def channel_config(self, values: Mapping[str, Any], integration: Mapping[str, Any]) -> dict[str, str]:
        """The config of its channel; `values` are in full.

        A notification without credentials uses the integration's, and keeps its other fields. A secret never
        goes to a URL that it was not entered for.
        """
        own = {
            field.config_name: _as_config_value(values[field.name])
            for field in self.fields
            if field.config_name and field.name in values
        }
        if self.has_credentials(values):
            return own
        return {name: _as_config_value(value) for name, value in integration.items()} | own


def _as_config_value(value: Any) -> str:
    """The value in the configuration of a channel: texts as they are, others as JSON in one spelling."""
    if isinstance(value, (dict, list)):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    return str(value)


_CHANNELS = (EMAIL.type, SMS.type)
GROUP_ROLES = [role.value for role in Role if role.is_group]
ORG_ROLES = [role.value for role in Role if role.is_org]
_EMAIL = NotificationField("emailEnabled", "By e-mail", Flag(required=False), example=True)
_SMS = NotificationField("smsEnabled", "By SMS", Flag(required=False), example=False)
_EMAIL_BY_DEFAULT = replace(_EMAIL, form=Flag(required=False, default=True))
_NO_SMS_BY_DEFAULT = replace(_SMS, form=Flag(required=False, default=False))


def _members(people: PeopleType, label: str, names: Sequence[str], example: Role) -> NotificationType:
    form = ListOf(OneOf(names), max_length=len(names), unique=True, required=False)
    roles = NotificationField("roles", "Roles", form, example=[example.value])
    return NotificationType(people.value, label, fields=(roles, _EMAIL, _SMS), channels=_CHANNELS, most=1)


PEOPLE = (
    NotificationType(
        PeopleType.ADMIN.value,
        "Administrators",
        fields=(_EMAIL_BY_DEFAULT, _NO_SMS_BY_DEFAULT),
        channels=_CHANNELS,
        global_only=True,
    ),
    _members(PeopleType.GROUP, "Project members", GROUP_ROLES, Role.GROUP_OWNER),
    _members(PeopleType.ORG, "Organization members", ORG_ROLES, Role.ORG_OWNER),
    NotificationType(
        PeopleType.USER.value,
        "User",
        fields=(
            NotificationField("username", "Username", Text(max_length=254), example="ada@example.com"),
            _EMAIL_BY_DEFAULT,
            _NO_SMS_BY_DEFAULT,
        ),
        channels=_CHANNELS,
    ),
    NotificationType(
        PeopleType.TEAM.value,
        "Team",
        fields=(
            NotificationField("teamId", "Team", Identifier(), example="69201a2b3c4d5e6f70819207"),
            _EMAIL_BY_DEFAULT,
            replace(_NO_SMS_BY_DEFAULT, example=True),
        ),
        channels=_CHANNELS,
    ),
)


def _of_channel(channel: Channel) -> NotificationType:
    names = {field.name: field.notification_name or field.name for field in channel.fields}
    config_names = {wire_name: name for name, wire_name in names.items()}

    def faults(values: Mapping[str, Any]) -> Iterator[BadField]:
        """The faults of the channel, by the names in a notification."""
        config = {config_names[name]: value for name, value in values.items() if name in config_names}
        for fault in channel.faults(config):
            yield replace(fault, field=names[fault.field])

    def of_field(field: ChannelField) -> NotificationField:
        return NotificationField(
            names[field.name],
            # The form of a configuration shows the fields of all types, so their labels must differ.
            field.label if channel.has_address else f"{field.label} ({channel.label})",
            field.form,
            example=field.example,
            secret=field.secret,
            goes_with=names[field.goes_with] if field.goes_with else None,
            help=field.help,
            config_name=field.name if field.in_config else None,
        )

    return NotificationType(
        channel.type,
        channel.label,
        fields=tuple(of_field(field) for field in channel.fields if field.in_notification),
        channels=(channel.type,),
        integration=None if channel.has_address else channel.type,
        missing_code=channel.missing_code,
        faults=faults,
    )


NOTIFICATION_TYPES: Mapping[str, NotificationType] = {
    kind.type: kind for kind in (*PEOPLE, *(_of_channel(channel) for channel in CHANNELS.values()))
}


_WAYS = {"emailEnabled": "e-mail", "smsEnabled": SMS.label}

_SEVERITIES_FROM = {
    Severity.CRITICAL.value: "of the severity CRITICAL",
    Severity.WARNING.value: "of the severities WARNING and CRITICAL",
}
"""The severities of messages by the minimum severity; all with INFO."""
_OPTIONS = {"updateInPlace": "with messages updated in place"}

NotificationDocument = Mapping[str, Any]


def recipient_words(
    *, type_name: str, channel: ChannelType | None, recipient: str | None, place: str = ""
) -> str:
    """The recipient of a message: `ada@example.com`, `Slack #oncall`, `Webhook hooks.example.com`.

    `channel` is None until the addresses of people are looked up. `recipient` is as the log has it, without
    secrets; None: not to be shown. `place` is the channel, the room or the team that is named.
    """
    label = CHANNELS[channel].label if channel else NOTIFICATION_TYPES[type_name].label
    if recipient is None:
        return f"{label} (recipient not shown)"
    if channel:
        return CHANNELS[channel].receiver_words(recipient, place)
    named = place or recipient
    return f"{label}: {named}" if named else label


def receiver_sentence(notification: NotificationDocument) -> str:
    """The recipient and channels of a notification, such as: User ada by e-mail and SMS.

    The notification is as shown by the API, with redacted secrets.
    """
    kind = NOTIFICATION_TYPES[notification["typeName"]]
    plain = [
        field.name
        for field in kind.fields
        if field.secret is SecretKind.PLAIN and not isinstance(field.form, (Flag, WebhookBody))
    ]
    named = [
        ", ".join(value) if isinstance(value, list) else str(value) for value in _named(notification, plain)
    ]
    ways = [way for flag, way in _WAYS.items() if kind.for_people and notification.get(flag)]
    own = [] if kind.has_credentials(notification) else ["with the integration of the project"]
    by = [f"by {' and '.join(ways)}"] if ways else []
    options = [words for flag, words in _OPTIONS.items() if notification.get(flag)]
    return " ".join([kind.label, *named, *by, *own, *options])


def receiver_name(notification: NotificationDocument) -> str:
    """The recipient in one word, such as an address, a room or the host of a URL; empty if it has none.

    The notification is as shown by the API, with redacted secrets.
    """
    for field in NOTIFICATION_TYPES[notification["typeName"]].fields:
        value = next(iter(_named(notification, [field.name])), None)
        if isinstance(value, str) and field.secret is SecretKind.PLAIN:
            return value
        if isinstance(value, str) and field.secret is SecretKind.URL:
            return urlsplit(value).hostname or ""
    return ""


def rhythm_sentence(notification: NotificationDocument) -> str:
    """The schedule of a notification: delay and reminders; input in minutes. Also its minimum severity."""
    delay, interval = notification["delayMin"], notification.get("intervalMin")
    first = f"after {_minutes(delay)}" if delay else "immediately"
    again = f"reminder every {_minutes(interval)}" if interval else "no reminders"
    minimum = notification.get("minSeverity")
    only = f", only {_SEVERITIES_FROM[minimum]}" if minimum in _SEVERITIES_FROM else ""
    return f"{first}, {again}{only}"


def _minutes(number: int) -> str:
    return age_words(timedelta(minutes=number))


def _named(notification: NotificationDocument, names: Iterable[str]) -> Iterable[Any]:
    """The values that name recipients; a team by its name, unless it is deleted."""
    for name in names:
        if name == "teamId" and "teamName" in notification:
            yield notification["teamName"]
        elif name in notification:
            yield notification[name]
