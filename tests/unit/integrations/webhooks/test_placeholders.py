"""Placeholders: what a document may hold, and what is inserted."""

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from integrations.messages import printable
from integrations.webhooks.placeholders import (
    LARGEST_DOCUMENT,
    MOST_PLACEHOLDERS,
    PLACEHOLDERS,
    faults_of,
    filled,
)
from integrations.webhooks.sample import sample_message
from integrations.webhooks.templates import own_template, request_of
from tests.each import each
from tests.unit.integrations.messages import make_message

URL = "https://hooks.example.com/in?topic=alerts%20%22x%22&token=0123"


def sent(body: Any, url: str = URL, **changes: Any) -> Any:
    """The document that a receiver reads."""
    return orjson.loads(request_of(own_template(body), url, make_message(**changes)).body)


@each(
    ("body", "expected"),
    [
        ({"a": "{{eventTypeName}}"}, {"a": "HOST_DOWN"}),
        ({"a": "<{{ eventTypeName }}>"}, {"a": "<HOST_DOWN>"}),
        ({"a": "{{eventTypeName:6}}"}, {"a": "HOST_…"}),
        ({"a": "{{eventTypeName:9}}"}, {"a": "HOST_DOWN"}),
        ({"a": "{{unixTime}}"}, {"a": 1795245974}),
        ({"a": "at {{unixTime}}"}, {"a": "at 1795245974"}),
        ({"a": "{{isTest}}", "b": "{{isTest}}."}, {"a": False, "b": "false."}),
        ({"a": "{{tags}}", "b": "[{{tags}}]"}, {"a": ["x", "y"], "b": "[x, y]"}),
        ({"a": "{{configLink}}", "b": None, "c": 1}, {"b": None, "c": 1}),
        ({"a": "{{configLink:9}}", "b": "x{{configLink}}"}, {"b": "x"}),
        (["{{configLink}}", None, "{{key}}"], [None, "6740a1b2c3d4e5f607080900"]),
        ({"a": "{{url.topic}}", "b": "{{url.other}}"}, {"a": 'alerts "x"'}),
        ({"a": [{"b": [True, 1.5, "} {{condition}} {"]}]}, {"a": [{"b": [True, 1.5, "} firing {"]}]}),
    ],
)
def test_it_inserts_values(body: Any, expected: Any) -> None:
    assert sent(body, document={"tags": ["x", "y"]}) == expected


def test_it_inserts_facts_as_members_and_as_lines() -> None:
    body = sent({"a": "{{facts}}", "b": "- {{facts}}"}, known={"Host": "db1"})
    assert body == {
        "a": {"State": "Open", "Severity": "Critical", "Host": "db1"},
        "b": "- State: Open\nSeverity: Critical\nHost: db1",
    }


def test_it_does_not_read_inserted_text_again() -> None:
    assert sent({"a": "{{what}}"}, headline="{{key}}") == {"a": "{{key}}"}


@each(
    ("body", "paths"),
    [
        ({"a": "{{titel}}"}, ["a"]),
        ({"a": [{"b": "ok"}, {"b": "{{ }}"}]}, ["a[1].b"]),
        ({"a": "{{title"}, ["a"]),
        ({"a": "{{{title}}}"}, []),
        ({"a": "{{title:0}}"}, ["a"]),
        ({"a": "{{title:4001}}"}, ["a"]),
        ({"a": "{{title|safe}}", "b": "{{word.colour}}"}, ["a", "b"]),
        ({"{{title}}": 1}, ["{{title}}"]),
        ({"a": "\x00", "b": "\ud800"}, ["a", "b"]),
        ({"a": float("inf"), "b": 2**63}, ["a", "b"]),
        ({}, [""]),
        ([], [""]),
        ("{{title}}", [""]),
        (None, [""]),
        ({"a": "x" * LARGEST_DOCUMENT}, [""]),
        ({"a": "{{key}}" * (MOST_PLACEHOLDERS + 1)}, [""]),
        ({"a": "{{key}}" * MOST_PLACEHOLDERS, "b": "{{url.topic}} {{title:4000}}"}, [""]),
        ({"a": "{{key}}" * MOST_PLACEHOLDERS, "b": [None, True, 1, 1.5, "}}"]}, []),
    ],
)
def test_it_refuses_documents_with_the_place_of_the_fault(body: Any, paths: list[str]) -> None:
    assert [fault.path for fault in faults_of(body)] == paths


def test_it_names_the_placeholders_that_exist() -> None:
    (fault,) = faults_of({"a": "{{titel}}"})
    assert set(PLACEHOLDERS) < set(fault.allowed)


def test_each_value_has_the_declared_type() -> None:
    python = {"string": str, "number": int, "boolean": bool, "object": dict, "array": list}
    values = {name: row.value(sample_message()) for name, row in PLACEHOLDERS.items()}
    assert {name: type(value) for name, value in values.items() if value is not None} == {
        name: python[row.type] for name, row in PLACEHOLDERS.items() if values[name] is not None
    }


@given(name=st.text(st.characters(), max_size=400))
def test_any_text_becomes_json_with_the_same_text(name: str) -> None:
    body = {"what": "{{what}}", "all": "{{title}}\n{{facts}} {{text}}", "list": "{{tags}}"}
    read = sent(body, headline=name, known={"Fact": name}, document={"tags": [name]})
    assert read["what"] == printable(name)
    assert read["list"] == [printable(name)]
    assert printable(name, 300) in read["all"]


@given(value=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50))
def test_any_parameter_of_the_url_becomes_json_with_the_same_text(value: str) -> None:
    assert filled({"a": "{{url.x}}", "b": "<{{url.x}}>"}, lambda _: value) == {"a": value, "b": f"<{value}>"}
