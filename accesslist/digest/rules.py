"""HTTP Digest arithmetic: algorithm MD5, qop `auth` (RFC 7616, RFC 2617), and nonces that need no storage.

Text from a request is as WSGI passes it: each character is one octet of the request.

A nonce is 24 octets as 32 characters of url-safe base64: 6 octets of milliseconds since 1970, 6 random
octets and 12 octets of HMAC-SHA256 over both (RFC 7616 3.3, 5.4). Any process with the key can check it.
"""

import base64
import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Final

REALM: Final = "Ops Public API"
"""All stored HA1 are bound to this realm. It must not change while keys exist."""

MAX_HEADER_LENGTH: Final = 8192

_REQUIRED = ("username", "realm", "nonce", "uri", "response", "qop", "nc", "cnonce")

# Possessive quantifiers (`++`, `*+`) never backtrack, so a refusal takes linear time, too.
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]++"  # noqa: S105 - the grammar of a token, not a secret
_QUOTED = r'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]++|\\[\t \x21-\x7e\x80-\xff])*+"'
_PARAMETER = re.compile(rf"[ \t,]*+({_TOKEN})[ \t]*+=[ \t]*+({_QUOTED}|{_TOKEN})[ \t]*+(?=,|\Z)")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_HEX_8 = re.compile(r"[0-9A-Fa-f]{8}")
_HEX_32 = re.compile(r"[0-9A-Fa-f]{32}")


class MalformedCredentials(ValueError):  # noqa: N818 - a value's fault, named as RFC 7616 names the value
    """The Authorization header has no Digest credentials that the server can check; `reason` says why."""

    def __init__(self, reason: str) -> None:
        """Store the reason, which names parameters but never their values."""
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class DigestCredentials:
    """The Digest credentials of one request (RFC 7616 3.4), unescaped; nothing is verified yet."""

    username: str
    realm: str
    nonce: str
    uri: str
    response: str
    nc: str
    cnonce: str


def parse(header: str) -> DigestCredentials:
    """Read the value of an Authorization header, in time linear in its length (RFC 7616 3.4).

    Values may be quoted or tokens. Empty list elements and unknown parameters are ignored.
    Raises MalformedCredentials.
    """
    if len(header) > MAX_HEADER_LENGTH:
        raise MalformedCredentials(f"longer than {MAX_HEADER_LENGTH} characters")
    scheme, _, rest = header.partition(" ")
    if scheme.lower() != "digest":
        raise MalformedCredentials("the scheme is not Digest")
    parameters = _parameters(rest.rstrip(" \t,"))
    _check(parameters)
    given = {field.name: parameters[field.name] for field in fields(DigestCredentials)}
    return DigestCredentials(**{**given, "response": given["response"].lower()})


def ha1(username: str, realm: str, password: str) -> str:
    """Return the hash that is kept in place of the password (RFC 7616 3.4.2)."""
    return _md5(f"{username}:{realm}:{password}".encode())


def response(ha1: str, method: str, uri: str, nonce: str, nc: str, cnonce: str) -> str:  # noqa: PLR0917 - the order of RFC 7616 3.4.1
    """Return the response a client that knows the password sends (RFC 7616 3.4.1), 32 lower-case hex."""
    ha2 = _md5(f"{method}:{uri}".encode("latin-1"))
    return _md5(f"{ha1}:{nonce}:{nc}:{cnonce}:auth:{ha2}".encode("latin-1"))


def verify(credentials: DigestCredentials, ha1: str, method: str) -> bool:
    """Whether the response was computed with this HA1, compared in constant time.

    The caller compares username, realm and uri with its own, and checks nonce and nc.
    """
    c = credentials
    expected = response(ha1, method, c.uri, c.nonce, c.nc, c.cnonce)
    return hmac.compare_digest(expected, c.response)


def challenge(realm: str, nonce: str, stale: bool = False) -> str:
    """Return the value of WWW-Authenticate.

    Some clients refuse any other parameter and any other order.
    """
    flag = "true" if stale else "false"
    return f'Digest realm="{realm}", domain="", nonce="{nonce}", algorithm=MD5, qop="auth", stale={flag}'


def _parameters(text: str) -> dict[str, str]:
    parameters: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = _PARAMETER.match(text, position)
        if match is None:
            raise MalformedCredentials(f"no parameter can be read at character {position}")
        name = match[1].lower()
        if name in parameters:
            raise MalformedCredentials(f"{name} is given twice")
        parameters[name] = _unquoted(match[2])
        position = match.end()
    return parameters


def _unquoted(value: str) -> str:
    return _ESCAPED.sub(r"\1", value[1:-1]) if value.startswith('"') else value


def _check(parameters: Mapping[str, str]) -> None:
    missing = [name for name in _REQUIRED if name not in parameters]
    if missing:
        raise MalformedCredentials(f"missing: {', '.join(missing)}")
    if parameters.get("algorithm", "MD5").upper() != "MD5":
        raise MalformedCredentials("algorithm is not MD5")
    if parameters["qop"] != "auth":
        raise MalformedCredentials("qop is not auth")
    if not _HEX_8.fullmatch(parameters["nc"]):
        raise MalformedCredentials("nc is not 8 hexadecimal characters")
    if not _HEX_32.fullmatch(parameters["response"]):
        raise MalformedCredentials("response is not 32 hexadecimal characters")


def _md5(data: bytes) -> str:
    # The protocol requires MD5. The password is protected by the encryption of HA1 at rest.
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


NONCE_LIFETIME: Final = timedelta(seconds=300)
"""Lifetime of a nonce; a nonce of exactly this age has expired."""

NONCE_SKEW: Final = timedelta(seconds=5)
"""Maximum clock difference of two machines that share the key."""

_TIME_LENGTH = 6
_RANDOM_LENGTH = 6
_BODY_LENGTH = _TIME_LENGTH + _RANDOM_LENGTH
_MAC_LENGTH = 12
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SHAPE = re.compile(r"[A-Za-z0-9_-]{32}")


def mint_nonce(key: bytes, now: datetime) -> str:
    """Create a nonce for `now`, which has a time zone."""
    body = _milliseconds(now).to_bytes(_TIME_LENGTH, "big") + secrets.token_bytes(_RANDOM_LENGTH)
    return base64.urlsafe_b64encode(body + _mac(key, body)).decode("ascii")


def is_valid_nonce(nonce: str, key: bytes, now: datetime, not_before: datetime | None = None) -> bool:
    """Whether the nonce has our signature, is not too old at `now`, and at most NONCE_SKEW in the future.

    `not_before` is the start of the database's memory of used nonces; older nonces are too old.
    """
    if not _SHAPE.fullmatch(nonce):
        return False
    octets = base64.urlsafe_b64decode(nonce)
    body, mac = octets[:_BODY_LENGTH], octets[_BODY_LENGTH:]
    if not hmac.compare_digest(_mac(key, body), mac):
        return False
    born = int.from_bytes(body[:_TIME_LENGTH], "big")
    is_valid_nonce_age = not_before is None or born >= _milliseconds(not_before)
    return is_valid_nonce_age and _milliseconds(now - NONCE_LIFETIME) < born <= _milliseconds(
        now + NONCE_SKEW
    )


def _mac(key: bytes, body: bytes) -> bytes:
    # The label separates these codes from other uses of the same key.
    return hmac.digest(key, b"digest nonce:" + body, hashlib.sha256)[:_MAC_LENGTH]


def _milliseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(milliseconds=1)
