"""Faults between the fields of one notification, and in the users, teams and integrations it names."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rest_framework import serializers

from alerting.models import NotificationSetting
from alerting.notification_types import NOTIFICATION_TYPES
from alerting.notification_types.base import NotificationType
from alerting.selectors.notification_settings import (
    has_integration,
    known_username,
    named_already,
    own_credentials,
    team_name,
)
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import BadField
from opsapi.wire_json import JsonObject

_PROJECT_TYPES = [name for name, kind in NOTIFICATION_TYPES.items() if not kind.global_only]
_OF_ANYBODY, _OF_THE_ORG = "of this installation", "of the project's organization"


@dataclass(frozen=True, slots=True)
class Given:
    """A notification in a request.

    `values` are its valid fields, `bad` the names of the others; `group_id` is the project, None for a global
    configuration; `stored` are the settings of the stored configuration.
    """

    kind: NotificationType
    values: JsonObject
    bad: frozenset[str]
    group_id: str | None
    stored: Sequence[NotificationSetting]

    def has(self, name: str) -> bool:
        """Whether the field was sent, right or wrong."""
        return name in self.values or name in self.bad


def faults_of(given: Given) -> Iterator[BadField]:
    """Every fault. A username gets the user's own spelling; an own credential brings its defaults."""
    for find in (_wrong_kind, _nobody, _unknown_people, _missing_credentials, _secret_alone, _wrong_id):
        yield from find(given)


def _wrong_kind(given: Given) -> Iterator[BadField]:
    if given.kind.global_only and given.group_id is not None:
        message = f"{given.kind.type} is for global alert configurations only"
        yield BadField("typeName", ErrorCode.NOTIFICATION_TYPE_IS_GLOBAL_ONLY, message, _PROJECT_TYPES)


def _nobody(given: Given) -> Iterator[BadField]:
    ways = ("emailEnabled", "smsEnabled")
    wrong = any(name in given.bad for name in ways)
    if given.kind.for_people and not wrong and not any(given.values.get(name) for name in ways):
        yield BadField(
            "emailEnabled", ErrorCode.EMAIL_OR_SMS_REQUIRED, "emailEnabled or smsEnabled must be true"
        )


def _unknown_people(given: Given) -> Iterator[BadField]:
    """People of other organizations are as unknown as people that do not exist."""
    where = _OF_ANYBODY if given.group_id is None else _OF_THE_ORG
    if _asks_for(given, "username"):
        known = known_username(given.values["username"], given.group_id)
        if known is None:
            yield BadField("username", ErrorCode.INVALID_ATTRIBUTE, f"is no user {where}")
        else:
            given.values["username"] = known
    if _asks_for(given, "teamId") and team_name(given.values["teamId"], given.group_id) is None:
        yield BadField("teamId", ErrorCode.INVALID_ATTRIBUTE, f"is no team {where}")


def _asks_for(given: Given, name: str) -> bool:
    """Whether it names a user or team that no stored setting names: stored values can be sent back."""
    return name in given.values and not named_already(given.stored, name, given.values[name])


def _missing_credentials(given: Given) -> Iterator[BadField]:
    """Either the notification has all credentials, or the project's integration has them."""
    kind, values = given.kind, given.values
    if kind.integration is None:
        return
    if not given.has(kind.fields[0].name) and (given.group_id is None or _integrated(given, given.group_id)):
        return
    for field in kind.fields:
        if field.form.default is not serializers.empty and kind.has_credentials(values):
            values.setdefault(field.name, field.form.get_default())
        if field.form.required and not given.has(field.name):
            yield _missing(given, field.name)


def _integrated(given: Given, group_id: str) -> bool:
    """Whether the project has an integration for it; a stored setting without credentials is accepted."""
    kind = given.kind
    if any(setting.type_name == kind.type and not own_credentials(setting) for setting in given.stored):
        return True
    return kind.integration is not None and has_integration(group_id, kind.integration)


def _missing(given: Given, name: str) -> BadField:
    code, first = given.kind.missing_code, given.kind.fields[0].name
    if name != first and given.has(first):
        return BadField(name, code, f"is required with {first}")
    return BadField(name, code, f"is required: the project has no {given.kind.full_name} integration")


def _secret_alone(given: Given) -> Iterator[BadField]:
    for field in given.kind.fields:
        if field.goes_with and field.name in given.values and not given.has(field.goes_with):
            message = f"is only allowed with a {field.goes_with} in the same notification"
            yield BadField(field.name, ErrorCode.INVALID_ATTRIBUTE, message)


def _wrong_id(given: Given) -> Iterator[BadField]:
    """An id has to be that of a stored notification; with another type it becomes a new one."""
    named = given.values.get("id")
    owner = next((setting for setting in given.stored if setting.id == named), None)
    if named is not None and owner is None:
        message = "is not a notification of this configuration; leave out the ID of a new notification"
        yield BadField("id", ErrorCode.ATTRIBUTE_READ_ONLY, message)
    if owner is not None and owner.type_name != given.kind.type:
        del given.values["id"]
