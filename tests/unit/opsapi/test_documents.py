"""Documents: exactly the declared fields, every wrong one named, in the documented order."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from math import inf
from typing import Any

import pytest
from rest_framework import serializers

from opsapi.api.bodies import render
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document, LinkDocument
from opsapi.api.errors import MOST_FAULTS, ApiError, BadField
from opsapi.api.fields import ListOf, OneOf, Text, Whole
from tests.each import each


class NestedDocument(Document):
    """A document inside another one."""

    older_names = {"old": "name"}

    name = Text(max_length=5)
    size = Whole(required=False, default=7)


class Whole_(Document):  # noqa: N801 - the field Whole has the name already
    """A document with one of everything."""

    ignored = frozenset({"typeName"})

    id = serializers.CharField(read_only=True)
    kind = OneOf(["A", "B"])
    parts = ListOf(NestedDocument(), missing_code=ErrorCode.MISSING_NOTIFICATIONS)
    notes = ListOf(Text(), required=False)
    part = NestedDocument(required=False)
    links = LinkDocument(many=True, read_only=True)

    def check(self, values: dict[str, Any], bad: frozenset[str]) -> Iterable[BadField]:
        """Too many parts for kind B."""
        if values.get("kind") == "B" and "parts" not in bad and len(values.get("parts", ())) > 1:
            return [BadField("parts", ErrorCode.INVALID_ATTRIBUTE, "is one with B")]
        return ()


GOOD: Mapping[str, Any] = {"kind": "A", "parts": [{"name": "a"}]}


def read(body: Mapping[str, Any], stored: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What the document makes of a body."""
    return Whole_(context={"stored": stored}).read(body)


def refusal(body: Mapping[str, Any], stored: Mapping[str, Any] | None = None) -> ApiError:
    """How the document refuses a body."""
    with pytest.raises(ApiError) as raised:
        read(body, stored)
    return raised.value


def test_an_absent_field_has_no_value_unless_it_has_a_default() -> None:
    assert read(GOOD) == {"kind": "A", "parts": [{"name": "a", "size": 7}]}


@each("absent", [None, []])
def test_null_and_an_empty_array_count_as_absent(absent: Any) -> None:
    assert read({**GOOD, "notes": absent}) == read(GOOD)


def test_null_counts_as_absent_in_nested_documents() -> None:
    assert read({**GOOD, "part": None, "parts": [{"name": "a", "size": None}]}) == read(GOOD)


@each("links", [[], [{"href": "x"}], [1, "\0", None], None])
def test_ignored_fields_and_arrays_of_links_are_not_looked_at(links: Any) -> None:
    part = {"name": "a", "links": links}
    body = {**GOOD, "typeName": "\ud800", "links": links, "parts": [part]}
    assert read(body) == read(GOOD)
    assert read(body, {"links": [{"href": "y"}]}) == read(GOOD)


@each("links", ["anything", "", {}, {"self": "x"}, 0, 5, False])
def test_links_that_are_no_array_are_refused(links: Any) -> None:
    error = refusal({**GOOD, "links": links, "parts": [{"name": "a", "links": links}]}, {"links": links})
    assert [(bad.field, bad.code) for bad in error.bad_fields] == [
        ("parts[0].links", ErrorCode.INVALID_ATTRIBUTE),
        ("links", ErrorCode.INVALID_ATTRIBUTE),
    ]


