"""HTTP Digest client: `qop=auth` with SHA-256, or MD5 if the server offers nothing else (RFC 7616).

The handler of urllib sends each request twice and repeats it up to five times. This one answers a challenge
and reuses its nonce with the next count.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

_ALGORITHMS = {"SHA-256": hashlib.sha256, "MD5": hashlib.md5}
"""In order of preference, the strongest first."""

_LONGEST = 8192
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - the grammar of a token, not a secret
_PARAMETER = re.compile(rf'[ \t]*({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))[ \t]*(?:,|$)')
_SCHEME = re.compile(rf"[ \t,]*({_TOKEN})(?:[ \t]+(?!=)|$)")


class NoChallenge(ValueError):  # noqa: N818 - it names what is missing, as RFC 7616 names it
    """The server offers no Digest challenge that this client supports."""


@dataclass
class Challenge:
    """A challenge of the server (RFC 7616 3.3), with the use count of its nonce."""

    realm: str
    nonce: str
    algorithm: str
    opaque: str | None
    uses: int = field(default=0)


def read_challenge(headers: Iterable[str]) -> Challenge:
    """The best challenge in the `WWW-Authenticate` headers.

    Raises: NoChallenge: no challenge is a Digest with qop `auth` and a supported algorithm.
    """
    offered = [found for header in headers for found in _digests(header[:_LONGEST])]
    for algorithm in _ALGORITHMS:
        for parameters in offered:
            usable = {"realm", "nonce"} <= parameters.keys() and "auth" in _listed(parameters.get("qop", ""))
            if usable and parameters.get("algorithm", "MD5").upper() == algorithm:
                opaque = parameters.get("opaque")
                return Challenge(parameters["realm"], parameters["nonce"], algorithm, opaque)
    raise NoChallenge("the server does not offer HTTP Digest with qop=auth and SHA-256 or MD5")


def authorization(
    challenge: Challenge, *, username: str, password: str, method: str, uri: str, cnonce: str | None = None
) -> str:
    """The value of `Authorization` for a request (RFC 7616 3.4). Increments the use count of the nonce."""
    challenge.uses += 1
    cnonce = cnonce or secrets.token_hex(16)
    count = f"{challenge.uses:08x}"
    secret = _hash(challenge.algorithm, f"{username}:{challenge.realm}:{password}")
    request = _hash(challenge.algorithm, f"{method}:{uri}")
    answer = _hash(challenge.algorithm, f"{secret}:{challenge.nonce}:{count}:{cnonce}:auth:{request}")
    parts = [
        f"username={_quoted(username)}",
        f"realm={_quoted(challenge.realm)}",
        f"nonce={_quoted(challenge.nonce)}",
        f"uri={_quoted(uri)}",
        f'response="{answer}"',
        f"algorithm={challenge.algorithm}",
        "qop=auth",
        f"nc={count}",
        f'cnonce="{cnonce}"',
    ]
    if challenge.opaque is not None:
        parts.append(f"opaque={_quoted(challenge.opaque)}")
    return "Digest " + ", ".join(parts)


def _digests(header: str) -> list[dict[str, str]]:
    """The parameters of each Digest challenge in a header, which can contain several schemes."""
    found: list[dict[str, str]] = []
    scheme, position = "", 0
    while position < len(header):
        parameter = _PARAMETER.match(header, position)
        if parameter and scheme:
            if scheme == "digest":
                quoted, token = parameter[2], parameter[3]
                value = token if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
                found[-1][parameter[1].lower()] = value
            position = parameter.end()
            continue
        begins = _SCHEME.match(header, position)
        if begins is None:
            break
        scheme, position = begins[1].lower(), begins.end()
        if scheme == "digest":
            found.append({})
    return found


def _listed(text: str) -> list[str]:
    return [item.strip().lower() for item in text.split(",")]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _hash(algorithm: str, text: str) -> str:
    # The protocol fixes the algorithm. TLS protects the request.
    return _ALGORITHMS[algorithm](text.encode()).hexdigest()
