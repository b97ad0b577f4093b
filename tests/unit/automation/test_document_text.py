"""The automation document as text: strictly JSON, and numbers as they were written."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from automation.desired_state.document.text import LONGEST_NUMBER, canonical, read, read_sent, write
from opsapi.api.bodies import render
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import MOST_FAULTS, ApiError
from tests.each import each

NUMBERS = [
    "0",
    "-0",
    "5",
    "5.0",
    "5.00",
    "-0.0",
    "1e5",
    "1E+5",
    "1e999",
    "-1e-999",
    "0.1000000000000000055511151231257827",
    "999999999999999999",
    "1000000000000000000",
    "9223372036854775808",
    "18446744073709551616",
    "-9223372036854775809",
    "1" * LONGEST_NUMBER,
    "0." + "1" * (LONGEST_NUMBER - 2),
]


def holding(number: str) -> str:
    """A document that holds the number."""
    return f'{{"number":{number}}}'


@each("number", NUMBERS, ids=lambda text: text[:40])
def test_a_number_is_written_as_it_was_read(number: str) -> None:
    text = holding(number)
    assert write(read(text)) == text


@each("number", ["5", "-0", "1" * 30])
def test_an_integer_is_an_integer(number: str) -> None:
    found = read(holding(number))["number"]
    assert isinstance(found, int)
    assert found == int(number)


@each("number", ["5.0", "1e5", "1e999"])
def test_a_number_with_a_fraction_or_an_exponent_is_no_integer(number: str) -> None:
    assert not isinstance(read(holding(number))["number"], int)


def test_the_order_of_keys_and_null_are_kept() -> None:
    text = '{"z":1,"a":null,"m":{"y":[],"b":"\\"é\\\\"}}'
    assert write(read(text)) == text


def test_bytes_are_read_as_well() -> None:
    assert read('{"é": 1}'.encode()) == {"é": 1}


def test_it_can_be_written_for_people() -> None:
    assert write(read('{"a":[5.0]}'), pretty=True) == '{\n  "a": [\n    5.0\n  ]\n}'


@each(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        "5",
        '{"a":1,"a":2}',
        '{"a":NaN}',
        '{"a":-Infinity}',
        b'{"a":' + b"[" * 64 + b"]" * 64 + b"}",
        b'{"a":"\xff"}',
    ],
    ids=lambda text: repr(text[:30]),
)
def test_what_is_no_json_is_refused(text: bytes | str) -> None:
    with pytest.raises(ApiError) as refusal:
        read(text)
    assert refusal.value.code is ErrorCode.INVALID_JSON


LONG = "1" * (LONGEST_NUMBER + 1)


@each(
    ("text", "places", "kept"),
    [
        ('{"a":"\\u0000","b":1}', ["/a"], {"a": None, "b": 1}),
        ('{"a":["x",{"b~/":"\\ud800"}]}', ["/a/1/b~0~1"], {"a": ["x", {"b~/": None}]}),
        ('{"a":{"\\udfff":"\\u0000","\\u0000":1,"b":"\\u0000"}}', ["/a", "/a/b"], {"a": {"b": None}}),
        ('{"\\u0000":1}', ["body"], {}),
        (f'{{"a":{LONG},"b":[-{LONG}]}}', ["/a", "/b/0"], {"a": None, "b": [None]}),
        (holding("0." + "1" * LONGEST_NUMBER), ["/number"], {"number": None}),
        (holding("1e1000000000000000000000"), ["/number"], {"number": None}),
        ('{"a":"\\ud83d\\ude00"}', [], {"a": "\U0001f600"}),
    ],
    ids=lambda value: ascii(value)[:40],
)
def test_what_cannot_be_kept_is_reported_and_not_handed_on(text: str, places: list[str], kept: Any) -> None:
    found, faults = read_sent(text)
    assert found == kept
    assert [(fault.field, fault.code) for fault in faults] == [
        (place, ErrorCode.INVALID_ATTRIBUTE) for place in places
    ]
    if places:
        with pytest.raises(ApiError) as refusal:
            read(text)
        assert list(refusal.value.bad_fields) == faults
        assert render(refusal.value.document())


def test_no_more_faults_are_reported_than_an_answer_should_hold() -> None:
    found, faults = read_sent('{"a":[' + '"\\u0000",' * 200 + "1]}")
    assert (found["a"], len(faults)) == ([None] * 200 + [1], MOST_FAULTS)


def test_it_writes_nothing_but_json() -> None:
    with pytest.raises(TypeError):
        write({"a": object()})


@each(
    ("text", "other", "same"),
    [
        ('{"a":1,"b":2}', '{"b":2,"a":1}', True),
        ('{"a":[1,2]}', '{"a":[2,1]}', False),
        ('{"a":1}', '{"a":true}', False),
        ('{"a":1}', '{"a":1.0}', False),
        ('{"a":1.0}', '{"a":1.00}', False),
        ('{"a":null}', "{}", False),
        ('{"a":"1"}', '{"a":1}', False),
    ],
)
def test_two_documents_are_the_same_when_their_json_is(text: str, other: str, *, same: bool) -> None:
    assert (canonical(read(text)) == canonical(read(other))) is same


values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda below: st.lists(below, max_size=4) | st.dictionaries(st.text(), below, max_size=4),
    max_leaves=30,
)


@given(st.dictionaries(st.text(), values, max_size=5))
def test_any_document_survives_reading_and_writing(document: dict[str, Any]) -> None:
    text = json.dumps(document)
    try:
        found = read(text)
    except ApiError:
        assert "\\u0000" in text
        return
    assert found == read(write(found))
    assert write(found) == write(read(write(found)))
    assert json.loads(write(found)) == document
