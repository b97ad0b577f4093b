"""Digest arithmetic against the vectors of the RFCs, and the parser against anything at all."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from accesslist.digest.rules import (
    MAX_HEADER_LENGTH,
    REALM,
    DigestCredentials,
    MalformedCredentials,
    challenge,
    ha1,
    parse,
    response,
    verify,
)
from tests.each import each

RFC_2617 = (
    'Digest username="Mufasa", realm="testrealm@host.com", '
    'nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", uri="/dir/index.html", qop=auth, nc=00000001, '
    'cnonce="0a4f113b", response="6629fae49393a05397450978507c4ef1", '
    'opaque="5ccc069c403ebaf9f0171e9517f40e41"'
)
RFC_7616 = (
    'Digest username="Mufasa", realm="http-auth@example.org", uri="/dir/index.html", algorithm=MD5, '
    'nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", nc=00000001, '
    'cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, '
    'response="8ca523f5e9506fed4657c9700eebdbec", '
    'opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"'
)
VALID = {
    "username": '"abc"',
    "realm": '"r"',
    "nonce": '"n"',
    "uri": '"/x?a=1,2"',
    "response": '"6629fae49393a05397450978507c4ef1"',
    "qop": "auth",
    "nc": "00000001",
    "cnonce": '"c"',
}


def header(**changed: str | None) -> str:
    """Build a valid header with some parameters changed, added, or (None) left out."""
    parameters = {**VALID, **changed}
    return "Digest " + ", ".join(f"{name}={value}" for name, value in parameters.items() if value is not None)


def quoted(value: str) -> str:
    """Quote a value as a client does (RFC 7230 3.2.6)."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@each(
    ("authorization", "password"),
    [
        pytest.param(RFC_2617, "Circle Of Life", id="RFC 2617 3.5"),
        pytest.param(RFC_7616, "Circle of Life", id="RFC 7616 3.9.1"),
    ],
)
def test_it_verifies_the_examples_of_the_rfcs(authorization: str, password: str) -> None:
    credentials = parse(authorization)
    known = ha1("Mufasa", credentials.realm, password)
    assert verify(credentials, known, "GET")
    assert not verify(credentials, known, "POST")
    assert not verify(credentials, ha1("Mufasa", credentials.realm, "another"), "GET")


def test_it_keeps_the_ha1_of_rfc_2617() -> None:
    assert ha1("Mufasa", "testrealm@host.com", "Circle Of Life") == "939e7578ed9e3c518a452acee763bce9"


def test_it_reads_every_parameter() -> None:
    assert parse(RFC_2617) == DigestCredentials(
        username="Mufasa",
        realm="testrealm@host.com",
        nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093",
        uri="/dir/index.html",
        response="6629fae49393a05397450978507c4ef1",
        nc="00000001",
        cnonce="0a4f113b",
    )


@each(
    "authorization",
    [
        pytest.param(header(), id="as it is"),
        pytest.param(header().replace("Digest", "dIGEST"), id="scheme in any case"),
        pytest.param(header(algorithm="md5"), id="algorithm in any case"),
        pytest.param(header(algorithm='"MD5"'), id="algorithm quoted"),
        pytest.param(header(qop='"auth"'), id="qop quoted"),
        pytest.param(header(nc='"00000001"'), id="nc quoted"),
        pytest.param(header(opaque='"x"', userhash="false"), id="unknown parameters"),
        pytest.param(header().replace(", ", ","), id="no space after a comma"),
        pytest.param(header().replace("=", " = "), id="space around equals"),
        pytest.param(header() + " ,", id="trailing comma"),
        pytest.param(header().replace(", ", ", ,\t"), id="empty list elements"),
        pytest.param(header().replace("nonce=", "NONCE="), id="names in any case"),
    ],
)
def test_it_reads_what_clients_send(authorization: str) -> None:
    assert parse(authorization).nc == "00000001"


