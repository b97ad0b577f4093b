"""Read-only fields in what is sent: they may say what is stored, and nothing else."""

from collections.abc import Mapping
from math import inf
from typing import Any

from rest_framework import serializers

from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import ApiError
from opsapi.api.fields import Text, Whole
from tests.each import each
from tests.hostile.outcome import outcome


class PartDocument(Document):
    """A document inside another one."""

    name = Text()
    size = Whole()


class ShownDocument(Document):
    """Read-only fields of each JSON type."""

    flag = serializers.BooleanField(read_only=True)
    count = serializers.IntegerField(read_only=True)
    value = serializers.FloatField(read_only=True)
    created = serializers.DateTimeField(read_only=True)
    names = serializers.ListField(child=serializers.CharField(), read_only=True)
    inner = PartDocument(read_only=True)


STORED = {
    "flag": False,
    "count": 0,
    "value": 5.0,
    "created": "2026-11-21T07:26:14Z",
    "names": ["a"],
    "inner": {"name": "a", "size": 1},
}


def refused_fields(
    sent: Mapping[str, Any], stored: Mapping[str, Any] = STORED
) -> list[tuple[str, ErrorCode]]:
    """The read-only fields that are refused."""
    _, error = outcome(lambda: ShownDocument(context={"stored": stored}).read(sent), ApiError)
    return [(bad.field, bad.code) for bad in error.bad_fields] if error else []


@each(
    "sent",
    [
        STORED,
        {"value": 5},
        {"created": "2026-11-21T07:26:14+00:00"},
        {"created": "2026-11-21T08:26:14.999+01:00"},
        {"created": "2026-11-21t07:26:14"},
        {"names": None, "inner": None, "count": None, "created": None},
    ],
    ids=str,
)
def test_an_unchanged_value_is_accepted(sent: Mapping[str, Any]) -> None:
    assert refused_fields(sent) == []


@each(
    ("field", "value"),
    [
        ("flag", 0),
        ("flag", 0.0),
        ("flag", True),
        ("flag", "false"),
        ("count", False),
        ("count", 0.0),
        ("count", "0"),
        ("count", 1),
        ("count", []),
        ("value", "5.0"),
        ("value", True),
        ("value", inf),
        ("created", "2026-11-21T07:26:15Z"),
        ("created", "2026-11-21T07:26:14+01:00"),
        ("created", "2026-11-21"),
        ("created", "\0"),
        ("created", 0),
        ("created", []),
        ("names", []),
        ("names", ["a", "a"]),
        ("names", [1]),
        ("names", ["\ud800"]),
        ("names", "a"),
        ("names", {"0": "a"}),
        ("inner", {"name": "a", "size": True}),
        ("inner", {"name": "a", "size": 1.0}),
        ("inner", {"name": "a"}),
        ("inner", {"name": "a", "size": 1, "more": 1}),
        ("inner", []),
    ],
    ids=repr,
)
def test_a_changed_value_is_read_only(field: str, value: Any) -> None:
    assert refused_fields({field: value}) == [(field, ErrorCode.ATTRIBUTE_READ_ONLY)]


@each(("field", "refused"), [("names", False), ("count", True), ("inner", True)])
def test_an_empty_array_counts_as_absent_if_nothing_is_stored(field: str, *, refused: bool) -> None:
    assert [name for name, _ in refused_fields({field: []}, {})] == [field] * refused
