"""Fields of an integration, a channel or a notification: validation, names and redaction."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from rest_framework import serializers

from integrations.choices import Region, SecretKind
from integrations.redaction import redact
from opsapi.api.errors import BadField
from opsapi.api.fields import OneOf
from opsapi.wire_json import JsonObject

Form = serializers.Field[Any, Any, Any, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A field of an integration, a channel or a notification.

    `name` is its name in the API, `label` its name in the console. `form` validates a value, and has the
    default or requires the field. `example` is None for a field that the example leaves out. `goes_with`
    names the URL that the field belongs to: if the URL changes, a secret must be sent again. `help` is the
    help text of its input in the console.
    """

    name: str
    label: str
    form: Form
    _: KW_ONLY
    example: Any = None
    secret: SecretKind = SecretKind.PLAIN
    goes_with: str | None = None
    help: str = ""

    def shown(self, value: Any) -> Any:
        """The value as shown in answers."""
        return value if self.secret is SecretKind.PLAIN else redact(self.secret, value)


def _no_faults(_values: Mapping[str, Any]) -> Iterable[BadField]:
    return ()


@dataclass(frozen=True, slots=True)
class FieldSet:
    """A configurable type: its wire name, its full name and its fields.

    `faults` are the faults between fields of values that are valid alone, by the names of the fields.
    `secret_fields` are the fields that are shown redacted, by name.
    """

    type: str
    label: str
    fields: tuple[Field, ...]
    _: KW_ONLY
    faults: Callable[[Mapping[str, Any]], Iterable[BadField]] = _no_faults
    secret_fields: Mapping[str, Field] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # Deliveries read it for each message, and the fields never change.
        secret = {field.name: field for field in self.fields if field.secret is not SecretKind.PLAIN}
        object.__setattr__(self, "secret_fields", secret)

    @property
    def full_name(self) -> str:
        """Both names, `Slack (CHAT_SERVICE)`, or a single name if they are equal, `Webhook`."""
        return self.label if self.label.upper() == self.type else f"{self.label} ({self.type})"

    @property
    def example(self) -> Mapping[str, Any]:
        """The values of an example, as sent."""
        return {field.name: field.example for field in self.fields if field.example is not None}

    def shown(self, values: Mapping[str, Any]) -> JsonObject:
        """The values as answers show them, secrets redacted."""
        return {field.name: field.shown(values[field.name]) for field in self.fields if field.name in values}

    def secrets(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values that are stored encrypted."""
        return {name: values[name] for name in self.secret_fields if name in values}


def region_form() -> Form:
    """The form of the region of a service with a base URL per region."""
    return OneOf([region.value for region in Region], required=False, default=Region.US.value)
