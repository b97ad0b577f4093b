"""Documents with secrets: answered redacted, and taken back so while they stay (decisions 5 "id")."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, cast

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import BadField
from opsapi.api.schema import DocumentExtension
from opsapi.redaction import MASK


class SecretField(Protocol):
    """A field that is kept sealed; `goes_with` names the URL it is a secret for."""

    @property
    def name(self) -> str:
        """Its name in the document."""

    @property
    def goes_with(self) -> str | None:
        """That URL's field, which stands before it."""

    def shown(self, value: Any) -> Any:
        """The value as answers show it."""


class SecretDocument(Document):
    """A document whose `secret_fields` are answered redacted.

    Context: `secrets`, the values stored for them, in full, by name; a redacted value that is sent
    stands for one of them, as long as the URL it goes with stays.
    """

    refusals = (ErrorCode.REDACTED_VALUE_UNKNOWN,)
    secret_fields: ClassVar[Mapping[str, SecretField]] = {}

    def _read_field(
        self, name: str, field: serializers.Field[Any, Any, Any, Any], raw: Any, values: dict[str, Any]
    ) -> Iterable[BadField]:
        if name not in self.secret_fields or not isinstance(raw, str) or MASK not in raw:
            return super()._read_field(name, field, raw, values)
        value = self._meant(self.secret_fields[name], raw, values)
        if value is None:
            message = "is not the redacted form of what is stored"
            return [BadField(name, ErrorCode.REDACTED_VALUE_UNKNOWN, message)]
        values[name] = value
        return ()

    def _meant(self, field: SecretField, raw: str, values: Mapping[str, Any]) -> str | None:
        """The stored secret a redacted value stands for; None when there is none, or its URL changed."""
        stored: Mapping[str, str] = self.context.get("secrets", {})
        value = stored.get(field.name)
        moved = field.goes_with is not None and values.get(field.goes_with) != stored.get(field.goes_with)
        return None if value is None or field.shown(value) != raw or moved else value


class SecretDocumentExtension(DocumentExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Tells the OpenAPI document what is answered redacted: the length of a secret is not to be seen."""

    target_class = SecretDocument
    priority = 1

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """The document's schema."""
        schema = super().map_serializer(auto_schema, direction)
        if direction == "response":
            for name in cast(SecretDocument, self.target).secret_fields:
                schema["properties"][name] = {"type": "string", "description": "Redacted."}
        return schema
