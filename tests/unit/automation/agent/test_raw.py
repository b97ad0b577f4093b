"""Numbers of documents that are not decoded."""

from collections.abc import Mapping
from typing import Any

import bson
import pytest
from bson.errors import InvalidBSON
from bson.raw_bson import RawBSONDocument

from automation.agent.mongodb import metrics
from automation.agent.mongodb.metrics import Answers, numbers_of
from automation.agent.mongodb.raw import numbers_in
from tests.each import each
from tests.unit.automation.agent.recorded import recordings


def read(document: Mapping[str, Any]) -> dict[str, float]:
    """The numbers `a`, and `b` in the document `in`."""
    found: dict[str, float] = {}
    numbers_in(bson.encode(document), {b"a": "A", b"in": {b"b": "B"}}, found)
    return found


@each(
    ("document", "found"),
    [
        ({"a": 1, "in": {"b": 2.5}}, {"A": 1.0, "B": 2.5}),
        ({"x": "a", "a": bson.Int64(2**40), "in": {"x": {"b": 1}}}, {"A": float(2**40)}),
        ({"x": [1, {"a": 5}], "y": b"a", "z": None, "a": -3}, {"A": -3.0}),
        ({"a": True, "in": 7}, {}),
        ({"a": "1", "in": [{"b": 1}]}, {}),
        ({}, {}),
    ],
)
def test_only_the_named_numbers_are_read(document: Mapping[str, Any], found: Mapping[str, float]) -> None:
    assert read(document) == found


def test_elements_of_every_type_are_skipped() -> None:
    others = {
        "text": "text",
        "binary": b"octets",
        "id": bson.ObjectId(),
        "date": bson.DatetimeMS(1),
        "code": bson.Code("1"),
        "scope": bson.Code("1", {"a": 9}),
        "reference": bson.DBRef("c", 1),
        "moment": bson.Timestamp(1, 2),
        "decimal": bson.Decimal128("1.5"),
        "least": bson.MinKey(),
        "most": bson.MaxKey(),
        "long": bson.Int64(4),
    }
    assert read({**others, "a": 1}) == {"A": 1.0}


@each("place", range(4, 40))
def test_a_document_that_is_cut_is_refused(place: int) -> None:
    whole = bson.encode({"x": "text", "in": {"b": 1.5}, "a": 7})
    assert len(whole) > 40
    with pytest.raises(InvalidBSON):
        numbers_in(whole[:place], {b"a": "A"}, {})


@each(
    "octets", [b"", b"\xff\xff\xff\xff\x00", b"\x0c\0\0\0\x02a\0\xf0\xff\xff\xff\0", b"\x08\0\0\0\x0ba\0\0"]
)
def test_a_document_with_wrong_lengths_or_types_is_refused(octets: bytes) -> None:
    with pytest.raises(InvalidBSON):
        numbers_in(octets, {b"a": "A"}, {})


def test_the_numbers_of_a_server_are_the_numbers_of_the_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "has_c", lambda: False)
    for recording in recordings():
        sections = recording.polls[1]
        raw = {name: RawBSONDocument(bson.encode(part)) for name, part in sections.items()}
        found = numbers_of(Answers(raw, db_path=recording.db_path))
        assert found == numbers_of(Answers(sections, db_path=recording.db_path)), recording.kind
        assert len(found) > 50 or recording.kind == "arbiter"
