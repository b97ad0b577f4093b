"""Integrations and scraper discovery as the API shows and accepts them."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol, cast

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

from integrations.channels.slack import SLACK
from integrations.fields import FieldSet
from integrations.models import Integration
from integrations.redaction import Secrets
from integrations.selectors import integration_facts
from integrations.types import INTEGRATION_TYPES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, ANOTHER_ID, Document, LinkDocument, self_link
from opsapi.api.errors import BadField
from opsapi.api.links import Links
from opsapi.api.resources import Facts
from opsapi.api.schema import DocumentExtension
from opsapi.api.shapes import Reference, ShapedDocument
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
        schema = super().map_serializer(auto_schema, direction)
        if direction == "response":
            for name in cast(SecretDocument, self.target).secret_fields:
                schema["properties"][name] = {"type": "string", "description": "Redacted."}
        return schema


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
    group = f"/groups/{integration.group_id}"
    relations = {"group": group} if alone else {}
    path = f"{group}/integrations/{integration.type}"
    return {**integration_facts(integration), "links": links.related(path, relations)}


class TargetLabels(ShapedDocument):
    """The labels of a target: computed labels, and labels from the agent of the host."""

    example = {
        "group_id": AN_ID,
        "group_name": "payments",
        "org_id": ANOTHER_ID,
        "process_port": "27017",
        "cl_name": "orders",
        "rs_nm": "orders_0",
        "env": "production",
    }

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:  # noqa: ARG003 - it refers to no other
        """An object of strings. The labels from the agent have any other names."""
        text = {"type": "string"}
        return {
            "type": "object",
            "description": cls.__doc__,
            "properties": {
                "group_id": text,
                "group_name": text,
                "org_id": text,
                "process_port": text,
                "cl_name": {**text, "description": "Name of the cluster."},
                "rs_nm": {**text, "description": "Name of the replica set."},
            },
            "required": ["group_id", "group_name", "org_id"],
            "additionalProperties": text,
        }


class TargetGroup(Document):
    """A target and its labels."""

    example = {"targets": ["db1.example.com:9216"], "labels": TargetLabels.example}

    targets = serializers.ListField(child=serializers.CharField())
    labels = TargetLabels()


class DiscoveryDocument(ShapedDocument):
    """The targets of a project."""

    example: ClassVar[Any] = [TargetGroup.example]

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        return {"type": "array", "items": reference(TargetGroup)}
