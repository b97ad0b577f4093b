"""JSON as it is sent: every number that PostgreSQL may hand back. JSON of requests, as it is read."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opsapi.wire_json import read_json, write_json
from tests.each import each
from tests.hostile.budget import tries


@each(
    ("number", "text"),
    [
        (2**64 - 1, b"18446744073709551615"),
        (2**64, b"1.8446744073709552e+19"),
        (-(2**63), b"-9223372036854775808"),
        (-(2**63) - 1, b"-9.223372036854776e+18"),
        (10**22, b"1e+22"),
        (10**308, b"1e+308"),
        (True, b"true"),
        (5, b"5"),
        (5.5, b"5.5"),
    ],
    ids=lambda value: value.decode() if isinstance(value, bytes) else "",
)
@each("pretty", [False, True])
def test_a_number_too_long_for_an_integer_is_a_double(number: Any, text: bytes, pretty: bool) -> None:
    assert write_json(number, pretty=pretty) == text


def test_it_is_found_however_deep_it_is() -> None:
    document = {"a": [{"b": 10**22, "c": (1, -(10**22))}], "d": [None, "x", True]}
    shown = write_json(document)
    assert shown == b'{"a":[{"b":1e+22,"c":[1,-1e+22]}],"d":[null,"x",true]}'
    assert json.loads(write_json(document, pretty=True)) == json.loads(shown)


def test_an_integer_beyond_a_double_is_written_in_digits() -> None:
    assert write_json([10**400]) == b"[1" + b"0" * 400 + b"]"


def test_a_value_that_is_not_json_is_an_error() -> None:
    with pytest.raises(TypeError):
        write_json({"a": {1, 2}})


_NUMBERS = st.one_of(
    st.sampled_from(["-0", "-0.0", "1e5", "1E400", "-1e-400", "1e16", "01", "NaN", "-Infinity", "1.", "tru"]),
    st.integers(-(2**70), 2**70).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
_STRINGS = st.sampled_from(
    [
        '""',
        '"a"',
        '"b,{"',
        '"]:"',
        '"1e+16"',
        '"\\u002c"',
        '"\\""',
        '"\\ud800"',
        '"\u00e9\U0001f600"',
        '"\\x"',
        '"\x01"',
    ]
)
_SPACE = st.sampled_from(["", " ", "\n"])


def _containers(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    member = st.tuples(_STRINGS, _SPACE, values).map(lambda parts: f"{parts[0]}{parts[1]}:{parts[2]}")
    return st.one_of(
        st.lists(values, max_size=4).map(lambda items: f"[{','.join(items)}]"),
        st.lists(member, max_size=4).map(lambda members: f"{{{','.join(members)}}}"),
        st.tuples(_SPACE, values, _SPACE).map("".join),
    )


_TEXTS = st.recursive(
    st.one_of(_NUMBERS, _STRINGS, st.sampled_from(["null", "true", "{", "]", ""])), _containers
)


def _value_or_fault(body: bytes | str) -> tuple[str, str]:
    """The value in the text with its types, or the fault."""
    try:
        return "value", repr(read_json(body))
    except ValueError as fault:
        return "fault", str(fault)


@tries(200)
@given(_TEXTS)
@example('{"a":1,"a":2}')
@example('{"a":[1,2],"b":{"c" :1, "c":","}}')
@example('{"a":1,"a":"\\u002c"}')
@example("[18446744073709551616,-9223372036854775809]")
@example("[18446744073709551615,-9223372036854775808,1e15,-0]")
def test_a_body_is_read_as_the_standard_parser_reads_it(text: str) -> None:
    assert _value_or_fault(text.encode()) == _value_or_fault(text)


def test_a_key_that_is_given_twice_is_refused() -> None:
    assert _value_or_fault(b'{"a":[1,2],"b":1,"a":3}') == ("fault", "the key 'a' is given twice")