@each(
    ("change", "field", "code"),
    [
        ({"kind": None}, "kind", ErrorCode.MISSING_ATTRIBUTE),
        ({"kind": 1}, "kind", ErrorCode.INVALID_ATTRIBUTE),
        ({"kind": "C"}, "kind", ErrorCode.INVALID_ENUM_VALUE),
        ({"parts": []}, "parts", ErrorCode.MISSING_NOTIFICATIONS),
        ({"parts": None}, "parts", ErrorCode.MISSING_NOTIFICATIONS),
        ({"parts": {}}, "parts", ErrorCode.INVALID_ATTRIBUTE),
        ({"parts": ["a"]}, "parts[0]", ErrorCode.INVALID_ATTRIBUTE),
        ({"parts": [{}]}, "parts[0].name", ErrorCode.MISSING_ATTRIBUTE),
        ({"parts": [{"name": ""}]}, "parts[0].name", ErrorCode.INVALID_ATTRIBUTE),
        ({"parts": [{"name": "a", "x": 1}]}, "parts[0].x", ErrorCode.INVALID_ATTRIBUTE),
        ({"parts": [{"old": ""}]}, "parts[0].name", ErrorCode.INVALID_ATTRIBUTE),
        ({"parts": [{"old": "a", "name": "b"}]}, "parts[0].old", ErrorCode.INVALID_ATTRIBUTE),
        ({"part": []}, "part", ErrorCode.INVALID_ATTRIBUTE),
        ({"kind": "B", "parts": [{"name": "a"}] * 2}, "parts", ErrorCode.INVALID_ATTRIBUTE),
        ({"unknown": None}, "unknown", ErrorCode.INVALID_ATTRIBUTE),
        ({"KIND": "A"}, "KIND", ErrorCode.INVALID_ATTRIBUTE),
        ({"id": "x"}, "id", ErrorCode.ATTRIBUTE_READ_ONLY),
    ],
)
def test_it_refuses_a_wrong_field_by_its_path(change: dict[str, Any], field: str, code: ErrorCode) -> None:
    error = refusal({**GOOD, **change})
    assert [bad.field for bad in error.bad_fields] == [field]
    assert error.code is code


def test_an_older_name_sets_the_field() -> None:
    assert read({"kind": "A", "parts": [{"old": "a"}]}) == read(GOOD)


@each("part", [{"name": "a", "old": None}, {"old": None, "name": "a"}, {"name": None, "old": "a"}], ids=str)
def test_null_under_an_older_name_counts_as_absent(part: dict[str, Any]) -> None:
    assert read({"kind": "A", "parts": [part]}) == read(GOOD)


def test_every_wrong_field_is_named_at_once_in_the_documented_order() -> None:
    error = refusal({"other": 1, "notes": [1, "ok", ""], "parts": [{"name": 1}], "kind": "C", "id": "x"})
    assert [bad.field for bad in error.bad_fields] == [
        "id",
        "kind",
        "parts[0].name",
        "notes[0]",
        "notes[2]",
        "other",
    ]
    assert error.code is ErrorCode.ATTRIBUTE_READ_ONLY


def test_an_unknown_field_names_the_allowed_fields() -> None:
    shown = refusal({**GOOD, "unknown": 1}).document()["badFields"]
    assert shown[0]["allowed"] == ["kind", "notes", "part", "parts"]


@each(
    "change",
    [{f"unknown{number}": 1 for number in range(500)}, {"parts": ["x"] * 500}, {"notes": [""] * 500}],
    ids=["unknown", "parts", "notes"],
)
def test_at_most_a_hundred_wrong_fields_are_named(change: dict[str, Any]) -> None:
    assert len(refusal({**GOOD, **change}).bad_fields) == 100


@each("name", ["\0", "a\0b", "\ud800", "\udfffa"], ids=ascii)
def test_a_name_that_no_answer_can_show_is_a_fault_of_its_object(name: str) -> None:
    part = {"name": "", name: 1, "odd": 1, name * 2: 1}
    error = refusal({**GOOD, name: 1, name * 2: 1, "kind": "C", "parts": [part]})
    assert [bad.field for bad in error.bad_fields] == [
        "kind",
        "parts[0].name",
        "parts[0].odd",
        "parts[0]",
        "body",
    ]
    messages = {bad.message for bad in error.bad_fields if bad.field in {"parts[0]", "body"}}
    assert messages == {"its names must not contain NUL characters or lone surrogates"}
    assert render(error.document())


