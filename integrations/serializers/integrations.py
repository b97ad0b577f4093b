"""Integrations as the API shows and takes them (contract 2.8, decisions 7)."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, cast

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from integrations.choices import IntegrationType, SecretKind
from integrations.selectors import IntegrationRow, integration_facts
from integrations.serializers.shapes import Reference, ShapedDocument
from integrations.types import INTEGRATION_TYPES
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.errors import BadField
from opsapi.api.examples import AN_ID, self_link
from opsapi.api.links import Links
from opsapi.api.schema import DocumentExtension
from opsapi.redaction import MASK


class TypedIntegration(Document):
    """An integration of one type: what stands beside `type` is the business of its `kind`.

    Context: `secrets`, those stored, in full; a redacted value stands for one of them.
    """

    refusals = (ErrorCode.REDACTED_VALUE_UNKNOWN,)
    kind: ClassVar[IntegrationKind]

    type = serializers.CharField(read_only=True)

    def _read_field(
        self, name: str, field: serializers.Field[Any, Any, Any, Any], raw: Any, values: dict[str, Any]
    ) -> Iterable[BadField]:
        if name not in self._secret_fields or not isinstance(raw, str) or MASK not in raw:
            return super()._read_field(name, field, raw, values)
        value = self._meant(self._secret_fields[name], raw, values)
        if value is None:
            message = "is not the redacted form of what is stored"
            return [BadField(name, ErrorCode.REDACTED_VALUE_UNKNOWN, message)]
        values[name] = value
        return ()

    @property
    def _secret_fields(self) -> Mapping[str, IntegrationField]:
        return {field.name: field for field in self.kind.fields if field.secret is not SecretKind.PLAIN}

    def _meant(self, field: IntegrationField, raw: str, values: Mapping[str, Any]) -> str | None:
        """The stored secret a redacted value stands for; None when there is none, or its URL changed."""
        stored: Mapping[str, str] = self.context.get("secrets", {})
        value = stored.get(field.name)
        moved = field.goes_with is not None and values.get(field.goes_with) != stored.get(field.goes_with)
        return None if value is None or field.shown(value) != raw or moved else value


class TypedIntegrationExtension(DocumentExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Tells the OpenAPI document which type a document is of, and what is answered redacted."""

    target_class = TypedIntegration
    priority = 1

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """The document's schema; its type is always the same, and the length of a secret not to be seen."""
        schema = super().map_serializer(auto_schema, direction)
        kind = cast(TypedIntegration, self.target).kind
        schema["properties"]["type"] = {"type": "string", "const": kind.type.value}
        if direction == "response":
            secrets = kind.secrets(schema["properties"])
            schema["properties"] |= {name: {"type": "string", "description": "Redacted."} for name in secrets}
        return schema


def _document(kind: IntegrationKind) -> type[TypedIntegration]:
    type_name = kind.type.value
    declared = {
        "__doc__": f"An integration of type {type_name}.",
        "__module__": __name__,
        "kind": kind,
        "request_example": {"type": type_name, **kind.example},
        "example": {
            "type": type_name,
            **kind.shown(kind.example),
            "links": self_link(f"/groups/{AN_ID}/integrations/{type_name}"),
        },
        **{field.name: field.form for field in kind.fields},
        "links": LinkDocument(many=True, read_only=True),
    }
    name = f"{type_name.title().replace('_', '')}Integration"
    return cast("type[TypedIntegration]", type(name, (TypedIntegration,), declared))


DOCUMENTS: Mapping[IntegrationType, type[TypedIntegration]] = {
    integration_type: _document(kind) for integration_type, kind in INTEGRATION_TYPES.items()
}


class IntegrationDocument(ShapedDocument):
    """An integration of any type.

    Context: `type`, which the path names; without it the document itself has to.
    """

    refusals = (
        ErrorCode.ATTRIBUTE_READ_ONLY,
        ErrorCode.INVALID_ENUM_VALUE,
        ErrorCode.REDACTED_VALUE_UNKNOWN,
    )
    example = DOCUMENTS[IntegrationType.CHAT_SERVICE].example
    request_example = DOCUMENTS[IntegrationType.CHAT_SERVICE].request_example

    def run_validation(self, data: Any = serializers.empty) -> dict[str, Any]:
        """The values by field name, as the document of its type reads them."""
        integration_type = IntegrationType(self.context.get("type") or data["type"])
        context = {**self.context, "stored": {"type": integration_type.value}}
        return DOCUMENTS[integration_type](context=context).run_validation(data)

    @classmethod
    def shape(cls, reference: Reference) -> dict[str, Any]:
        """One of the documents; what is sent need not say which, the path does."""
        return {"anyOf": [reference(document) for document in DOCUMENTS.values()]}


def present_integration(row: IntegrationRow, links: Links, *, alone: bool = False) -> dict[str, Any]:
    """An integration, secrets redacted."""
    group = f"/groups/{row['group_id']}"
    relations = {"group": group} if alone else {}
    path = f"{group}/integrations/{row['type']}"
    return {**integration_facts(row), "links": links.related(path, relations)}
