"""Fields of documents: each accepts exactly one JSON type, within its bounds."""

from datetime import UTC, datetime
from math import inf
from typing import Any

import pytest

from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import InvalidField
from opsapi.api.errors import MOST_FAULTS
from opsapi.api.fields import (
    MAX_INTEGER,
    DateTime,
    EmailAddress,
    Flag,
    Identifier,
    ListOf,
    Number,
    OneOf,
    Text,
    VisibleText,
    WebUrl,
    Whole,
)
from tests.each import each

INVALID = ErrorCode.INVALID_ATTRIBUTE
ENUM = ErrorCode.INVALID_ENUM_VALUE
ID = "0123456789abcdef01234567"

TAKEN = [
    (Text(max_length=3), "abc"),
    (Text(max_length=3), " é "),
    (Text(min_length=0), ""),
    (Text(single_line=False), "a\nb"),
    (Text(), " "),
    (VisibleText(), " a "),
    (VisibleText(), "\u200ba"),
    (VisibleText(min_length=0), ""),
    (Whole(), 0),
    (Whole(), MAX_INTEGER),
    (Whole(min_value=-1), -1),
    (Number(), 1),
    (Number(), -1.5),
    (Number(), 1e308),
    (Flag(), True),
    (Flag(), False),
    (OneOf(["A", "B"]), "B"),
    (Identifier(), ID),
    (EmailAddress(), "ada@example.com"),
    (WebUrl(), "http://alert_manager:9093/hook"),
    (WebUrl(), "https://hooks.example.com:8443/a?b=c"),
    (WebUrl(), "http://[2001:db8::1]/hook"),
    (WebUrl(), "http://192.0.2.7:8080/hook"),
    (WebUrl(), f"http://{'a' * 63}.Example.com./"),
    (WebUrl(), "http://gateway/"),
    (ListOf(Text(), max_length=2), ["a", "a"]),
    (ListOf(Text()), []),
]

REFUSED = [
    (Text(), "", INVALID),
    (Text(max_length=3), "abcd", INVALID),
    (Text(), 1, INVALID),
    (Text(), True, INVALID),
    (Text(), ["a"], INVALID),
    (Text(), "a\nb", INVALID),
    (Text(), "a\x85b", INVALID),
    (Text(), "a\u2028b", INVALID),
    (Text(), "a\0b", INVALID),
    (Text(single_line=False), "a\0b", INVALID),
    (Text(), "\ud800", INVALID),
    (Text(single_line=False), "\udfff", INVALID),
    (VisibleText(), "", INVALID),
    (VisibleText(), " ", INVALID),
    (VisibleText(single_line=False), " \n\t", INVALID),
    (VisibleText(), "\u00a0\u3000\u2003", INVALID),
    (VisibleText(), "\u200b\u200d\ufeff\u2060", INVALID),
    (VisibleText(), "\u202e\u2066 \u200f", INVALID),
    (Whole(), -1, INVALID),
    (Whole(), MAX_INTEGER + 1, INVALID),
    (Whole(), 5.0, INVALID),
    (Whole(), True, INVALID),
    (Whole(), "5", INVALID),
    (Whole(min_value=5, range_code=ENUM), 4, ENUM),
    (Whole(min_value=5, range_code=ENUM), "4", INVALID),
    (Number(), "1", INVALID),
    (Number(), True, INVALID),
    (Number(), 10**400, INVALID),
    (Number(), inf, INVALID),
    (Number(), -inf, INVALID),
    (Whole(), inf, INVALID),
    (Whole(), -(10**400), INVALID),
    (Flag(), 1, INVALID),
    (Flag(), "true", INVALID),
    (OneOf(["A"]), "a", ENUM),
    (OneOf(["A"]), "", ENUM),
    (OneOf(["A"]), 1, INVALID),
    (OneOf(["A"], code=ErrorCode.INVALID_METRIC_NAME), "B", ErrorCode.INVALID_METRIC_NAME),
    (Identifier(), ID.upper(), INVALID),
    (Identifier(), ID + "\n", INVALID),
    (Identifier(), 1, INVALID),
    (DateTime(), "2026-11-21", INVALID),
    (DateTime(), 1763710000, INVALID),
    (EmailAddress(), "ada", ErrorCode.INVALID_EMAIL_ADDRESS),
    (EmailAddress(), "ada@example.com\n", INVALID),
    (EmailAddress(), 1, INVALID),
    (WebUrl(), "ftp://example.com/", INVALID),
    (WebUrl(), "https://ada:secret@example.com/", INVALID),
    (WebUrl(), "https://@example.com/", INVALID),
    (WebUrl(), "https:///path", INVALID),
    (WebUrl(), "https://example.com:0/", INVALID),
    (WebUrl(), "https://example.com:99999/", INVALID),
    (WebUrl(), "https://example.com\\@evil.example/", INVALID),
    (WebUrl(), "https://[::1/", INVALID),
    (WebUrl(), "https://example.com/" + "a" * 2000, INVALID),
    (WebUrl(), "http://h..example/", INVALID),
    (WebUrl(), "http://-h/", INVALID),
    (WebUrl(), "http://h-/", INVALID),
    (WebUrl(), "http://./", INVALID),
    (WebUrl(), "http://.example.com/", INVALID),
    (WebUrl(), f"http://{'a' * 64}.example/", INVALID),
    (WebUrl(), "http://" + "a.".join([""] * 128) + "example/", INVALID),
    (WebUrl(), "http://_a.example/", INVALID),
    (WebUrl(), "http://ex%61mple.com/", INVALID),
    (WebUrl(), "http://127.1/", INVALID),
    (WebUrl(), "http://256.0.0.1/", INVALID),
    (WebUrl(), "http://[2001:db8::1%25eth0]/", INVALID),
    (ListOf(Text(), max_length=1), ["a", "b"], INVALID),
    (ListOf(Text()), "a", INVALID),
    (ListOf(Text()), {"a": 1}, INVALID),
    (ListOf(Text(), unique=True), ["a", "b", "a"], INVALID),
]


