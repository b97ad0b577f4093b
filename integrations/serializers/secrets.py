"""Documents with secrets: answers redact them, and accept a redacted value as unchanged."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, cast

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from integrations.redaction import Secrets
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import BadField
from opsapi.api.schema import DocumentExtension
from opsapi.redaction import MASK
from opsapi.wire_json import JsonObject

UNREADABLE = "must be sent again: the stored value can no longer be decrypted"
MOVED = "must be sent again: a field that it belongs to was changed"
UNKNOWN = "must be sent in full: it is not the redacted form of the stored value"


class SecretField(Protocol):
    """A field that is kept encrypted; `goes_with` names the URL it is a secret for."""

    @property
    def name(self) -> str:
        """Its name in the document."""

    @property
    def goes_with(self) -> str | None:
        """The field of that URL, which precedes it."""

    def shown(self, value: Any) -> Any:
        """The value as answers show it."""


class SecretDocument(Document):
    """A document whose answers redact `secret_fields`.

    Context: `secrets` are the stored values in full, by name; None for a value that cannot be decrypted. A
    redacted value in a request means the stored value, as long as the URL that it goes with does not change.

    `of_others` are the fields of other types. Null or an empty array in such a field is accepted and ignored.
    """

    refusals = (ErrorCode.REDACTED_VALUE_UNKNOWN,)
    secret_fields: ClassVar[Mapping[str, SecretField]] = {}
    of_others: ClassVar[frozenset[str]] = frozenset()

    def run_validation(self, data: Any = serializers.empty) -> JsonObject:
        """The values by field name."""
        if isinstance(data, Mapping):
            data = {name: value for name, value in data.items() if not self._says_nothing(name, value)}
        return super().run_validation(data)

    def _says_nothing(self, name: str, value: Any) -> bool:
        """Whether it is an empty field of another type."""
        return (value is None or value == []) and name in self.of_others and name not in self.fields

    def _read_field(
        self, name: str, field: serializers.Field[Any, Any, Any, Any], raw: Any, values: JsonObject
    ) -> Iterable[BadField]:
        if name not in self.secret_fields or not isinstance(raw, str) or MASK not in raw:
            return super()._read_field(name, field, raw, values)
        if why_not := self._why_not(self.secret_fields[name], raw, values):
            return [BadField(name, ErrorCode.REDACTED_VALUE_UNKNOWN, why_not)]
        values[name] = self._stored()[name]
        return ()

    def _why_not(self, field: SecretField, raw: str, values: Mapping[str, Any]) -> str | None:
        """Why a redacted value does not mean the stored secret; None if it does."""
        stored = self._stored()
        if field.name not in stored:
            return UNKNOWN
        value = stored[field.name]
        if value is None:
            return UNREADABLE
        if field.shown(value) != raw:
            return UNKNOWN
        moved = field.goes_with is not None and values.get(field.goes_with) != stored.get(field.goes_with)
        return MOVED if moved else None

    def _stored(self) -> Secrets:
        stored: Secrets = self.context.get("secrets", {})
        return stored


class SecretDocumentExtension(DocumentExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Marks secrets as redacted in the OpenAPI document; their length must not be visible."""

    target_class = SecretDocument
    priority = 1

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> JsonObject:
        """The document's schema."""
        schema = super().map_serializer(auto_schema, direction)
        if direction == "response":
            for name in cast(SecretDocument, self.target).secret_fields:
                schema["properties"][name] = {"type": "string", "description": "Redacted."}
        return schema
