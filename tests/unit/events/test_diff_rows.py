"""The changes of an event as rows for reading."""

import json
from typing import Any

from events.choices import DiffType
from events.diffs import SHOWN_CHARACTERS, ChangedResource, DiffRow, Side, changed_resources, diff, side
from tests.each import each


def _rows(old: dict[str, Any] | None, new: dict[str, Any] | None) -> ChangedResource:
    (shown,) = changed_resources(diff(DiffType.ALERT_CONFIG, "x", old=old, new=new))
    return shown


def test_a_change_is_field_before_and_after() -> None:
    assert _rows({"enabled": True, "name": "a"}, {"enabled": False, "name": "a"}) == ChangedResource(
        kind="Alert configuration",
        status="Modified",
        resource_id="x",
        rows=(DiffRow("enabled", Side("true"), Side("false")),),
    )


@each(
    ("old", "new", "status", "row"),
    [
        (None, {"name": "a"}, "New", DiffRow("name", None, Side("a"))),
        ({"name": "a"}, None, "Removed", DiffRow("name", Side("a"), None)),
        ({"name": ""}, {"name": "a"}, "Modified", DiffRow("name", Side(""), Side("a"))),
    ],
)
def test_a_side_that_was_not_there_is_none_and_an_empty_one_is_empty(
    old: dict[str, Any] | None, new: dict[str, Any] | None, status: str, row: DiffRow
) -> None:
    shown = _rows(old, new)
    assert (shown.status, shown.rows) == (status, (row,))


@each(
    ("value", "expected"),
    [
        ("", Side("")),
        ("x" * SHOWN_CHARACTERS, Side("x" * SHOWN_CHARACTERS)),
        (
            "x" * (SHOWN_CHARACTERS + 1),
            Side("x" * (SHOWN_CHARACTERS - 1) + "…", "x" * (SHOWN_CHARACTERS + 1)),
        ),
        ("two\nlines", Side("two lines", "two\nlines")),
        ("{" * 1_000, Side("{" * (SHOWN_CHARACTERS - 1) + "…", "{" * 1_000)),
        ("[" * 100_000, Side("[" * (SHOWN_CHARACTERS - 1) + "…", "[" * 100_000)),
    ],
    ids=["empty", "as long as fits", "one more", "lines", "no JSON", "nested too deeply"],
)
def test_a_long_value_is_cut_and_its_whole_kept(value: str, expected: Side) -> None:
    assert side(value) == expected


def test_the_whole_of_a_document_is_laid_out_in_lines() -> None:
    value = [{"typeName": "WEBHOOK", "delayMin": number} for number in range(9)]
    after = _rows(None, {"notifications": value}).rows[0].after
    assert after is not None
    assert after.shown.startswith('[{"typeName":"WEBHOOK","delayMin":0},')
    assert after.whole == json.dumps(value, indent=2)


@each("value", ["[1e999]", '{"a":1,"a":2}', r'["\ud800"]', "[1.50]"])
def test_what_would_read_as_something_else_is_left_as_it_is(value: str) -> None:
    text = value + " " * SHOWN_CHARACTERS
    assert side(text).whole == text


def test_no_changes_are_no_rows() -> None:
    assert changed_resources([]) == []
