"""The changes of an event as rows for reading."""

import json
from typing import Any

from events.choices import DiffType
from events.diffs import (
    MOST_LEAVES,
    SHOWN_CHARACTERS,
    ChangedResource,
    DiffRow,
    QuantityWords,
    Side,
    change_summary,
    changed_resources,
    diff,
    document_of,
    side,
)
from opsapi.ids import new_id
from opsapi.wire_json import JsonObject
from tests.each import each


def _rows(
    old: dict[str, Any] | None, new: dict[str, Any] | None, quantity_words: QuantityWords | None = None
) -> ChangedResource:
    (shown,) = changed_resources(diff(DiffType.ALERT_CONFIG, "x", old=old, new=new), quantity_words)
    return shown


def _leaves(old: Any, new: Any) -> list[tuple[str, str | None, str | None]]:
    """The rows of a changed field, in words: field, before, after."""
    rows = _rows({"field": old}, {"field": new}, lambda number, units: f"{number:g} {units}").rows
    return [(row.field, _text(row.before), _text(row.after)) for row in rows]


def _text(of: Side | None) -> str | None:
    return of.shown if of else None


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


@each(
    ("old", "new", "expected"),
    [
        (
            {"a": 1, "b": {"delayMin": 2}},
            {"a": 1, "b": {"delayMin": 3}},
            [("Field · b · delay min", "2", "3")],
        ),
        ({"a": 1}, {"b": False}, [("Field · a", "1", None), ("Field · b", None, "false")]),
        ([1, 2, 2], [2, 3], [("Field", "1", None), ("Field", "2", None), ("Field", None, "3")]),
        ([1, 2], [2, 1], [("Field", "1, 2", "2, 1")]),
        (
            [{"id": "x", "n": 1}, {"id": "y", "n": 1}],
            [{"id": "y", "n": 2}, {"id": "z", "n": 1}],
            [("Field 1 · n", "1", "2"), ("Field", "n 1", None), ("Field", None, "n 1")],
        ),
        ([{"n": 1}], [{"n": 2}], [("Field", "n 1", None), ("Field", None, "n 2")]),
        ([{"id": "x"}, {"id": "x"}], [{"id": "x"}], [("Field", "", None)]),
        ([], [{"id": "x", "n": [1, 2]}], [("Field", None, "n 1, 2")]),
        (None, {"a": 1, "b": 2}, [("Field · a", None, "1"), ("Field · b", None, "2")]),
        ("text", {"a": 1}, [("Field", "text", "a 1")]),
        (
            {"threshold": 12.0, "units": "GB"},
            {"threshold": 14.0, "units": "GB"},
            [("Field · threshold", "12 GB", "14 GB")],
        ),
        (
            {"threshold": 12.0, "units": "GB"},
            {"threshold": 12.0, "units": "MB"},
            [("Field · threshold", "12 GB", "12 MB")],
        ),
    ],
    ids=[
        "documents",
        "fields",
        "elements",
        "order",
        "named elements",
        "elements without a name",
        "names that occur twice",
        "from nothing",
        "a new document",
        "another type",
        "threshold",
        "units",
    ],
)
def test_a_change_is_shown_by_leaf(old: Any, new: Any, expected: list[Any]) -> None:
    assert _leaves(old, new) == expected


def test_names_of_other_documents_stay_as_they_are() -> None:
    (row,) = _rows({"args2_6": {"replSet": "a"}}, {"args2_6": {"replSet": "b"}}).rows
    assert row.field == "args2_6 · replSet"


def test_the_whole_of_an_element_is_laid_out_in_lines() -> None:
    value = {"typeName": "WEBHOOK", "delayMin": 1}
    after = _rows({"notifications": []}, {"notifications": [value]}).rows[0].after
    assert after is not None
    assert after.whole == json.dumps(value, indent=2)


def test_most_leaves_are_shown_and_the_rest_is_counted() -> None:
    many = {"field": {str(number): number for number in range(MOST_LEAVES + 3)}}
    changed = _rows({"field": {}, "other": 1}, {**many, "other": 1})
    assert (len(changed.rows), changed.left_out) == (MOST_LEAVES, 3)


@each("value", ["[1e999]", '{"a":1,"a":2}', r'["\ud800"]', "[1.50]", "[" * 100_000])
def test_what_would_read_as_something_else_is_left_as_it_is(value: str) -> None:
    assert document_of(value) == value


def test_no_changes_are_no_rows() -> None:
    assert changed_resources([]) == []


def test_a_summary_of_several_resources_names_each_that_has_a_name() -> None:
    def upgraded(name: str) -> JsonObject:
        (changed,) = diff(DiffType.PROCESS, name, old={"version": "8.0.4"}, new={"version": "8.0.5"})
        return changed

    assert change_summary([upgraded("a_1")]) == "version: 8.0.4 → 8.0.5"
    both = "a_1, version: 8.0.4 → 8.0.5; a_2, version: 8.0.4 → 8.0.5"
    assert change_summary([upgraded("a_1"), upgraded("a_2")]) == both
    two_ids = [upgraded(new_id()), upgraded(new_id())]
    assert change_summary(two_ids) == "version: 8.0.4 → 8.0.5; version: 8.0.4 → 8.0.5"
