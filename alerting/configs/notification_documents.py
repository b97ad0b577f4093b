"""Notifications of a configuration as the API shows and accepts them.

The context is that of the configuration's document: `group_id`, the project of the configuration, None for a
global configuration; `settings`, its stored notifications, absent while it is created.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

from rest_framework import serializers

from alerting.configs.choices import PeopleType
from alerting.configs.models import NotificationSetting
from alerting.configs.notification_types import NOTIFICATION_TYPES, NotificationType
from alerting.configs.store import (
    has_integration,
    known_username,
    named_already,
    own_credentials,
    setting_secrets,
    team_name,
)
from alerting.severities import SEVERITIES
from integrations.channels.email import EMAIL
from integrations.redaction import Secrets
from integrations.typed_documents import TypedDocument
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, Document, InvalidField, Values, invalid
from opsapi.api.errors import BadField
from opsapi.api.fields import Identifier, ListOf, OneOf, Whole
from opsapi.api.shapes import Reference, ShapedDocument
from opsapi.ids import is_id
from opsapi.wire_json import JsonObject

_PROJECT_TYPES = [name for name, kind in NOTIFICATION_TYPES.items() if not kind.global_only]
_OF_ANYBODY, _OF_THE_ORG = "of this installation", "of the project's organization"
MOST_NOTIFICATIONS = 50
MIN_INTERVAL = 5
_LONGEST = 525_600  # a year of minutes
_TYPE_NAMES = [*NOTIFICATION_TYPES]
_FIELDS = frozenset(field.name for kind in NOTIFICATION_TYPES.values() for field in kind.fields)


def _delay() -> Whole:
    return Whole(max_value=_LONGEST, required=False, default=0)


def _interval(default: int | None = None) -> Whole:
    return Whole(
        min_value=MIN_INTERVAL,
        max_value=_LONGEST,
        required=False,
        range_code=ErrorCode.NOTIFICATION_INTERVAL_OUT_OF_RANGE,
        **({} if default is None else {"default": default}),
    )


def _min_severity() -> OneOf:
    return OneOf(
        SEVERITIES,
        required=False,
        help_text="Messages of a lower severity are not sent. By default, all are sent.",
    )


class TypedNotification(TypedDocument):
    """A notification of one type.

    Context, in addition to the configuration's: `secrets` of the stored notification.
    """

    kind: ClassVar[NotificationType]
    type_field = "typeName"
    of_others = _FIELDS | {"teamName"}

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        return {"id": AN_ID, **cls.request_example, **cls.kind.shown(cls.kind.example)}

    def get_fields(self) -> JsonObject:
        """In the order of the contract. The project's integration can have the fields of the type."""
        fields = super().get_fields()
        own = [field.name for field in self.kind.fields]
        for name in own if self.kind.integration else ():
            fields[name].required = False
            fields[name].default = serializers.empty
        common = ("typeName", "delayMin", "intervalMin", "minSeverity")
        return {name: fields[name] for name in (*common, *own)} | fields

    def check(self, values: Values, bad: frozenset[str]) -> Iterator[BadField]:
        """Validate the fields that the type requires, and the users and teams that it names.

        A username gets the user's own spelling; an own credential brings its defaults.
        """
        given = values.keys() | bad
        yield from self._wrong_kind()
        yield from self._nobody(values, bad)
        yield from self._unknown_people(values)
        yield from self._missing_credentials(values, given)
        yield from self._secret_alone(values, given)
        yield from super().check(values, bad)
        yield from self._wrong_id(values)

    @property
    def _group_id(self) -> str | None:
        return cast("str | None", self.context["group_id"])

    @property
    def _stored(self) -> Sequence[NotificationSetting]:
        return cast(Sequence[NotificationSetting], self.context.get("settings", ()))

    def _wrong_kind(self) -> Iterator[BadField]:
        if self.kind.global_only and self._group_id is not None:
            message = f"{self.kind.type} is for global alert configurations only"
            yield BadField("typeName", ErrorCode.NOTIFICATION_TYPE_IS_GLOBAL_ONLY, message, _PROJECT_TYPES)

    def _nobody(self, values: Values, bad: frozenset[str]) -> Iterator[BadField]:
        ways = ("emailEnabled", "smsEnabled")
        if self.kind.for_people and not any(name in bad or values.get(name) for name in ways):
            yield BadField(
                "emailEnabled", ErrorCode.EMAIL_OR_SMS_REQUIRED, "emailEnabled or smsEnabled must be true"
            )

    def _unknown_people(self, values: Values) -> Iterator[BadField]:
        """People of other organizations are as unknown as people that do not exist."""
        where = _OF_ANYBODY if self._group_id is None else _OF_THE_ORG
        if self._asks_for("username", values):
            known = known_username(values["username"], self._group_id)
            if known is None:
                yield BadField("username", ErrorCode.INVALID_ATTRIBUTE, f"is no user {where}")
            else:
                values["username"] = known
        if self._asks_for("teamId", values) and team_name(values["teamId"], self._group_id) is None:
            yield BadField("teamId", ErrorCode.INVALID_ATTRIBUTE, f"is no team {where}")

    def _asks_for(self, name: str, values: Values) -> bool:
        """Whether it names a user or team that no stored setting names: stored values can be sent back."""
        return name in values and not named_already(self._stored, name, values[name])

    def _missing_credentials(self, values: Values, given: Collection[str]) -> Iterator[BadField]:
        """Either the notification has all credentials, or the project's integration has them."""
        kind = self.kind
        if kind.integration is None:
            return
        if kind.fields[0].name not in given and self._is_integrated(kind.integration):
            return
        for field in kind.fields:
            if field.form.default is not serializers.empty and kind.has_credentials(values):
                values.setdefault(field.name, field.form.get_default())
            if field.form.required and field.name not in given:
                yield self._missing(field.name, given)

    def _is_integrated(self, integration: str) -> bool:
        """Whether the project has the integration, or a global configuration leaves it to the projects.

        A stored setting without credentials is accepted.
        """
        if self._group_id is None:
            return True
        is_stored = any(
            setting.type_name == self.kind.type and not own_credentials(setting) for setting in self._stored
        )
        return is_stored or has_integration(self._group_id, integration)

    def _missing(self, name: str, given: Collection[str]) -> BadField:
        code, first = self.kind.missing_code, self.kind.fields[0].name
        if name != first and first in given:
            return BadField(name, code, f"is required with {first}")
        return BadField(name, code, f"is required: the project has no {self.kind.full_name} integration")

    def _secret_alone(self, values: Values, given: Collection[str]) -> Iterator[BadField]:
        for field in self.kind.fields:
            if field.goes_with and field.name in values and field.goes_with not in given:
                message = f"is only allowed with a {field.goes_with} in the same notification"
                yield BadField(field.name, ErrorCode.INVALID_ATTRIBUTE, message)

    def _wrong_id(self, values: Values) -> Iterator[BadField]:
        """An id has to be that of a stored notification; with another type it becomes a new one."""
        named = values.get("id")
        owner = next((setting for setting in self._stored if setting.id == named), None)
        if named is not None and owner is None:
            message = "is not a notification of this configuration; leave out the ID of a new notification"
            yield BadField("id", ErrorCode.ATTRIBUTE_READ_ONLY, message)
        if owner is not None and owner.type_name != self.kind.type:
            del values["id"]

    def _unknown_name(self, name: str) -> BadField:
        fault = super()._unknown_name(name)
        message = f"does not apply to {self.kind.full_name}"
        return BadField(fault.field, fault.code, message, fault.allowed)


