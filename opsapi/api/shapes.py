"""Documents that are no object with named fields, and what schemas of all documents have in common."""

from collections.abc import Callable, Mapping
from typing import Any, Literal, cast

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema

from opsapi.api.documents import Document
from opsapi.wire_json import JsonObject

Reference = Callable[[type[Document]], JsonObject]
"""The schema of another document, by reference."""

_ABOUT = ("description", "deprecated", "default")


def nullable(schema: Mapping[str, Any]) -> JsonObject:
    """The schema of what it describes, or null; one that describes nothing takes null anyway."""
    if "type" in schema:
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        wider = {**schema, "type": [*(one for one in types if one != "null"), "null"]}
        return wider | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})
    about = {name: schema[name] for name in _ABOUT if name in schema}
    rest = {name: value for name, value in schema.items() if name not in about}
    return {"anyOf": [rest, {"type": "null"}], **about} if rest else about


class ShapedDocument(Document):
    """A document whose schema is what `shape` says."""

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        """Its schema, whether it is sent or answered."""
        raise NotImplementedError


class ShapeExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Gives the shapes to drf-spectacular."""

    target_class = ShapedDocument
    match_subclasses = True
    priority = 1

    def map_serializer(
        self, auto_schema: AutoSchema, direction: Literal["request", "response"]
    ) -> JsonObject:
        """The schema with the document's example."""
        document = cast(ShapedDocument, self.target)

        def reference(other: type[Document]) -> JsonObject:
            component: Any = auto_schema.resolve_serializer(other, direction)
            return cast(JsonObject, component.ref)

        example = document.request_example if direction == "request" else document.sample()
        return {**document.shape(reference), "examples": [example]}
