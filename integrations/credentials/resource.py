"""Integrations as the API shows and accepts them."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from integrations.channels.slack import SLACK
from integrations.credentials.models import Integration
from integrations.credentials.store import integration_facts
from integrations.typed_documents import TypedDocument
from integrations.types import INTEGRATION_TYPES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, LinkDocument, self_link
from opsapi.api.links import Links
from opsapi.api.resources import Facts
from opsapi.api.shapes import Reference, ShapedDocument
from opsapi.wire_json import JsonObject


class TypedIntegration(TypedDocument):
    """An integration of one type."""

    type_field = "type"
    of_others = frozenset(field.name for kind in INTEGRATION_TYPES.values() for field in kind.fields)

    type = serializers.CharField(read_only=True)

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        name = cls.kind.type
        facts = cls.kind.shown(cls.kind.example)
        return {"type": name, **facts, "links": self_link(f"/groups/{AN_ID}/integrations/{name}")}


DOCUMENTS: Mapping[str, type[TypedIntegration]] = {
    name: TypedIntegration.of_kind(
        kind,
        "integration",
        request_example={"type": name, **kind.example},
        links=LinkDocument(many=True, read_only=True),
    )
    for name, kind in INTEGRATION_TYPES.items()
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
    example = DOCUMENTS[SLACK.type].sample()
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

    @classmethod
    def present(cls, integration: Integration, links: Links, *, alone: bool = False) -> Facts:
        """Return an integration; `alone`: it is not in a list."""
        group = f"/groups/{integration.group_id}"
        relations = {"group": group} if alone else {}
        path = f"{group}/integrations/{integration.type}"
        return {**integration_facts(integration), "links": links.related(path, relations)}