class UntypedNotification(Document):
    """The common fields, which are validated if the type is unknown."""

    ignored = _FIELDS

    typeName = OneOf(_TYPE_NAMES)
    delayMin = _delay()
    intervalMin = _interval()
    minSeverity = _min_severity()
    id = Identifier(required=False)


def _document(kind: NotificationType) -> type[TypedNotification]:
    sent = {"typeName": kind.type, "delayMin": 0, **kind.example}
    declared = {
        "request_example": sent,
        "typeName": OneOf([kind.type]),
        "delayMin": _delay(),
        "intervalMin": _interval(kind.default_interval_min),
        "minSeverity": _min_severity(),
        "id": Identifier(required=False),
    }
    if kind.type == PeopleType.TEAM:
        declared["teamName"] = serializers.CharField(read_only=True)
    return TypedNotification.of_kind(kind, "notification", **declared)


DOCUMENTS: Mapping[str, type[TypedNotification]] = {
    name: _document(kind) for name, kind in NOTIFICATION_TYPES.items()
}


class NotificationDocument(ShapedDocument):
    """A notification of any type."""

    refusals = (
        ErrorCode.ATTRIBUTE_READ_ONLY,
        ErrorCode.EMAIL_OR_SMS_REQUIRED,
        ErrorCode.INVALID_EMAIL_ADDRESS,
        ErrorCode.INVALID_ENUM_VALUE,
        ErrorCode.NOTIFICATION_INTERVAL_OUT_OF_RANGE,
        ErrorCode.NOTIFICATION_TYPE_IS_GLOBAL_ONLY,
        ErrorCode.REDACTED_VALUE_UNKNOWN,
        ErrorCode.TOO_MANY_GROUP_NOTIFICATIONS,
        ErrorCode.WEBHOOK_URL_NOT_SET,
    )
    example = DOCUMENTS[EMAIL.type].sample()
    request_example = DOCUMENTS[EMAIL.type].request_example

    def run_validation(self, data: Any = serializers.empty) -> JsonObject:
        """The values by field name; secrets sent back redacted in full."""
        if not isinstance(data, Mapping):
            raise invalid("must be an object")
        type_name = data.get("typeName")
        if not isinstance(type_name, str) or type_name not in DOCUMENTS:
            return UntypedNotification().run_validation(data)
        context = {**self.context, "secrets": self._secrets(data), "stored": self._read_only(data)}
        return DOCUMENTS[type_name](context=context).run_validation(data)

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        return {"anyOf": [reference(document) for document in DOCUMENTS.values()]}

    def _secrets(self, data: Mapping[str, Any]) -> Secrets:
        """The secrets of the stored notification with the same id and type."""
        stored: Sequence[NotificationSetting] = self.context.get("settings", ())
        named = (
            setting
            for setting in stored
            if (setting.id, setting.type_name) == (data.get("id"), data["typeName"])
        )
        owner = next(named, None)
        return {} if owner is None else setting_secrets(owner)

    def _read_only(self, data: Mapping[str, Any]) -> Mapping[str, Any]:
        """Read-only fields, which follow from others."""
        team_id = data.get("teamId")
        if "teamName" not in data or not isinstance(team_id, str) or not is_id(team_id):
            return {}
        return {"teamName": team_name(team_id, self.context["group_id"])}


