"""What a type of integration is: its fields, how each is checked, which are secret (decisions 7)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rest_framework import serializers

from integrations.choices import IntegrationType, Region, SecretKind
from integrations.redaction import redact
from opsapi.api.fields import OneOf


@dataclass(frozen=True, slots=True)
class IntegrationField:
    """One field of an integration.

    `form` checks it, and says whether it is required or what it is when left out. `goes_with` names
    the URL it is a secret for: once that is another, the secret has to be given anew.
    """

    name: str
    form: serializers.Field[Any, Any, Any, Any]
    secret: SecretKind = SecretKind.PLAIN
    goes_with: str | None = None

    def shown(self, value: Any) -> Any:
        """The value as answers show it; secrets are texts."""
        return value if self.secret is SecretKind.PLAIN else redact(self.secret, value)


@dataclass(frozen=True, slots=True)
class IntegrationKind:
    """One type of integration; `example` is one as it is sent."""

    type: IntegrationType
    fields: tuple[IntegrationField, ...]
    example: Mapping[str, Any]

    def shown(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values as answers show them, secrets redacted."""
        return {field.name: field.shown(values[field.name]) for field in self.fields if field.name in values}

    @property
    def secret_fields(self) -> Mapping[str, IntegrationField]:
        """The fields that are shown redacted, by name."""
        return {field.name: field for field in self.fields if field.secret is not SecretKind.PLAIN}

    def secrets(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The values that are kept sealed."""
        return {name: values[name] for name in self.secret_fields if name in values}


def region() -> IntegrationField:
    """The field of services that are reached at several addresses."""
    form = OneOf([one.value for one in Region], required=False, default=Region.US.value)
    return IntegrationField("region", form)
