"""Documents that are no object with named fields: they say their schema themselves."""

from collections.abc import Callable
from typing import Any, Literal, cast

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema

from opsapi.api.documents import Document

Reference = Callable[[type[Document]], dict[str, Any]]
"""The schema of another document, by reference."""


class ShapedDocument(Document):
    """A document whose schema is what `shape` says."""

    @classmethod
    def shape(cls, reference: Reference) -> dict[str, Any]:
        """Its schema, whether it is sent or answered."""
        raise NotImplementedError


class ShapeExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # drf-spectacular is untyped
    """Tells drf-spectacular."""

    target_class = ShapedDocument
    match_subclasses = True
    priority = 1

    def map_serializer(
        self, auto_schema: AutoSchema, direction: Literal["request", "response"]
    ) -> dict[str, Any]:
        """The schema with the document's example."""
        document = cast(ShapedDocument, self.target)

        def reference(other: type[Document]) -> dict[str, Any]:
            component: Any = auto_schema.resolve_serializer(other, direction)
            return cast(dict[str, Any], component.ref)

        example = document.request_example if direction == "request" else document.example
        return {**document.shape(reference), "examples": [example]}
