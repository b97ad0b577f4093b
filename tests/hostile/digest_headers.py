"""Authorization headers that no client should send, each derived from a valid header."""

import random
from collections.abc import Callable, Mapping

from accesslist.digest import rules as digest

Parameters = list[tuple[str, str]]
"""Names of parameters and their values as they are written, quotes included."""

QUOTED = frozenset({"username", "realm", "nonce", "uri", "cnonce", "response"})
TEXTS = [
    "",
    '""',
    '"',
    '"\\',
    '"a\\"',
    "a b",
    "'a'",
    "é",
    '"é"',
    '"\u00ff\u00fe"',
    '"\0"',
    '"a\tb"',
    "*",
    '"%00"',
    "=",
    '"a", "b"',
    '"' + "a" * 5000 + '"',
    "a" * 600,
    '"' + "\\" * 900 + '"',
    '"' + '\\"' * 900 + '"',
    "true",
    "-1",
    "0" * 32,
    '"' + "f" * 32 + '"',
]
"""What any parameter may say."""

ODD_VALUES: Mapping[str, list[str]] = {
    "algorithm": ["MD5-sess", "SHA-256", "SHA-512-256", '"MD5"', "md5", "MD4", "none"],
    "qop": ["auth-int", '"auth"', '"auth,auth-int"', "AUTH", "none"],
    "nc": ["00000000", "ffffffff", "FFFFFFFF", "1", "000000001", "0000000g", "-0000001", '"00000001"'],
    "realm": ['"ops public api"', '"Ops Public API "', '"Another API"'],
    "uri": ['"/"', '"*"', '"http://evil.example/"', '"/api/public/v1.0?"', '"//"', '"/%00"'],
    "username": ['"ada@example.com"', '"a\\b"', '"%61"', '"aaaaaa"'],
    "stale": ["true"],
    "userhash": ["true", '"true"'],
    "charset": ["UTF-8", "utf-7"],
    "username*": ["UTF-8''%e2%82%ac", "x''%00"],
    "domain": ['"/"'],
}
SCHEMES = [
    "digest",
    "DIGEST",
    "Digest\t",
    "Digest,",
    "Digest=",
    "Digest  ",
    "",
    "Basic",
    "Negotiate",
    "Bearer",
]
SEPARATORS = [",", " , ", ",,", ";", "\t,\t", "", " ", ",\0", "," * 2000]


def written(parameters: Parameters, scheme: str = "Digest", separator: str = ", ") -> str:
    """The header's value."""
    return f"{scheme} {separator.join(f'{name}={value}' for name, value in parameters)}"


def good(values: Mapping[str, str]) -> Parameters:
    """The parameters as a client writes them."""
    return [(name, f'"{value}"' if name in QUOTED else value) for name, value in values.items()]


def odd_header(values: Mapping[str, str], rng: random.Random) -> str:
    """The header of these values in which one thing is odd, now and then several."""
    parameters = good(values)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        rng.choice(CHANGES)(parameters, rng)
    if rng.random() < 0.1:
        return written(parameters, scheme=rng.choice(SCHEMES))
    if rng.random() < 0.1:
        return written(parameters, separator=rng.choice(SEPARATORS))
    header = written(parameters)
    return header[: rng.randrange(len(header) + 1)] if rng.random() < 0.1 else header


def forged(values: Mapping[str, str], rng: random.Random) -> str:
    """A well-formed header that proves nothing: its response belongs to another request, key or nonce."""
    name = rng.choice(["response", "nonce", "nc", "cnonce", "uri", "username"])
    others = {"response": digest.response("0" * 32, "GET", "/", "n", "00000001", "c"), "nc": "7fffffff"}
    return written(good({**values, name: others.get(name, f"{values[name][1:]}{values[name][:1]}x")}))


def _left_out(parameters: Parameters, rng: random.Random) -> None:
    if parameters:
        parameters.pop(rng.randrange(len(parameters)))


def _doubled(parameters: Parameters, rng: random.Random) -> None:
    if parameters:
        name, value = rng.choice(parameters)
        again = rng.choice([value, rng.choice(TEXTS)])
        parameters.insert(rng.randrange(len(parameters) + 1), (rng.choice([name, name.upper()]), again))


def _other_value(parameters: Parameters, rng: random.Random) -> None:
    if parameters:
        place = rng.randrange(len(parameters))
        name, _ = parameters[place]
        parameters[place] = (name, rng.choice([*TEXTS, *ODD_VALUES.get(name, [])]))


def _other_quotes(parameters: Parameters, rng: random.Random) -> None:
    if parameters:
        place = rng.randrange(len(parameters))
        name, value = parameters[place]
        parameters[place] = (name, value.strip('"') if value.startswith('"') else f'"{value}"')


def _added(parameters: Parameters, rng: random.Random) -> None:
    name = rng.choice([*ODD_VALUES, "x", "é", "", "a b", "x" * 3000, "\0"])
    values = ODD_VALUES.get(name, TEXTS)
    parameters += [(name, rng.choice(values))] * rng.choice([1, 1, 1, 300])


def _shuffled(parameters: Parameters, rng: random.Random) -> None:
    rng.shuffle(parameters)


CHANGES: list[Callable[[Parameters, random.Random], None]] = [
    _left_out,
    _doubled,
    _other_value,
    _other_value,
    _other_value,
    _other_quotes,
    _added,
    _shuffled,
]
