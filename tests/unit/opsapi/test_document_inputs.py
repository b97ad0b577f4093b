"""The inputs of the fields of API documents: the value of a text, and the text of a value."""

from typing import Any

from django.utils.datastructures import MultiValueDict

from opsapi.api.fields import Flag, ListOf, Number, OneOf, Option, Text, Whole
from opsapi.console.document_inputs import ApiField, document_input
from tests.each import each

WHOLE, NUMBER, FLAG, OPTION, TEXT = Whole(), Number(), Flag(), Option(), Text()
LINES = ListOf(Text())
CHOICES = ListOf(OneOf(["a", "b", "c"]))


def value_of(field: ApiField, texts: list[str], before: dict[str, Any] | None = None) -> Any:
    """The value that an input gives for what a browser sends."""
    asked = document_input("x", field, before=before)
    data = MultiValueDict({"x": texts} if texts else {})
    return asked.clean(asked.widget.value_from_datadict(data, MultiValueDict(), "x"))


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
        (OPTION, ["on"], {}, True),
        (OPTION, [], {}, None),
        (OPTION, [], {"x": True}, None),
        (OPTION, [], {"x": False}, False),
        (LINES, ["prod\r\n\r\n eu"], None, ["prod", " eu"]),
        (LINES, [""], None, None),
        (CHOICES, ["a", "b"], None, ["a", "b"]),
        (CHOICES, ["a", "b", "c"], {"x": ["c", "a", "z"]}, ["c", "a", "b"]),
        (CHOICES, [], {"x": ["c"]}, None),
    ],
)
def test_a_typed_text_gives_its_value(
    field: ApiField, texts: list[str], before: dict[str, Any] | None, value: Any
) -> None:
    assert value_of(field, texts, before) == value


@each(
    ("value", "text"),
    [(1000.0, "1000"), (0.5, "0.5"), (-3.0, "-3"), (1e22, "1e+22"), (1234567.25, "1234567.25")],
)
def test_a_number_is_shown_so_that_it_reads_back(value: float, text: str) -> None:
    assert document_input("x", NUMBER).prepare_value(value) == text
    assert value_of(NUMBER, [text]) == value


def test_texts_are_shown_on_lines() -> None:
    assert document_input("x", LINES).prepare_value(["prod", " eu"]) == "prod\n eu"


@each(("before", "ticked"), [(None, True), ({}, None), ({"x": False}, None)])
def test_only_a_new_document_starts_with_the_default_of_a_checkbox(
    before: dict[str, Any] | None, ticked: bool | None
) -> None:
    assert document_input("x", Flag(default=True), before=before).initial is ticked