def test_values_that_cannot_be_stored_are_named_with_all_other_faults() -> None:
    part = {"name": "a\0", "size": inf}
    error = refusal(
        {**GOOD, "kind": "C", "parts": [part, {"name": "\ud800", "size": 10**400}], "notes": ["\0"]}
    )
    assert [(bad.field, bad.code) for bad in error.bad_fields] == [
        ("kind", ErrorCode.INVALID_ENUM_VALUE),
        ("parts[0].name", ErrorCode.INVALID_ATTRIBUTE),
        ("parts[0].size", ErrorCode.INVALID_ATTRIBUTE),
        ("parts[1].name", ErrorCode.INVALID_ATTRIBUTE),
        ("parts[1].size", ErrorCode.INVALID_ATTRIBUTE),
        ("notes[0]", ErrorCode.INVALID_ATTRIBUTE),
    ]
    assert render(error.document())


def test_a_very_long_unknown_name_is_cut() -> None:
    assert len(refusal({**GOOD, "x" * 5000: 1}).bad_fields[0].field) == 100


@each(("value", "refused"), [("x", False), (None, False), ("y", True)])
def test_a_read_only_field_accepts_only_the_stored_value(value: Any, refused: bool) -> None:
    body, stored = {**GOOD, "id": value}, {"id": "x"}
    if refused:
        assert refusal(body, stored).code is ErrorCode.ATTRIBUTE_READ_ONLY
    else:
        assert read(body, stored) == read(GOOD)


class Change(Whole_):
    """What changes the parts and notes of one; the rest may are there as it is."""

    writable = frozenset({"parts", "notes", "more"})

    more = Text(required=False)
    parts = ListOf(NestedDocument(), required=False)


def test_a_redeclared_field_keeps_its_place_and_new_fields_follow() -> None:
    assert list(Change().fields) == [*Whole_().fields, "more"]
    assert not Change().fields["parts"].required


def test_a_field_that_is_not_writable_can_be_absent_or_unchanged() -> None:
    change = Change(context={"stored": {"kind": "A"}})
    assert change.read({"notes": ["n"]}) == change.read({"notes": ["n"], "kind": "A"}) == {"notes": ["n"]}
    assert not Whole_().fields["kind"].read_only


def test_a_changed_field_that_is_not_writable_is_refused() -> None:
    with pytest.raises(ApiError) as raised:
        Change(context={"stored": {"kind": "A"}}).read({"more": 1, "part": {}, "parts": [{}], "kind": "B"})
    assert [(bad.field, bad.code) for bad in raised.value.bad_fields] == [
        ("kind", ErrorCode.ATTRIBUTE_READ_ONLY),
        ("parts[0].name", ErrorCode.MISSING_ATTRIBUTE),
        ("part", ErrorCode.ATTRIBUTE_READ_ONLY),
        ("more", ErrorCode.INVALID_ATTRIBUTE),
    ]


@each(
    "body",
    [
        {**GOOD, **{f"unknown{number}": 1 for number in range(MOST_FAULTS + 1)}},
        {**GOOD, "notes": [1] * (MOST_FAULTS + 1)},
        {**GOOD, "notes": [1] * MOST_FAULTS, "unknown": 1},
    ],
    ids=["unknown fields", "items", "both"],
)
def test_no_more_faults_are_named_than_an_answer_should_hold(body: Mapping[str, Any]) -> None:
    assert len(refusal(body).bad_fields) == MOST_FAULTS


def test_a_document_is_created_once_for_a_thread_and_forgets_its_context() -> None:
    with Whole_.within(stored={"id": "1"}) as first:
        assert first.read({**GOOD, "id": "1"})
        assert first.context == {"stored": {"id": "1"}}
    assert first.context == {}
    with Whole_.within() as second:
        assert second is first
        with pytest.raises(ApiError):
            second.read({**GOOD, "id": "1"})


def test_threads_share_no_document() -> None:
    def made() -> Document:
        with Whole_.within() as document:
            return document

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(made).result() is not made()
