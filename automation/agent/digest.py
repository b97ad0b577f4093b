"""The client's side of HTTP Digest: `qop=auth` with SHA-256, or MD5 where that is all there is (RFC 7616).

urllib's own handler sends each request twice and repeats it up to five times; this one answers a challenge,
and uses its nonce for later requests with the next count.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

_ALGORITHMS = {"SHA-256": hashlib.sha256, "MD5": hashlib.md5}
"""By preference, the strongest first."""

_LONGEST = 8192
_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"  # noqa: S105 - the grammar of a token, not a secret
_PARAMETER = re.compile(rf'[ \t]*({_TOKEN})[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|({_TOKEN}))[ \t]*(?:,|$)')
_SCHEME = re.compile(rf"[ \t,]*({_TOKEN})(?:[ \t]+(?!=)|$)")


class NoChallenge(ValueError):  # noqa: N818 - it names what is missing, as RFC 7616 names it
    """The server offers no Digest that this client can answer."""


@dataclass
class Challenge:
    """What a server asks (RFC 7616 3.3), and how often its nonce was used."""

    realm: str
    nonce: str
    algorithm: str
    opaque: str | None
    uses: int = field(default=0)


def read_challenge(headers: Iterable[str]) -> Challenge:
    """The best challenge of the `WWW-Authenticate` headers of an answer.

    Raises:
        NoChallenge: when none is a Digest with qop `auth` and an algorithm this client knows.
    """
    offered = [found for header in headers for found in _digests(header[:_LONGEST])]
    for algorithm in _ALGORITHMS:
        for parameters in offered:
            usable = {"realm", "nonce"} <= parameters.keys() and "auth" in _listed(parameters.get("qop", ""))
            if usable and parameters.get("algorithm", "MD5").upper() == algorithm:
                opaque = parameters.get("opaque")
                return Challenge(parameters["realm"], parameters["nonce"], algorithm, opaque)
    raise NoChallenge("the platform offers no HTTP Digest with qop auth and SHA-256 or MD5")


def authorization(
    challenge: Challenge, *, username: str, password: str, method: str, uri: str, cnonce: str | None = None
) -> str:
    """The value of `Authorization` for a request (RFC 7616 3.4); counts one more use of the nonce."""
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
    """The parameters of each Digest challenge in a header, which may hold challenges of several schemes."""
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
    return [one.strip().lower() for one in text.split(",")]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _hash(algorithm: str, text: str) -> str:
    # The protocol names the algorithm; what protects the request beyond it is TLS.
    return _ALGORITHMS[algorithm](text.encode()).hexdigest()
