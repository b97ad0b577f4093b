"""Query parameters: what each accepts, and that every wrong parameter is named."""

from typing import Any

import pytest
from django.http import QueryDict
from django.test import RequestFactory

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.query import (
    ENVELOPE,
    EVERYWHERE,
    LISTING,
    Parameter,
    asks_for,
    read_choice,
    read_flag,
    read_identifier,
    read_query,
    read_whole,
)
from tests.each import each

KIND = Parameter(
    "kind", read_choice(["A", "B"]), code=ErrorCode.INVALID_ENUM_VALUE, allowed=("A", "B"), repeatable=True
)


@each(
    ("text", "expected"),
    [("1", 1), ("500", 500), ("1.0", 1), ("1.000", 1), ("007", 7)],
)
def test_a_whole_number_can_end_with_a_zero_fraction(text: str, expected: int) -> None:
    assert read_whole(1, 500)(text) == expected


@each(
    "text",
    ["", "0", "-1", "501", "1.5", "1e2", "0x10", " 1", "1 ", "1_0", "one", "١", "1.0.0", "9" * 40, "1\n"],
)
def test_anything_else_is_no_whole_number_in_the_range(text: str) -> None:
    with pytest.raises(ValueError, match="whole number from 1 to 500"):
        read_whole(1, 500)(text)


@each(("text", "expected"), [("true", True), ("FALSE", False), ("tRuE", True)])
def test_a_flag_is_read_in_any_case(text: str, expected: bool) -> None:
    assert read_flag(text) is expected


@each("text", ["", "1", "yes", "true ", "on"])
def test_anything_else_is_no_flag(text: str) -> None:
    with pytest.raises(ValueError, match="true or false"):
        read_flag(text)


def test_an_identifier_has_its_form() -> None:
    assert read_identifier("a" * 24) == "a" * 24
    with pytest.raises(ValueError, match="24 lower-case hex"):
        read_identifier("A" * 24)


def test_absent_parameters_have_their_defaults() -> None:
    assert read_query(QueryDict(""), [*EVERYWHERE, *LISTING, KIND]) == {
        "pretty": False,
        "envelope": False,
        "pageNum": 1,
        "itemsPerPage": 100,
        "includeCount": True,
        "kind": [],
    }


@each(
    ("query", "name", "expected"),
    [
        ("kind=A&kind=B&kind=A", "kind", ["A", "B", "A"]),
        ("pageNum=1&pageNum=2", "pageNum", 2),
        ("unknown=1", "kind", []),
        ("envelope=TRUE", "envelope", True),
    ],
)
def test_it_reads_sent_values(query: str, name: str, expected: Any) -> None:
    assert read_query(QueryDict(query), [*EVERYWHERE, *LISTING, KIND])[name] == expected


def test_every_wrong_parameter_is_named_with_its_allowed_values() -> None:
    with pytest.raises(ApiError) as refusal:
        read_query(QueryDict("pageNum=0&kind=C&kind=A&pretty=x"), [*EVERYWHERE, *LISTING, KIND])
    document = refusal.value.document()
    assert document["errorCode"] == "INVALID_QUERY_PARAMETER"
    assert [bad["field"] for bad in document["badFields"]] == ["pretty", "pageNum", "kind"]
    assert [bad.get("allowed") for bad in document["badFields"]] == [["true", "false"], None, ["A", "B"]]


@each(
    ("query", "text_of_fault"),
    [
        ("kind=C&kind=A&kind=D", ['must be one of A, B (sent: "C", "D")']),
        ("age=5&age=x&age=y&age=x", ["'x' is none", "'y' is none"]),
        ("kind=the", ['must be one of A, B (sent: "the")']),
    ],
)
def test_each_fault_of_a_repeated_parameter_is_named_once(query: str, text_of_fault: list[str]) -> None:
    with pytest.raises(ApiError) as refusal:
        read_query(QueryDict(query), [KIND, Parameter("age", _number, repeatable=True)])
    assert [fault.message for fault in refusal.value.bad_fields] == text_of_fault


def _number(text: str) -> int:
    if not text.isdigit():
        raise ValueError(f"{text!r} is none")
    return int(text)


@each(
    ("query", "expected"),
    [("", False), ("envelope=True", True), ("envelope=x", False), ("envelope=true&" + "a&" * 100_000, False)],
)
def test_a_flag_is_read_leniently_for_refusals(query: str, expected: bool) -> None:
    assert asks_for(RequestFactory().get("/", QUERY_STRING=query), ENVELOPE) is expected
