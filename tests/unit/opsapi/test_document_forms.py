"""Forms of API documents with nested documents and rows: what they send, and where refusals are shown."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.utils.datastructures import MultiValueDict

from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import Document
from opsapi.api.errors import ApiError, BadField
from opsapi.api.fields import Flag, ListOf, Number, OneOf, Text, Whole
from opsapi.console.document_forms import DocumentForm
from opsapi.console.forms import CLEAR, SecretInput
from tests.each import each


class RuleDocument(Document):
    """A document of an array."""

    field = OneOf(["NAME", "PORT"])
    value = Text()
    strict = Flag(required=False, default=True)
    count = Whole(required=False)


class LimitDocument(Document):
    """A nested document."""

    threshold = Number()


class WholeDocument(Document):
    """A document with all of them."""

    name = Text()
    limit = LimitDocument(required=False)
    rules = ListOf(RuleDocument(), max_length=3, required=False)
    steps = ListOf(RuleDocument(), max_length=50)
    times = Whole(required=False)


class WholeForm(DocumentForm):
    """A form of the document."""

    document = WholeDocument
    parts = ("limit",)
    arrays = {"rules": "Rule", "steps": "Step"}

    def inputs(self) -> dict[str, Any]:
        return {**super().inputs(), "times": self.input_of("times", WholeDocument().fields["times"])}


class StoredForm(WholeForm):
    """The same with stored values."""

    def stored(self) -> Mapping[str, Any]:
        rules = [{"field": "NAME", "value": " a "}, {"field": "PORT", "value": "1", "strict": True}]
        return {"name": "stored", "limit": {"threshold": 5.0}, "rules": rules, "steps": rules[:1]}


def form_of(sent: dict[str, list[str]] | None, kind: type[WholeForm] = WholeForm) -> WholeForm:
    """The form after a browser sent this."""
    nobody: Any = None
    return kind(sent if sent is None else MultiValueDict(sent), operator=nobody)


def step(place: int, value: str = "first", **texts: str) -> dict[str, list[str]]:
    """A row as browsers send it."""
    said = {"field": "NAME", "value": value, **texts}
    return {f"steps[{place}].{name}": [text] for name, text in said.items()}


def body_of(form: DocumentForm) -> Mapping[str, Any]:
    """The request body."""
    assert form.is_valid(), form.errors
    return form.body()


def texts_of(form: DocumentForm) -> dict[str, Any]:
    """The shown values of the inputs that are not empty."""
    return {field.html_name: field.value() for field in form if field.value()}


def test_parts_and_rows_are_nested_in_the_body() -> None:
    sent = {"name": ["a"], "limit.threshold": ["2.5"], **step(0), "rules[0].field": ["PORT"]}
    assert body_of(form_of({**sent, "rules[0].value": ["1"], "rules[0].strict": ["on"]})) == {
        "name": "a",
        "limit": {"threshold": 2.5},
        "rules": [{"field": "PORT", "value": "1", "strict": True}],
        "steps": [{"field": "NAME", "value": "first", "strict": False}],
    }


def test_what_is_empty_is_left_out() -> None:
    sent = {"name": ["a"], "limit.threshold": [""], "times": [""], **step(0), "rules[0].value": [""]}
    assert set(body_of(form_of(sent))) == {"name", "steps"}


def test_rows_are_numbered_again_without_the_empty_and_the_removed_ones() -> None:
    sent = {
        "name": ["a"],
        **step(10, "last"),
        "steps[2].value": [""],
        "steps[2].strict": ["on"],
        **step(3, "removed", removed="on"),
        **step(4),
        "steps[x].value": ["ignored"],
    }
    form = form_of(sent)
    assert [row["value"] for row in body_of(form)["steps"]] == ["first", "last"]
    assert [row.name for row in form.row_part("steps").rows] == ["steps[0]", "steps[1]"]


def test_a_row_with_a_text_that_means_nothing_keeps_its_place() -> None:
    form = form_of({"name": ["a"], "steps[0].count": [" "], **step(1)})
    assert set(form.errors) == {"steps[0].field", "steps[0].value"}


@each(("sent", "read"), [(50, 50), (51, 51), (2_000, 51)])
def test_rows_are_read_up_to_one_more_than_the_limit(sent: int, read: int) -> None:
    rows: dict[str, list[str]] = {}
    for place in range(sent):
        rows |= step(place, f"n{place}")
    form = form_of({"name": ["a"], **rows})
    assert len(form.row_part("steps").rows) == read
    assert form["steps[0].value"].value() == "n0"
    assert form[f"steps[{read - 1}].value"].value() == f"n{read - 1}"
    assert form.is_valid() is (sent == 50)


def test_stored_values_are_shown_and_a_default_is_not_mixed_in() -> None:
    assert texts_of(form_of(None, StoredForm)) == {
        "name": "stored",
        "limit.threshold": "5",
        "rules[0].field": "NAME",
        "rules[0].value": " a ",
        "rules[1].field": "PORT",
        "rules[1].value": "1",
        "rules[1].strict": True,
        "steps[0].field": "NAME",
        "steps[0].value": " a ",
    }


def test_a_required_array_starts_with_a_row_that_has_defaults() -> None:
    assert texts_of(form_of(None)) == {"steps[0].strict": True}
    assert texts_of(form_of({"name": ["a"]})) == {"name": "a", "steps[0].strict": True}


@each(("part", "added"), [("rules", "rules[0].strict"), ("steps", "steps[1].strict")])
def test_the_button_adds_a_row_checks_nothing_and_keeps_what_was_typed(part: str, added: str) -> None:
    sent = {"add": [part], "times": ["often"], **step(0)}
    form = form_of(sent)
    shown = texts_of(form)
    assert (form.errors, form.is_valid()) == ({}, False)
    assert (shown["times"], shown["steps[0].value"], shown[added]) == ("often", "first", True)


def test_no_row_is_added_beyond_the_one_that_is_too_many() -> None:
    rules = {f"rules[{place}].value": ["x"] for place in range(4)}
    assert len(form_of({"add": ["rules"], **rules}).row_part("rules").rows) == 4


def test_the_script_gets_an_empty_row_with_defaults() -> None:
    blank = form_of({"name": ["a"]}).row_part("rules").blank
    assert blank.name == "rules[__n__]"
    assert [shown.field.value() for shown in blank.inputs] == [None, None, True, None]


class SecretForm(WholeForm):
    """A form with a stored secret in a row."""

    def row_inputs(self, part: str, row: str) -> dict[str, Any]:
        secret = SecretInput(label="Value", stored="****ab" if row else None)
        return {**super().row_inputs(part, row), "value": secret, f"value{CLEAR}": secret.removal()}

    def read(self) -> Mapping[str, Any]:
        return {}


@each(
    ("sent", "value"),
    [
        ({"steps[0].value": ["typed"]}, "typed"),
        ({"steps[0].value": [""]}, "****ab"),
        ({"steps[0].value": ["typed"], "steps[0].value.clear": ["on"]}, "typed"),
        ({"steps[0].value": [""], "steps[0].value.clear": ["on"]}, None),
    ],
)
def test_a_stored_secret_stays_unless_it_is_replaced_or_removed(
    sent: dict[str, list[str]], value: str | None
) -> None:
    form = form_of({"name": ["a"], "steps[0].field": ["NAME"], **sent}, SecretForm)
    assert form.is_valid()
    given = {} if value is None else {"value": value}
    assert form.body()["steps"] == [{"field": "NAME", "strict": False, **given}]


@each(
    ("path", "places"),
    [
        ("name", {"name"}),
        ("limit.threshold", {"limit.threshold"}),
        ("limit.unknown", {"__all__", "limit"}),
        ("steps[0].value", {"steps[0].value"}),
        ("steps[0].value[2].deep", {"steps[0].value"}),
        ("steps[0].unknown", {"__all__", "steps[0]"}),
        ("steps[7].value", {"__all__", "steps"}),
        ("steps", {"__all__", "steps"}),
        ("elsewhere.entirely[0]", {"__all__"}),
        ("a]b[", {"__all__"}),
    ],
)
def test_a_refusal_is_next_to_the_innermost_place_that_holds_its_field(path: str, places: set[str]) -> None:
    form = form_of({"name": ["a"], **step(0)})
    form.add_refusal(ApiError.of_fields([BadField(path, ErrorCode.INVALID_ATTRIBUTE, "is wrong")]))
    assert {*form.errors, *form.part_faults} == places


def test_a_refusal_names_what_is_allowed_and_the_row() -> None:
    form = form_of({"name": ["a"], **step(0)})
    bad = [
        BadField("name", ErrorCode.INVALID_ENUM_VALUE, "must be one", ["A", "B"]),
        BadField("steps[0]", ErrorCode.INVALID_ATTRIBUTE, "is wrong"),
    ]
    form.add_refusal(ApiError.of_fields(bad))
    assert form.errors["name"] == ["Must be one. Allowed: A, B."]
    assert form.non_field_errors() == ["Steps 1: Is wrong."]
    assert form.row_part("steps").rows[0].faults == ["Is wrong."]


@pytest.mark.parametrize("name", ["steps[0].value", "times"])
def test_every_wrong_input_keeps_its_text(name: str) -> None:
    sent = {"name": ["a"], **step(0), "steps[0].field": ["OTHER"], "times": ["often"]}
    form = form_of({**sent, "steps[0].value": ["\x07"]})
    assert {"steps[0].field", name} <= set(form.errors)
    assert texts_of(form)["times"] == "often"
