"""Integrations and scraper discovery as the API shows and accepts them."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self, cast

from rest_framework import serializers

from integrations.channels.slack import SLACK
from integrations.fields import Field, FieldSet
from integrations.models import Integration
from integrations.redaction import Secrets
from integrations.selectors import integration_facts
from integrations.types import INTEGRATION_TYPES
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import AN_ID, ANOTHER_ID, Document, LinkDocument, self_link
from opsapi.api.errors import BadField
from opsapi.api.fields import ShownList
from opsapi.api.links import Links
from opsapi.api.resources import Facts
from opsapi.api.shapes import Reference, ShapedDocument
from opsapi.redaction import MASK
from opsapi.wire_json import JsonObject

UNREADABLE = "must be sent again: the stored value can no longer be decrypted"
UNKNOWN = "must be sent in full: it is not the redacted form of the stored value"


class TypedDocument(Document):
    """A document of one type: `kind` has its fields, next to the field `type_field` with its name.

    Context: `secrets` are the stored values of secrets in full, by name; None for a value that cannot be
    decrypted. A redacted value in a request means the stored value, as long as the URL that it goes with does
    not change.

    `of_others` are the fields of other types. Null or an empty array in such a field is accepted and ignored.
    """

    refusals = (ErrorCode.REDACTED_VALUE_UNKNOWN,)
    kind: ClassVar[FieldSet]
    type_field: ClassVar[str]
    of_others: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def of_kind(cls, kind: FieldSet, noun: str, **declared: Any) -> type[Self]:
        """The document of a type, with more declared fields and examples."""
        name = f"{kind.type.title().replace('_', '')}{noun.title()}"
        fields = {field.name: field.form for field in kind.fields}
        doc = f"{'An' if noun[0] in 'aeiou' else 'A'} {noun} of type {kind.full_name}."
        common = {"__doc__": doc, "__module__": cls.__module__, "kind": kind}
        return cast("type[Self]", type(name, (cls,), {**common, **fields, **declared}))

    def run_validation(self, data: Any = serializers.empty) -> JsonObject:
        if isinstance(data, Mapping):
            others = self.of_others - self.fields.keys()
            data = {
                name: value for name, value in data.items() if value not in (None, []) or name not in others
            }
        return super().run_validation(data)

    def _read_field(
        self, name: str, field: serializers.Field[Any, Any, Any, Any], raw: Any, values: JsonObject
    ) -> Iterable[BadField]:
        secret = self.kind.secret_fields.get(name)
        stored: Secrets = self.context.get("secrets", {})
        if secret is not None and isinstance(raw, Mapping):
            return self._read_members(secret, field, raw, values, stored)
        if secret is None or not _is_redacted(raw):
            return super()._read_field(name, field, raw, values)
        if why_not := _why_not(secret, raw, stored, values):
            return [BadField(name, ErrorCode.REDACTED_VALUE_UNKNOWN, why_not)]
        values[name] = stored[name]
        return ()

    def _read_members(
        self,
        secret: Field,
        field: serializers.Field[Any, Any, Any, Any],
        raw: Mapping[str, Any],
        values: JsonObject,
        stored: Secrets,
    ) -> Iterable[BadField]:
        """Read an object whose members are secrets: each redacted member means the stored member."""
        redacted = {name: text for name, text in raw.items() if _is_redacted(text)}
        faults = {
            name: _why_not(secret, text, stored, values, member=name) for name, text in redacted.items()
        }
        bad = [
            BadField(f"{secret.name}.{name}", ErrorCode.REDACTED_VALUE_UNKNOWN, why_not)
            for name, why_not in faults.items()
            if why_not
        ]
        if bad:
            return bad
        full = {name: stored[secret.name][name] if name in redacted else raw[name] for name in raw}
        return super()._read_field(secret.name, field, full, values)

    def check(self, values: JsonObject, bad: frozenset[str]) -> Iterable[BadField]:
        """Faults between the fields of the type, unless the fields themselves are wrong."""
        return () if bad else self.kind.faults(values)


def _is_redacted(raw: Any) -> bool:
    return isinstance(raw, str) and MASK in raw


def _why_not(
    field: Field, raw: str, stored: Secrets, values: Mapping[str, Any], *, member: str | None = None
) -> str | None:
    """Why a redacted value does not mean the stored secret, or its member; None if it does."""
    if field.name not in stored:
        return UNKNOWN
    value = stored[field.name]
    if value is None:
        return UNREADABLE
    shown = field.shown(value)
    if (shown if member is None else shown.get(member)) != raw:
        return UNKNOWN
    moved = field.goes_with is not None and values.get(field.goes_with) != stored.get(field.goes_with)
    return f"must be sent again, because {field.goes_with} was changed" if moved else None


class TypedIntegration(TypedDocument):
    """An integration of one type."""

    type_field = "type"
    of_others = frozenset(field.name for kind in INTEGRATION_TYPES.values() for field in kind.fields)

    type = serializers.CharField(read_only=True)

    @classmethod
    def sample(cls) -> Mapping[str, Any]:
        name = cls.kind.type
        shown = cls.kind.shown(cls.kind.example)
        return {"type": name, **shown, "links": self_link(f"/groups/{AN_ID}/integrations/{name}")}


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

    targets = ShownList(child=serializers.CharField(), example=["db1.example.com:9216"])
    labels = TargetLabels()


class DiscoveryDocument(ShapedDocument):
    """The targets of a project."""

    example: ClassVar[Any] = [TargetGroup.sample()]

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        return {"type": "array", "items": reference(TargetGroup)}
