"""Every field of every request refuses the values that the OpenAPI document excludes, under its own name.

The cases are derived from the document. For each field they are a value of another type, a text that is too
long or too short, a value outside the closed set, a number below the minimum or above the maximum, and null
if the field is required. Tests of the API have the rules between fields.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from automation.desired_state.resource import AutomationConfigDocument
from automation.turns.resource import NoFieldsDocument
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import ApiError
from tests.api.routes import ROUTES, Route
from tests.each import each
from tests.openapi import published

# The code of each kind of fault, if the field has no code of its own.
CODES = {"missing": ErrorCode.MISSING_ATTRIBUTE, "outside the set": ErrorCode.INVALID_ENUM_VALUE}
OWN_CODES = {
    ("acknowledgementComment", "too long"): ErrorCode.ACKNOWLEDGEMENT_COMMENT_TOO_LONG,
    ("alertTypeNames", "missing"): ErrorCode.MISSING_MAINTENANCE_WINDOW_ALERT_TYPE_NAME,
    ("endDate", "missing"): ErrorCode.MISSING_MAINTENANCE_WINDOW_END_DATE,
    ("metricName", "outside the set"): ErrorCode.INVALID_METRIC_NAME,
    ("notifications", "missing"): ErrorCode.MISSING_NOTIFICATIONS,
    ("startDate", "missing"): ErrorCode.MISSING_MAINTENANCE_WINDOW_START_DATE,
}
# The type of each JSON value, and a value of another type.
ANOTHER_TYPE = {"string": 5, "integer": "5", "number": "5", "boolean": "true", "array": {}, "object": []}


Place = tuple[str | int, ...]
"""The names and positions that lead to a field."""


class WrongValue(NamedTuple):
    """A wrong value in a request, and the place of its field."""

    place: Place
    value: Any
    kind: str

    @property
    def code(self) -> ErrorCode:
        """The code of the refusal."""
        in_general = CODES.get(self.kind, ErrorCode.INVALID_ATTRIBUTE)
        return OWN_CODES.get((str(self.place[-1]), self.kind), in_general)

    @property
    def names(self) -> set[str]:
        """The names that `badFields` can give it: of the field, or of the first item that is too many."""
        name = ""
        for part in self.place:
            name += f"[{part}]" if isinstance(part, int) else f".{part}" if name else part
        return {name, f"{name}[{len(self.value) - 1}]"} if isinstance(self.value, list) else {name}


def schema_of(route: Route) -> Mapping[str, Any]:
    """The schema of the body of a route, or of an item if the body is an array."""
    path = route.template.replace("<path:", "<").replace("<", "{").replace(">", "}")
    content = published()["paths"][path][route.method.lower()]["requestBody"]["content"]
    schema: Mapping[str, Any] = content["application/json"]["schema"]
    return resolved(schema["items"] if schema.get("type") == "array" else schema)


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema behind references, and without the alternative null."""
    if "$ref" in schema:
        found = published()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return resolved(found)
    for several in ("anyOf", "allOf"):
        if several in schema:
            first, *others = [some for some in schema[several] if some != {"type": "null"}]
            return resolved(first) if not others else schema
    return schema


def type_of(schema: Mapping[str, Any]) -> str | None:
    """The JSON type besides null; None if there are several."""
    types = schema.get("type", "string" if "enum" in schema else [])
    types = [types] if isinstance(types, str) else [name for name in types if name != "null"]
    return types[0] if len(types) == 1 else None


def faults(schema: Mapping[str, Any], example: Any, place: Place = ()) -> Iterator[WrongValue]:
    """Every fault of the fields of an object, with the valid rest of the example."""
    for name, declared in schema.get("properties", {}).items():
        field, below = resolved(declared), (*place, name)
        if name in schema.get("required", ()):
            yield WrongValue(below, None, "missing")
        for value, kind in wrong_values(field):
            yield WrongValue(below, value, kind)
        sample = example.get(name) if isinstance(example, Mapping) else None
        if type_of(field) == "object" and sample:
            yield from faults(field, sample, below)
        items = resolved(field.get("items", {}))
        if sample and isinstance(sample, list):
            for value, kind in [(None, "another type"), *wrong_values(items)]:
                yield WrongValue((*below, 0), value, kind)
            yield from faults(items, sample[0], (*below, 0))


def wrong_values(schema: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Values that a field must refuse, and the kind of fault."""
    if (kind := type_of(schema)) is None:
        return
    yield ANOTHER_TYPE[kind], "another type"
    if "enum" in schema:
        yield "NOT_IN_THE_SET", "outside the set"
    if "maxLength" in schema:
        yield "x" * (schema["maxLength"] + 1), "too long"
    if schema.get("minLength"):
        yield "", "too short"
    if "minimum" in schema:
        yield schema["minimum"] - 1, "too small"
    if "maximum" in schema:
        yield schema["maximum"] + 1, "too large"
    if "maxItems" in schema and schema["maxItems"] <= 1_000:
        yield [{}] * (schema["maxItems"] + 1), "too many"


def with_value(example: Any, place: Place, value: Any) -> Any:
    """A copy of the example with the value in its place."""
    if not place:
        return value
    first, *rest = place
    if isinstance(first, int):
        return [with_value(example[first], tuple(rest), value), *example[1:]]
    fields = example or {}
    return {**fields, first: with_value(fields.get(first), tuple(rest), value)}


# What the views say of the request: its project, if it has one, its time, its channel, and what is stored.
CONTEXT = {
    "group_id": None,
    "now": datetime(2026, 11, 21, 8, tzinfo=UTC),
    "type": "WEBHOOK",
    "stored": {"eventTypeName": "OUTSIDE_METRIC_THRESHOLD"},
}


def document_of(route: Route) -> type[Document]:
    """The document that a route reads."""
    declared = route.viewset.bodies[route.action]
    return declared[0] if isinstance(declared, list) else declared


# The service checks the automation configuration against its own schema. A pause takes no fields.
WITH_FIELDS = [
    route
    for route in ROUTES
    if route.takes_body and not issubclass(document_of(route), (AutomationConfigDocument, NoFieldsDocument))
]


@pytest.mark.django_db
@each("route", WITH_FIELDS)
def test_each_field_refuses_what_the_document_excludes(route: Route) -> None:
    schema, document = schema_of(route), document_of(route)
    example = schema["examples"][0]
    accepted = []
    for fault in faults(schema, example):
        with document.within(**CONTEXT) as reader:
            try:
                reader.read(with_value(example, fault.place, fault.value))
            except ApiError as error:
                refused = error
            else:
                accepted.append(fault)
                continue
        named = {(bad.field, bad.code) for bad in refused.bad_fields}
        assert named & {(name, fault.code) for name in fault.names}, (fault, named)
    assert accepted == []
