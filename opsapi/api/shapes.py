"""Documents that are not objects with named fields, and helpers for all schemas."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from opsapi.api.documents import Document
from opsapi.wire_json import JsonObject

Reference = Callable[[type[Document]], JsonObject]
"""Returns a reference to the schema of another document."""

_ABOUT = ("description", "deprecated", "default")


def nullable(schema: Mapping[str, Any]) -> JsonObject:
    """Return the schema extended by null. A schema without restrictions already accepts null."""
    if "type" in schema:
        types = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        wider = {**schema, "type": [*(name for name in types if name != "null"), "null"]}
        return wider | ({"enum": [*schema["enum"], None]} if "enum" in schema else {})
    about = {name: schema[name] for name in _ABOUT if name in schema}
    rest = {name: value for name, value in schema.items() if name not in about}
    return {"anyOf": [rest, {"type": "null"}], **about} if rest else about


class ShapedDocument(Document):
    """A document with the schema that `shape` returns, and an `example`, because it has no fields."""

    example: ClassVar[Any]

    @classmethod
    def sample(cls) -> Any:
        return cls.example

    @classmethod
    def shape(cls, reference: Reference) -> JsonObject:
        """Return the schema, for requests and responses."""
        raise NotImplementedError
