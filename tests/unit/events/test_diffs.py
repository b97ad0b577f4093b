"""Diffs: the changes between two documents, as events show them."""

from events.choices import DiffType
from events.diffs import diff
from tests.each import each

KIND = DiffType.ALERT_CONFIG


def test_nothing_changed_is_no_diff() -> None:
    document = {"name": "a", "tags": ["b"]}
    assert diff(KIND, "x", old=document, new=dict(document)) == []


def test_links_and_the_time_of_the_change_are_no_change() -> None:
    old = {"links": [], "updated": "2026-11-21T07:26:14Z"}
    assert diff(KIND, "x", old=old, new={"links": [1], "updated": "2026-11-21T07:26:15Z"}) == []


@each(
    ("old", "new", "status", "sides"),
    [
        (None, {"name": "a"}, "NEW", {"new": "a"}),
        ({"name": "a"}, None, "REMOVED", {"old": "a"}),
        ({"name": "a"}, {"name": "b"}, "MODIFIED", {"old": "a", "new": "b"}),
        ({"name": "a"}, {}, "MODIFIED", {"old": "a"}),
        ({"name": None}, {"name": "b"}, "MODIFIED", {"new": "b"}),
        ({"name": 1}, {"name": 2.5}, "MODIFIED", {"old": "1", "new": "2.5"}),
        ({"name": True}, {"name": False}, "MODIFIED", {"old": "true", "new": "false"}),
        (
            {"name": [{"a": 1}]},
            {"name": [{"a": "é"}]},
            "MODIFIED",
            {"old": '[{"a":1}]', "new": '[{"a":"é"}]'},
        ),
    ],
)
def test_a_change_is_shown_with_its_sides_as_text(
    old: dict[str, object] | None, new: dict[str, object] | None, status: str, sides: dict[str, str]
) -> None:
    assert diff(KIND, "x", old=old, new=new) == [
        {
            "id": "x",
            "type": "ALERT_CONFIG",
            "status": status,
            "params": [{"param": "name", "display": "name", **sides}],
        }
    ]


def test_only_what_changed_is_shown_in_the_documents_order() -> None:
    (shown,) = diff(KIND, "x", old={"a": 1, "b": 1, "c": 1}, new={"c": 2, "b": 1, "d": 1, "a": 2})
    assert [param["param"] for param in shown["params"]] == ["a", "c", "d"]