@each(
    ("authorization", "reason"),
    [
        ("", "the scheme is not Digest"),
        ("Basic YTpi", "the scheme is not Digest"),
        ("Digest", "missing: username, realm, nonce, uri, response, qop, nc, cnonce"),
        (header(qop=None), "missing: qop"),
        (header(nc=None, cnonce=None), "missing: nc, cnonce"),
        (header(qop="auth-int"), "qop is not auth"),
        (header(qop='"auth,auth-int"'), "qop is not auth"),
        (header(algorithm="SHA-256"), "algorithm is not MD5"),
        (header(algorithm="MD5-sess"), "algorithm is not MD5"),
        (header(algorithm='""'), "algorithm is not MD5"),
        (header(nc="1"), "nc is not 8 hexadecimal characters"),
        (header(nc="000000001"), "nc is not 8 hexadecimal characters"),
        (header(nc="0000000g"), "nc is not 8 hexadecimal characters"),
        (header(response='"6629"'), "response is not 32 hexadecimal characters"),
        (header(response=f'"{"g" * 32}"'), "response is not 32 hexadecimal characters"),
        (header() + ', nonce="n"', "nonce is given twice"),
        (header() + ", x=1, X=2", "x is given twice"),
        (header(uri="/unquoted"), "no parameter can be read at character 36"),
        (header(username='"open'), "no parameter can be read at character 0"),
        (header(username='"a\x00b"'), "no parameter can be read at character 0"),
        (header(username='"\u20ac"'), "no parameter can be read at character 0"),
        (header().replace(",", ""), "no parameter can be read at character 0"),
    ],
)
def test_it_refuses_malformed_credentials(authorization: str, reason: str) -> None:
    with pytest.raises(MalformedCredentials) as caught:
        parse(authorization)
    assert caught.value.reason == reason


def test_it_reads_a_header_of_the_longest_length_and_refuses_one_more() -> None:
    longest = header(x=quoted("y" * (MAX_HEADER_LENGTH - len(header(x='""')))))
    assert len(longest) == MAX_HEADER_LENGTH
    assert parse(longest).username == "abc"
    with pytest.raises(MalformedCredentials, match="longer than 8192"):
        parse(longest + " ")


def test_it_takes_a_response_in_upper_case() -> None:
    shouted = RFC_2617.replace("6629fae49393a05397450978507c4ef1", "6629FAE49393A05397450978507C4EF1")
    assert verify(parse(shouted), "939e7578ed9e3c518a452acee763bce9", "GET")


@each(("stale", "flag"), [(False, "false"), (True, "true")])
def test_it_challenges_in_the_form_every_client_accepts(stale: bool, flag: str) -> None:
    assert challenge(REALM, "N", stale) == (
        f'Digest realm="Ops Public API", domain="", nonce="N", algorithm=MD5, qop="auth", stale={flag}'
    )


@pytest.mark.slow
@given(st.text() | st.text().map(lambda text: "Digest " + text) | st.text().map(lambda text: header() + text))
@example("Digest " + "a" * 5000 + "=")
@example('Digest a="' + "\\" * 8000)
@example("Digest " + ", " * 4000)
def test_parsing_raises_only_malformed_credentials(text: str) -> None:
    try:
        parse(text)
    except MalformedCredentials as error:
        assert error.reason  # noqa: PT017 - the parser may succeed as well


WIRE = st.text(st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40)


@given(username=WIRE, nonce=WIRE, uri=WIRE, cnonce=WIRE, nc=st.integers(0, 0xFFFFFFFF))
def test_it_verifies_what_a_client_builds(username: str, nonce: str, uri: str, cnonce: str, nc: int) -> None:
    known = ha1(username, REALM, "password")
    count = f"{nc:08x}"
    authorization = header(
        username=quoted(username),
        realm=quoted(REALM),
        nonce=quoted(nonce),
        uri=quoted(uri),
        cnonce=quoted(cnonce),
        nc=count,
        response=quoted(response(known, "GET", uri, nonce, count, cnonce)),
    )
    credentials = parse(authorization)
    assert (credentials.username, credentials.nonce, credentials.uri) == (username, nonce, uri)
    assert (credentials.cnonce, credentials.nc, credentials.realm) == (cnonce, count, REALM)
    assert verify(credentials, known, "GET")
