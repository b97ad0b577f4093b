"""Integrations as the API shows and takes them (contract 2.8, decisions 7)."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from integrations.channels.slack import SLACK
from integrations.fields import FieldSet
from integrations.models import Integration
from integrations.selectors import integration_facts
from integrations.serializers.secrets import SecretDocument, SecretDocumentExtension
from integrations.types import INTEGRATION_TYPES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, LinkDocument, self_link
from opsapi.api.links import Links
from opsapi.api.resources import Facts
from opsapi.api.shapes import Reference, ShapedDocument
from opsapi.wire_json import JsonObject


class TypedIntegration(SecretDocument):
    """An integration of one type: `kind` has its fields next to `type`."""

    kind: ClassVar[FieldSet]
    of_others = frozenset(field.name for kind in INTEGRATION_TYPES.values() for field in kind.fields)

    type = serializers.CharField(read_only=True)


class TypedIntegrationExtension(SecretDocumentExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Adds the constant type of an integration document to the OpenAPI document."""

    target_class = TypedIntegration
    priority = 2

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> JsonObject:
        """The document's schema."""
        schema = super().map_serializer(auto_schema, direction)
        kind = cast(TypedIntegration, self.target).kind
        schema["properties"]["type"] = {"type": "string", "const": kind.type}
        return schema


def _document(kind: FieldSet) -> type[TypedIntegration]:
    type_name = kind.type
    declared = {
        "__doc__": f"An integration of type {kind.full_name}.",
        "__module__": __name__,
        "kind": kind,
        "secret_fields": kind.secret_fields,
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


DOCUMENTS: Mapping[str, type[TypedIntegration]] = {
    integration_type: _document(kind) for integration_type, kind in INTEGRATION_TYPES.items()
}


class IntegrationDocument(ShapedDocument):
    """An integration of any type.

    Context: `type` from the path; without it, the document must contain the type.
    """

    refusals = (
        ErrorCode.ATTRIBUTE_READ_ONLY,
        ErrorCode.INVALID_ENUM_VALUE,
        ErrorCode.REDACTED_VALUE_UNKNOWN,
    )
    example = DOCUMENTS[SLACK.type].example
    request_example = DOCUMENTS[SLACK.type].request_example

    def run_validation(self, data: Any = serializers.empty) -> JsonObject:
        """The values by field name, as the document of its type reads them."""
        integration_type = self.context.get("type") or data["type"]
        context = {**self.context, "stored": {"type": integration_type}}
        return DOCUMENTS[integration_type](context=context).run_validation(data)

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        """One of the documents; requests can leave out the type, because the path has it."""
        return {"anyOf": [reference(document) for document in DOCUMENTS.values()]}


def present_integration(integration: Integration, links: Links, *, alone: bool = False) -> Facts:
    """An integration, secrets redacted."""
    group = f"/groups/{integration.group_id}"
    relations = {"group": group} if alone else {}
    path = f"{group}/integrations/{integration.type}"
    return {**integration_facts(integration), "links": links.related(path, relations)}
