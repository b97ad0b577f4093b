"""Numbers of documents that are not decoded."""

from collections.abc import Mapping
from typing import Any

import bson
import pytest
from bson.errors import InvalidBSON

from automation.agent.mongodb.metrics import Answers, numbers_of
from automation.agent.mongodb.raw import RawDocument
from tests.each import each
from tests.unit.automation.agent.recorded import recordings


def read(document: Mapping[str, Any]) -> dict[str, float]:
    """The numbers `a`, and `b` in the document `in`."""
    found: dict[str, float] = {}
    RawDocument(bson.encode(document)).numbers({b"a": "A", b"in": {b"b": "B"}}, found)
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


OTHERS = {
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


def test_elements_of_every_type_are_skipped() -> None:
    assert read({**OTHERS, "a": 1}) == {"A": 1.0}


@each("place", range(4, 40))
def test_a_document_that_is_cut_is_refused(place: int) -> None:
    whole = bson.encode({"x": "text", "in": {"b": 1.5}, "a": 7})
    assert len(whole) > 40
    with pytest.raises(InvalidBSON):
        RawDocument(whole[:place]).numbers({b"a": "A"}, {})


@each(
    "octets", [b"", b"\xff\xff\xff\xff\x00", b"\x0c\0\0\0\x02a\0\xf0\xff\xff\xff\0", b"\x08\0\0\0\x0ba\0\0"]
)
def test_a_document_with_wrong_lengths_or_types_is_refused(octets: bytes) -> None:
    with pytest.raises(InvalidBSON):
        RawDocument(octets).numbers({b"a": "A"}, {})


def test_the_numbers_of_a_server_are_the_numbers_of_the_decoder() -> None:
    for recording in recordings():
        sections = recording.polls[1]
        raw = {name: RawDocument(bson.encode(part)) for name, part in sections.items()}
        found = numbers_of(Answers(raw, db_path=recording.db_path))
        assert found == numbers_of(Answers(sections, db_path=recording.db_path)), recording.kind
        assert len(found) > 50 or recording.kind == "arbiter"


def plain(value: Any) -> Any:
    """The value, with plain documents in place of raw documents."""
    if isinstance(value, RawDocument):
        return {name: plain(value[name]) for name in value}
    return [plain(item) for item in value] if isinstance(value, list) else value


def test_each_element_is_read_as_the_decoder_reads_it() -> None:
    for recording in recordings():
        for part in (recording.hello, *recording.polls[0].values()):
            octets = bson.encode(part)
            assert plain(RawDocument(octets)) == bson.decode(octets), recording.kind


def test_values_of_every_type_are_read_as_the_decoder_reads_them() -> None:
    octets = bson.encode({**OTHERS, "reference": None, "inside": [{"no": None}, "", [True, 1.5]]})
    document = RawDocument(octets)
    assert plain(document) == bson.decode(octets)
    assert (document.get("none", 7), "none" in document, "text" in document) == (7, False, True)
    with pytest.raises(KeyError):
        document["none"]


@each("octets", [b"\x0c\0\0\0\x02a\0\xf0\xff\xff\xff\0", b"\x08\0\0\0\x0ba\0\0", b"\xff\0\0\0\0", b""])
def test_an_element_of_a_document_that_is_not_valid_is_refused(octets: bytes) -> None:
    with pytest.raises(InvalidBSON):
        RawDocument(octets).get("a")


def test_a_date_that_no_calendar_has_is_refused() -> None:
    document = RawDocument(bson.encode({"a": bson.DatetimeMS(2**62)}))
    with pytest.raises(InvalidBSON):
        document["a"]
