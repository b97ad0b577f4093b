"""The input of the alert configuration form: values, rows, and the field of each refusal."""

from typing import Any

from alerting.forms.config_documents import (
    faults_of,
    number_text,
    renumbered,
    rows_of,
    texts_of,
    value_of,
)
from alerting.forms.config_inputs import Input
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import BadField
from opsapi.api.fields import Flag, ListOf, Number, OneOf, Text, Whole
from tests.each import each


def typed_email(place: int = 0, **texts: str) -> dict[str, list[str]]:
    """A row of an e-mail notification as browsers send it."""
    said = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", **texts}
    return {f"notifications[{place}].{name}": [text] for name, text in said.items()}


WHOLE = Input("x", Whole())
NUMBER = Input("x", Number())
FLAG = Input("x", Flag())
LINES = Input("x", ListOf(Text()))
CHOICES = Input("x", ListOf(OneOf(["a", "b", "c"])))
SECRET = Input("x", Text(), is_secret=True)
TEXT = Input("x", Text())


@each(
    ("field", "texts", "before", "value"),
    [
        (TEXT, [], None, None),
        (TEXT, [""], None, None),
        (TEXT, [" as it is "], None, " as it is "),
        (WHOLE, ["5"], None, 5),
        (WHOLE, [" 5 "], None, 5),
        (WHOLE, ["-1"], None, -1),
        (WHOLE, ["5.0"], None, "5.0"),
        (WHOLE, ["٥"], None, "٥"),
        (WHOLE, ["five"], None, "five"),
        (WHOLE, ["  "], None, None),
        (WHOLE, ["9" * 20], None, 10**20 - 1),
        (WHOLE, ["9" * 21], None, "9" * 21),
        (NUMBER, ["1000"], None, 1000.0),
        (NUMBER, [".5"], None, 0.5),
        (NUMBER, ["1e3"], None, 1000.0),
        (NUMBER, ["1e400"], None, "1e400"),
        (NUMBER, ["nan"], None, "nan"),
        (NUMBER, ["1,5"], None, "1,5"),
        (NUMBER, [""], None, None),
        (FLAG, ["on"], None, True),
        (FLAG, [], None, False),
        (FLAG, [], {"x": True}, False),
        (FLAG, [], {"x": False}, False),
        (FLAG, [], {}, None),
        (LINES, ["prod\r\n\r\neu"], None, ["prod", "eu"]),
        (LINES, [""], None, None),
        (CHOICES, ["a", "b"], None, ["a", "b"]),
        (CHOICES, ["a", "b", "c"], {"x": ["c", "a", "z"]}, ["c", "a", "b"]),
        (CHOICES, [], {"x": ["c"]}, None),
        (SECRET, ["typed"], {"x": "******last"}, "typed"),
        (SECRET, [""], {"x": "******last"}, "******last"),
        (SECRET, [""], {}, None),
        (SECRET, [""], None, None),
    ],
)
def test_a_typed_text_gives_its_value(
    field: Input, texts: list[str], before: dict[str, Any] | None, value: Any
) -> None:
    assert value_of(field, {"x": texts}, before) == value


def test_a_secret_is_taken_away_by_its_box_unless_one_is_typed() -> None:
    before = {"x": "******last"}
    assert value_of(SECRET, {"x": [""], "x.clear": ["on"]}, before) is None
    assert value_of(SECRET, {"x": ["typed"], "x.clear": ["on"]}, before) == "typed"


@each(
    ("value", "text"),
    [(1000.0, "1000"), (0.5, "0.5"), (-3.0, "-3"), (1e22, "1e+22"), (1234567.25, "1234567.25")],
)
def test_a_number_is_shown_so_that_it_reads_back(value: float, text: str) -> None:
    assert number_text(value) == text
    assert value_of(NUMBER, {"x": texts_of(NUMBER, value)}) == value


def test_rows_are_counted_again_without_the_empty_and_the_removed_ones() -> None:
    typed = {
        "eventTypeName": ["HOST_DOWN"],
        **typed_email(10),
        "notifications[2].typeName": [""],
        "notifications[2].emailEnabled": ["on"],
        **typed_email(3, removed="on"),
        "matchers[1].operator": [""],
        "matchers[2].value": ["on"],
        **typed_email(4, emailAddress="first@example.com"),
        "notifications[x].typeName": ["EMAIL"],
    }
    assert [row["emailAddress"] for row in rows_of(typed, "notifications")] == [
        ["first@example.com"],
        ["oncall@example.com"],
    ]
    assert rows_of(typed, "matchers") == [{"value": ["on"]}]
    assert renumbered(typed) == {
        "eventTypeName": ["HOST_DOWN"],
        "notifications[x].typeName": ["EMAIL"],
        "matchers[0].value": ["on"],
        **typed_email(0, emailAddress="first@example.com"),
        **typed_email(1),
    }


NAMES = {
    "eventTypeName",
    "matchers",
    "matchers[0].value",
    "metricThreshold",
    "notifications",
    "notifications[1]",
    "notifications[1].intervalMin",
    "notifications[1].roles",
}


@each(
    ("field", "name"),
    [
        ("eventTypeName", "eventTypeName"),
        ("matchers[0].value", "matchers[0].value"),
        ("matchers[1].value", "matchers"),
        ("notifications[1].intervalMin", "notifications[1].intervalMin"),
        ("notifications[1].roles[2]", "notifications[1].roles"),
        ("notifications[1].unknown", "notifications[1]"),
        ("notifications[0].id", "notifications"),
        ("notifications", "notifications"),
        ("metricThreshold.units", "metricThreshold"),
        ("elsewhere.entirely[0]", None),
        ("", None),
        ("a]b[", None),
    ],
)
def test_a_refusal_is_next_to_the_innermost_input_that_holds_its_field(field: str, name: str | None) -> None:
    bad = BadField(field, ErrorCode.INVALID_ATTRIBUTE, "is wrong")
    assert faults_of([bad], NAMES) == [(name, "Is wrong.")]


def test_a_refusal_names_what_is_allowed() -> None:
    bad = BadField("eventTypeName", ErrorCode.INVALID_ENUM_VALUE, "must be one", ["A", "B"])
    assert faults_of([bad], NAMES) == [("eventTypeName", "Must be one. Allowed: A, B.")]


@each(("sent", "read"), [(50, 50), (51, 51), (2_000, 51)])
def test_rows_are_read_up_to_one_more_than_the_limit(sent: int, read: int) -> None:
    typed: dict[str, list[str]] = {}
    for place in range(sent):
        typed |= typed_email(place, emailAddress=f"n{place}@example.com")
        typed[f"matchers[{place}].value"] = ["db"]
    kept = renumbered(typed)
    assert len(kept) == read * len([*typed_email(), "value"])
    assert f"notifications[{read}].typeName" not in kept
    assert [row["emailAddress"] for row in rows_of(typed, "notifications")][-1] == [
        f"n{read - 1}@example.com"
    ]
    assert len(rows_of(typed, "matchers")) == read
