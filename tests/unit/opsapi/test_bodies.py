"""Reading a body: strictly JSON, and an object; fields check its values."""

import io
import json
import tracemalloc
from math import inf
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIRequest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from opsapi import wire_json
from opsapi.api.bodies import read_body, read_json_object, render
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.wire_json import MAX_DEPTH, MAX_MARKS
from tests.each import each


def nested(depth: int) -> bytes:
    """An object in which arrays are nested so that the whole has this depth."""
    return b'{"a":' + b"[" * (depth - 1) + b"]" * (depth - 1) + b"}"


@each(
    ("body", "expected"),
    [
        (b"{}", {}),
        (b' {"a": 1, "b": [true, null, 1.5, "x"]} \n', {"a": 1, "b": [True, None, 1.5, "x"]}),
        ('{"é": "\U0001f600"}'.encode(), {"é": "\U0001f600"}),
        (b'{"a": "\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        (b'{"a": 1e308, "b": -0.0}', {"a": 1e308, "b": 0}),
        (b'{"a": %d}' % 10**100, {"a": 10**100}),
        (b'{"a": 1e400, "b": [-1e400]}', {"a": inf, "b": [-inf]}),
        (b'{"a": "\\u0000"}', {"a": "\0"}),
        (b'{"\\ud800": "\\udfff"}', {"\ud800": "\udfff"}),
    ],
)
def test_it_reads_a_json_object(body: bytes, expected: object) -> None:
    assert read_json_object(body) == expected


@each(
    "body",
    [
        b"",
        b"nonsense",
        b"{",
        b'{"a": 1,}',
        b'{"a": 1} {"b": 2}',
        b"{'a': 1}",
        b'{"a": 01}',
        b'{"a": NaN}',
        b'{"a": Infinity}',
        b'{"a": -Infinity}',
        b'{"a": "\xff"}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": 1, "a": 1}',
        b'{"b": {"a": 1, "a": 2}}',
        b'{"a": "\x01"}',
        nested(MAX_DEPTH + 1),
        nested(200_000),
    ],
)
def test_it_refuses_invalid_json(body: bytes) -> None:
    with pytest.raises(ApiError) as refusal:
        read_json_object(body)
    assert refusal.value.code is ErrorCode.INVALID_JSON


@each(
    ("body", "message"),
    [
        (b"", "invalid JSON at line 1, column 1"),
        (b'{"a": 1,\n "b": }', "invalid JSON at line 2, column 7"),
        (b'{"a": "\x01"}', "invalid JSON at line 1, column 8"),
        (b'\xef\xbb\xbf{"a": 1}', "it must be UTF-8 without a byte order mark"),
        ('{"a": 1}'.encode("utf-16"), "it is not UTF-8"),
        (b'{"a": "\xed\xa0\x80"}', "it is not UTF-8"),
        (b'{"a": -Infinity}', "-Infinity is not JSON"),
        (b'{"a": 1, "a": 1}', "the key 'a' is given twice"),
        (b'{"\\ud800": 1, "\\ud800": 1}', "the key '\\ud800' is given twice"),
        (b'{"a": 1, "b": 2, "c": 3, "b": 4, "a": 5}', "the key 'b' is given twice"),
        (nested(MAX_DEPTH + 1), "it is nested more than 64 deep"),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_faults_have_our_own_texts(body: bytes, message: str) -> None:
    with pytest.raises(ApiError) as refusal:
        read_json_object(body)
    assert refusal.value.parameters == [message]
    assert render(refusal.value.document())


@each("sign", ["", "-"])
@each("digits", [309, 400, 401, 5000, 1_000_000])
def test_an_integer_of_any_length_stays_beyond_every_double(sign: str, digits: int) -> None:
    found = read_json_object(f'{{"a": {sign}{"9" * digits}}}'.encode())["a"]
    assert isinstance(found, int)
    assert (found < 0) is (sign == "-")
    with pytest.raises(OverflowError):
        float(found)


@each("body", [b"[]", b"null", b"1", b'"text"', b"true"])
def test_json_that_is_no_object_is_refused_as_such(body: bytes) -> None:
    with pytest.raises(ApiError, match="INVALID_JSON") as refusal:
        read_json_object(body)
    assert refusal.value.parameters == ["it must be a JSON object"]


def test_it_reads_down_to_the_greatest_depth() -> None:
    assert "a" in read_json_object(nested(MAX_DEPTH))


HUGE = {
    "too many values": b'{"a":[' + b"0," * MAX_MARKS + b"0]}",
    "too many arrays": b'{"a":[' + b"[]," * MAX_MARKS + b"0]}",
    "too many ends": b'{"a":' + b"]" * MAX_MARKS,
    "too deep": nested(MAX_MARKS // 2),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", HUGE)
def test_a_body_of_too_large_a_structure_is_refused_before_it_is_parsed(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def parse(*_: Any, **__: Any) -> None:
        raise AssertionError("it was parsed")

    parser = SimpleNamespace(loads=parse, JSONDecodeError=json.JSONDecodeError)
    monkeypatch.setattr(wire_json, "json", parser)
    tracemalloc.start()
    try:
        with pytest.raises(ApiError) as refusal:
            read_json_object(HUGE[kind])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert refusal.value.code is ErrorCode.INVALID_JSON
    assert peak < 4 * len(HUGE[kind])


def test_a_body_may_have_so_many_commas_and_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire_json, "MAX_MARKS", 7)
    assert read_json_object(b'{"a":[1,2],"b":"["}') == {"a": [1, 2], "b": "["}
    with pytest.raises(ApiError) as refusal:
        read_json_object(b'{"a":[1,2],"b":"[,"}')
    assert refusal.value.parameters == ["it has more than 7 commas and brackets"]


@each("text", ["[" * 100, '"' + "[" * 100, '\\"' + "{" * 100, "\\" * 3 + "[" * 100])
def test_brackets_in_strings_do_not_nest(text: str) -> None:
    body = json.dumps({text: [text, {"a": text}]}).encode()
    assert read_json_object(body) == {text: [text, {"a": text}]}


_BRACKETED = st.text(alphabet='[]{}",\\a', max_size=8)


@given(st.recursive(_BRACKETED, lambda inner: st.lists(inner) | st.dictionaries(_BRACKETED, inner)))
def test_the_maximum_depth_is_exact(value: Any) -> None:
    depth = 1 + _depth(value)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(wire_json, "MAX_DEPTH", depth)
        body = json.dumps({"a": value}).encode()
        assert read_json_object(body) == {"a": value}
        patched.setattr(wire_json, "MAX_DEPTH", depth - 1)
        with pytest.raises(ApiError, match="INVALID_JSON"):
            read_json_object(body)


def _depth(value: Any) -> int:
    if not isinstance(value, (list, dict)):
        return 0
    parts = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, parts), default=0)


@given(st.lists(st.tuples(st.sampled_from(["", "a", "b", "\ud800", "\u00e9"]), st.integers()), max_size=6))
def test_a_key_is_refused_exactly_if_it_is_given_before(pairs: list[tuple[str, int]]) -> None:
    names = [name for name, _ in pairs]
    repeated = [name for place, name in enumerate(names) if name in names[:place]]
    members = ",".join(f"{json.dumps(name)}:{number}" for name, number in pairs)
    body = f'{{"below":[{{{members}}}]}}'.encode()
    if not repeated:
        assert read_json_object(body) == {"below": [dict(pairs)]}
        return
    with pytest.raises(ApiError) as refusal:
        read_json_object(body)
    assert refusal.value.parameters == [f"the key {repeated[0]!r} is given twice"]


@given(st.binary(max_size=200))
def test_no_bytes_do_anything_but_be_read_or_refused(body: bytes) -> None:
    try:
        read_json_object(body)
    except ApiError as refusal:
        assert refusal.code is ErrorCode.INVALID_JSON  # noqa: PT017 - being read is as good


class _BrokenOff(io.BytesIO):
    """A body whose sender breaks off, or breaks the framing."""

    def read(self, _size: int | None = -1, /) -> bytes:
        raise OSError("no more data")


@each("framing", [{"CONTENT_LENGTH": "10"}, {"wsgi.input_terminated": True}])
def test_a_body_that_does_not_arrive_whole_is_refused(framing: dict[str, Any]) -> None:
    environ = RequestFactory().post("/").environ | {
        "CONTENT_LENGTH": "",
        "wsgi.input": _BrokenOff(),
        **framing,
    }
    with pytest.raises(ApiError) as refused:
        read_body(WSGIRequest(environ), limit=100)
    assert refused.value.code is ErrorCode.INVALID_JSON
