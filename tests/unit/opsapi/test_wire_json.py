"""JSON as it is sent: every number that PostgreSQL may hand back."""

import json
from typing import Any

import pytest

from opsapi.wire_json import write_json
from tests.each import each


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