@each(("field", "value"), TAKEN, ids=repr)
def test_it_takes_the_value_as_it_is(field: Any, value: Any) -> None:
    assert field.run_validation(value) == value


@each(("field", "value", "code"), REFUSED, ids=lambda value: ascii(value)[:40])
def test_it_refuses_everything_else(field: Any, value: Any, code: ErrorCode) -> None:
    with pytest.raises(InvalidField) as refusal:
        field.run_validation(value)
    assert [bad.code for bad in refusal.value.bad_fields] == [code]


def test_a_moment_is_in_utc_and_whole_seconds() -> None:
    moment = datetime(2026, 11, 21, 7, 26, 14, tzinfo=UTC)
    assert DateTime().run_validation("2026-11-21T08:26:14.9+01:00") == moment


@each("value", ["C", "", 1, True, ["A"], {}], ids=repr)
def test_a_refused_value_names_the_closed_set(value: Any) -> None:
    with pytest.raises(InvalidField) as refusal:
        OneOf(["A", "B"]).run_validation(value)
    assert list(refusal.value.bad_fields[0].allowed) == ["A", "B"]


def test_a_list_names_every_wrong_item() -> None:
    with pytest.raises(InvalidField) as refusal:
        ListOf(ListOf(Whole())).run_validation([[1, "x"], 2, [3, -1]])
    assert [bad.field for bad in refusal.value.bad_fields] == ["[0][1]", "[1]", "[2][1]"]


@each(
    ("data", "fields"),
    [
        (["a", "b", "a", "c", "b", "a"], ["[2]", "[4]", "[5]"]),
        (["a", "a", 1], ["[2]"]),
        (["a"] * (MOST_FAULTS + 2), [f"[{place}]" for place in range(1, MOST_FAULTS + 1)]),
    ],
    ids=["repeated", "wrong ones first", "very many"],
)
def test_a_unique_array_names_repeated_items(data: list[Any], fields: list[str]) -> None:
    with pytest.raises(InvalidField) as refusal:
        ListOf(Text(), unique=True).run_validation(data)
    assert [bad.field for bad in refusal.value.bad_fields] == fields
