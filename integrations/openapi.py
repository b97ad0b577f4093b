"""Describes documents of several types to drf-spectacular."""

from typing import cast

from drf_spectacular.openapi import AutoSchema

from integrations.choices import SecretKind
from integrations.fields import Field
from integrations.typed_documents import TypedDocument
from opsapi.api.schema import DocumentExtension
from opsapi.wire_json import JsonObject


class TypedDocumentExtension(DocumentExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Adds the constant type to the OpenAPI document, and marks secrets as redacted, without their length."""

    target_class = TypedDocument
    priority = 1

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> JsonObject:
        schema = super().map_serializer(auto_schema, direction)
        document = cast(TypedDocument, self.target)
        if direction == "response":
            for name in document.kind.secret_fields:
                schema["properties"][name] = _redacted_schema(document.kind.secret_fields[name])
        schema["properties"][document.type_field] = {"type": "string", "const": document.kind.type}
        return schema


def _redacted_schema(field: Field) -> JsonObject:
    text = {"type": "string", "description": "Redacted."}
    if field.secret is SecretKind.HEADERS:
        return {"type": "object", "additionalProperties": text}
    return text