class Notifications(ListOf):
    """A configuration's notifications."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            NotificationDocument(),
            max_length=MOST_NOTIFICATIONS,
            missing_code=ErrorCode.MISSING_NOTIFICATIONS,
            **options,
        )

    def run_validation(self, data: Any = serializers.empty) -> list[Any]:
        """The notifications, each validated alone and all together; every fault is reported."""
        bad = _among(data) if isinstance(data, list) and len(data) <= MOST_NOTIFICATIONS else []
        try:
            values = super().run_validation(data)
        except InvalidField as error:
            raise InvalidField(*bad, *error.bad_fields) from None
        if bad:
            raise InvalidField(*bad)
        return values


def _among(data: Sequence[Any]) -> list[BadField]:
    """Faults between the notifications: too many of a type, and duplicate ids."""
    sent = [notification if isinstance(notification, Mapping) else {} for notification in data]
    types = Counter(str(notification.get("typeName")) for notification in sent)
    bad = [
        BadField("", ErrorCode.TOO_MANY_GROUP_NOTIFICATIONS, f"must hold at most {kind.most} {kind.type}")
        for kind in NOTIFICATION_TYPES.values()
        if kind.most is not None and types[kind.type] > kind.most
    ]
    ids = [notification.get("id") for notification in sent]
    return bad + [
        BadField(f"[{place}].id", ErrorCode.INVALID_ATTRIBUTE, "is used by another notification")
        for place, given in enumerate(ids)
        if isinstance(given, str) and given in ids[:place]
    ]
