"""Values nobody expects, and what can be done to a document and to its bytes."""

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

Document = dict[str, Any] | list[Any]
Place = tuple[str | int, ...]

HOSTILE: list[Any] = [
    None,
    True,
    False,
    0,
    -1,
    5.0,
    1.5,
    2**31,
    2**63,
    -(2**63) - 1,
    10**40,
    1e308,
    "",
    " ",
    "\0",
    "a\0b",
    "\ud800",
    "\r\n",
    "\u2028",
    "\u202ecba",
    "é\u0301",
    "💥" * 60,
    "a" * 251,
    "a" * 100_000,
    "'; DROP TABLE events_event; --",
    "{0}{1}{error.__class__}",
    "%s%n%(x)s",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "http://[::1",
    "http://user:word@example.com/",
    "http://example.com:99999/",
    "javascript:alert(1)",
    "0" * 24,
    "A" * 24,
    "2026-13-45T99:99:99Z",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
    "10.0.0.1/33",
    "10.0.0.1/8",
    "::/0",
    "fe80::1%eth0",
    "::ffff:10.0.0.1/104",
    "GLOBAL_OWNER",
    "group_owner",
    "******",
    "******abcd",
    "NaN",
    "(?=a)(a+)+$",
    "(" * 200,
    [],
    [[]],
    [None],
    ["a"] * 501,
    [{}] * 501,
    {},
    {"": {}},
    {"__proto__": {"x": 1}},
    {"roleName": "GROUP_OWNER", "groupId": "0" * 24},
    {str(number): number for number in range(300)},
]


def nested(depth: int) -> Any:
    """An array in an array, so often."""
    made: list[Any] = []
    for _ in range(depth):
        made = [made]
    return made


def places(document: Any, place: Place = ()) -> Iterator[Place]:
    """Every value of the document by its path, the document itself first."""
    yield place
    children = document.items() if isinstance(document, dict) else ()
    for name, child in enumerate(document) if isinstance(document, list) else children:
        yield from places(child, (*place, name))


def replaced(document: Any, place: Place, value: Any) -> Any:
    """The document with another value there."""
    if not place:
        return value
    copy = document.copy()
    copy[place[0]] = replaced(document[place[0]], place[1:], value)
    return copy


def without(document: Any, place: Place) -> Any:
    """The document without that value."""
    if not place:
        return None
    copy = document.copy()
    if len(place) == 1:
        del copy[place[0]]
    else:
        copy[place[0]] = without(document[place[0]], place[1:])
    return copy


def mutants(document: Any, rng: random.Random) -> Iterator[bytes]:
    """Endless bodies derived from a valid body: changed or missing values, doubled names, cut bytes."""
    known = list(places(document))
    while True:
        place = rng.choice(known)
        changed = document
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if place in set(places(changed)):
                changed = replaced(changed, place, rng.choice([*HOSTILE, nested(rng.choice([3, 63, 70]))]))
            place = rng.choice(known)
        if rng.random() < 0.15:
            changed = without(document, place)
        if rng.random() < 0.1 and isinstance(changed, dict):
            changed = {**changed, rng.choice(STRANGE_NAMES): rng.choice(HOSTILE)}
        body = json.dumps(changed, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
        yield rng.choice(BROKEN)(body, rng) if rng.random() < 0.2 else body


STRANGE_NAMES = ["links", "", "\0", "a" * 5000, "roles[0].roleName", "__class__", "\ud800", "id", "typeName"]


def _flipped(body: bytes, rng: random.Random) -> bytes:
    """A byte of it is another."""
    if not body:
        return b"\xff"
    at = rng.randrange(len(body))
    return body[:at] + rng.randbytes(1) + body[at + 1 :]


Breaker = Callable[[bytes, random.Random], bytes]
BROKEN: list[Breaker] = [
    lambda body, rng: body[: rng.randrange(len(body) + 1)],
    lambda body, rng: body + rng.randbytes(3),
    _flipped,
    lambda body, rng: b"\xef\xbb\xbf" + body,
    lambda body, rng: body.decode("utf-8", "replace").encode("utf-16"),
    lambda body, rng: body.replace(b"{", b'{"a": 1, "a": 2, ', 1),
    lambda body, rng: body.replace(b":", b': NaN, "x":', 1),
    lambda body, rng: body.replace(b":", b': 1e999, "x":', 1),
    lambda body, rng: b"[" * 100_000 + body,
    lambda body, rng: b'{"a":' * 5000 + body + b"}" * 5000,
    lambda body, rng: b"1" * 10_000,
    lambda body, rng: b"",
]
