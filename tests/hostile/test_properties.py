"""Readers of outside text, each fed anything: a value or the one refusal it promises, never another error."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from django.http import QueryDict
from hypothesis import example, given
from hypothesis import strategies as st

from accesslist.digest import rules as digest
from alerting.configs.patterns import compile_regex
from opsapi import clock
from opsapi.api.bodies import read_json_array, read_json_object
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.fields import url_fault
from opsapi.api.query import EVERYWHERE, Parameter, read_query
from opsapi.ids import is_id, new_id
from opsapi.redaction import MASK, redact_token, redact_url
from tests.api.routes import ROUTES
from tests.each import each
from tests.hostile.budget import tries
from tests.hostile.outcome import outcome
from tests.hostile.values import HOSTILE, nested

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))
WIRE_TEXT = st.text(st.characters(max_codepoint=0xFF))
"""What WSGI hands over: one character for each octet."""

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT | st.sampled_from(HOSTILE),
    lambda inner: st.lists(inner) | st.dictionaries(ANY_TEXT, inner),
    max_leaves=20,
)
PARAMETERS = {
    parameter.name: parameter
    for route in ROUTES
    for parameter in (*EVERYWHERE, *route.viewset.parameters.get(route.action, ()))
}
"""Every query parameter; parameters of the same name are read in the same way."""

KEY = b"a key of these tests"
NOW = datetime(2099, 1, 1, tzinfo=UTC)
_PIECES = [
    "Digest ",
    "digest",
    " ",
    ",",
    "=",
    '"',
    "\\",
    "\t",
    "username",
    "realm",
    "nonce",
    "uri",
    "response",
]
_PIECES += ["qop", "nc", "cnonce", "algorithm", "auth", "MD5", "00000001", "0" * 32, "é", "\0", "a", '="a", ']
CREDENTIALS = WIRE_TEXT | st.lists(st.sampled_from(_PIECES), max_size=60).map("".join)
WHOLE = st.fixed_dictionaries(dict.fromkeys(("username", "realm", "nonce", "uri", "cnonce"), WIRE_TEXT))


# --- credentials ----------------------------------------------------------------------------------


@tries(20)
@given(header=CREDENTIALS)
def test_any_authorization_is_credentials_or_malformed(header: str) -> None:
    read, refusal = outcome(lambda: digest.parse(header), digest.MalformedCredentials)
    assert isinstance(read, digest.DigestCredentials) if refusal is None else refusal.reason


@tries(7)
@given(values=WHOLE)
def test_credentials_are_read_as_they_were_quoted(values: dict[str, str]) -> None:
    quoted = {name: _storable(value) for name, value in values.items()}
    listed = ", ".join(f'{name}="{_escaped(value)}"' for name, value in quoted.items())
    read = digest.parse(f'Digest {listed}, qop=auth, nc=00000001, response="{"a" * 32}"')
    assert {name: getattr(read, name) for name in quoted} == quoted


def _storable(value: str) -> str:
    """Without the controls no header can hold."""
    return "".join(character for character in value if character == "\t" or " " <= character != "\x7f")[:500]


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')


@pytest.mark.parametrize(
    "piece", ["a", "\\", '"', ",", "=", " ", "\t", '\\"', 'a="', "a=a,", 'a="a",', "a\t=\t"]
)
def test_credentials_are_read_in_linear_time(piece: str) -> None:
    def steps(length: int) -> int:
        header = f"Digest {piece * (length // len(piece))}"
        return _calls(lambda: digest.parse(header))

    assert steps(8000) <= 4 * steps(4000) + 100


def _calls(parse: Callable[[], object]) -> int:
    """Function calls a parse makes, whatever comes of it: a measure of work that knows no clock."""
    counted = 0

    def count(_frame: Any, event: str, _argument: Any) -> None:
        nonlocal counted
        counted += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        outcome(parse, digest.MalformedCredentials)
    finally:
        sys.setprofile(None)
    return counted


@tries(13)
@given(nonce=ANY_TEXT | st.text("ABCabc019_-=", min_size=30, max_size=34))
def test_a_nonce_of_nobody_is_not_valid(nonce: str) -> None:
    assert not digest.is_valid_nonce(nonce, KEY, NOW)


# --- bodies ---------------------------------------------------------------------------------------


@tries(20)
@given(body=st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
@example(body=json.dumps(nested(500)).encode())
@example(body=b"[" * 200_000)
@example(body=b'{"a":' * 50_000)
@example(body=b"1" * 5000)
@example(body=b'{"a": 1E400}')
@example(body=b'{"a": "\\ud800"}')
@example(body=b'\xef\xbb\xbf{"a": 1}')
@pytest.mark.parametrize(("read", "kind"), [(read_json_object, dict), (read_json_array, list)])
def test_any_body_is_a_document_or_invalid_json(
    read: Callable[[bytes], Any], kind: type, body: bytes
) -> None:
    found, refusal = outcome(lambda: read(body), ApiError)
    if refusal is None:
        assert isinstance(found, kind)
    else:
        assert refusal.code is ErrorCode.INVALID_JSON
        assert refusal.document()["detail"]


@tries(13)
@given(document=st.dictionaries(ANY_TEXT, JSON), at=st.integers(0), octets=st.binary(max_size=3))
def test_a_document_with_other_octets_in_it_is_one_or_invalid_json(
    document: dict[str, Any], at: int, octets: bytes
) -> None:
    body = json.dumps(document).encode()
    place = at % (len(body) + 1)
    for changed in (body[:place], body[:place] + octets + body[place:], body[:place] + octets):
        found, refusal = outcome(partial(read_json_object, changed), ApiError)
        assert isinstance(found, dict) if refusal is None else refusal.code is ErrorCode.INVALID_JSON


# --- values ---------------------------------------------------------------------------------------

_CLOCK = r"[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,10})?)?([Zz]|[+-][0-9]{2}:?[0-9]{2})?"
TIMES = st.from_regex(rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}({_CLOCK})?", fullmatch=True)


@tries(20)
@given(text=ANY_TEXT | TIMES)
@example(text="0001-01-01T00:00:00+14:00")
@example(text="9999-12-31T23:59:59-14:00")
@example(text="٢٠٢٦-١١-٢١T٠٧:٢٦:١٤Z")
def test_any_text_is_a_time_or_a_value_error(text: str) -> None:
    readers: list[Callable[[str], datetime]] = [
        clock.parse_time,
        lambda text: clock.parse_filter_time(text, end_of_day=False),
        lambda text: clock.parse_filter_time(text, end_of_day=True),
    ]
    for read in readers:
        moment, _ = outcome(partial(read, text), ValueError)
        if moment is None:
            continue
        assert moment.tzinfo is UTC
        assert clock.parse_time(clock.wire_time(moment)) == moment
        assert clock.second_after(moment) >= moment


@tries(13)
@given(text=ANY_TEXT | st.text("0123456789abcdefABCDEF", min_size=22, max_size=26))
def test_an_id_is_24_characters_of_lower_case_hex(text: str) -> None:
    assert is_id(text) == (len(text) == 24 and set(text) <= set("0123456789abcdef"))
    assert is_id(new_id())


@tries(13)
@given(pattern=ANY_TEXT | st.text("()[]{}*+?|^$.\\dwa0-9,:=!<>P", max_size=40), text=ANY_TEXT)
def test_any_pattern_compiles_or_is_a_value_error(pattern: str, text: str) -> None:
    for ignore_case in (False, True):
        compiled, refusal = outcome(partial(compile_regex, pattern, ignore_case), ValueError)
        if compiled is None:
            assert str(refusal)
        else:
            compiled.search(text.encode("utf-8", "replace").decode())


@tries(20)
@given(text=ANY_TEXT | st.builds("{}://{}".format, st.sampled_from(["http", "https", "HTTP"]), ANY_TEXT))
def test_any_url_is_called_or_refused_with_a_reason(text: str) -> None:
    if url_fault(text) is None:
        shown = redact_url(text)
        assert MASK in shown
        assert text.lower().startswith(("http://", "https://"))


@tries(13)
@given(secret=ANY_TEXT)
def test_a_shown_token_shows_at_most_its_last_four(secret: str) -> None:
    shown = redact_token(secret)
    assert shown.startswith(MASK)
    assert len(shown) <= len(MASK) + 4
    assert len(secret) > 8 or shown == MASK


# --- query parameters -----------------------------------------------------------------------------


@each("parameter", PARAMETERS.values(), ids=PARAMETERS)
def test_any_text_is_a_value_or_a_fault_of_its_parameter(parameter: Parameter) -> None:
    @tries(3)
    @given(texts=st.lists(ANY_TEXT | TIMES | st.sampled_from(["1.0", "true", "9" * 30, "-1"]), max_size=3))
    def read(texts: list[str]) -> None:
        query = QueryDict(mutable=True)
        query.setlist(parameter.name, texts)
        found, refusal = outcome(lambda: read_query(query, [parameter]), ApiError)
        if refusal is None:
            assert set(found or ()) == {parameter.name}
        else:
            assert refusal.code is parameter.code
            assert {fault.field for fault in refusal.bad_fields} == {parameter.name}

    read()
