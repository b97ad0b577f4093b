"""HTTP Digest of the agent, held against the examples of RFC 7616 and the platform's own arithmetic."""

import pytest

from accesslist.digest import rules as server
from automation.agent.client import Challenge, NoChallenge, authorization, read_challenge
from tests.each import each

# RFC 7616 3.9.1.
CNONCE = "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"
NONCE = "7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v"
OPAQUE = "FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"
OFFERED = [
    f'Digest realm="http-auth@example.org", qop="auth, auth-int", algorithm={algorithm}, '
    f'nonce="{NONCE}", opaque="{OPAQUE}"'
    for algorithm in ("SHA-256", "MD5")
]


@each(
    ("offered", "response"),
    [
        (OFFERED, "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
        (OFFERED[1:], "8ca523f5e9506fed4657c9700eebdbec"),
        ([", ".join(reversed(OFFERED))], "753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1"),
    ],
)
def test_it_answers_the_example_of_the_rfc(offered: list[str], response: str) -> None:
    value = authorization(
        read_challenge(offered),
        username="Mufasa",
        password="Circle of Life",
        method="GET",
        uri="/dir/index.html",
        cnonce=CNONCE,
    )
    assert f'response="{response}"' in value
    assert "nc=00000001" in value
    assert f'opaque="{OPAQUE}"' in value


def test_the_platform_verifies_it_and_the_count_goes_up() -> None:
    challenge = read_challenge([server.challenge(server.REALM, "a" * 32)])
    for count in ("00000001", "00000002"):
        value = authorization(
            challenge, username="KEY", password="secret", method="POST", uri="/agents/v1.0/x"
        )
        credentials = server.parse(value)
        assert credentials.nc == count
        assert server.verify(credentials, server.ha1("KEY", server.REALM, "secret"), "POST")


@each(
    "headers",
    [
        [],
        ["Basic realm=x"],
        ["Digest"],
        ['Digest realm="a", nonce="b"'],
        ['Digest realm="a", nonce="b", qop="auth-int"'],
        ['Digest realm="a", nonce="b", qop="auth", algorithm=SHA-512-256'],
        ['Digest realm="a', "=,=,="],
    ],
)
def test_what_it_cannot_answer_is_refused(headers: list[str]) -> None:
    with pytest.raises(NoChallenge):
        read_challenge(headers)


def test_other_schemes_next_to_it_are_passed_over() -> None:
    header = 'Basic realm="a, b", Digest nonce="n", realm="r\\"s", qop="auth", Bearer, Negotiate abc=='
    assert read_challenge([header]) == Challenge('r"s', "n", "MD5", None)


def test_quotes_and_backslashes_of_a_realm_are_escaped() -> None:
    value = authorization(
        Challenge('r"s\\', "n", "MD5", None), username="u", password="p", method="POST", uri="/"
    )
    assert 'realm="r\\"s\\\\"' in value
