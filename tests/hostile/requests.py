"""Targets and headers nobody should send; each choice is drawn from a seeded source."""

import random
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

from tests.api.routes import Route

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "X" * 40]

ODD_SEGMENTS = [
    "",
    "x",
    ".",
    "..",
    "%2e%2e",
    "%00",
    "a%00b",
    "%ff",
    "%2F",
    "a%2Fb",
    "%",
    "%zz",
    "%0d%0aSet-Cookie:%20a=b",
    "%20",
    "%F0%9F%92%A5",
    "%ED%A0%80",
    "é",
    "*",
    ";a=b",
    "{id}",
    "<id>",
    "$ref",
    "0" * 23,
    "0" * 24,
    "f" * 24,
    "A" * 24,
    "0" * 24 + "%00",
    "0" * 24 + "%0A",
    "%D9%A0" * 24,
    "-1",
    "1e24",
    "null",
    "a" * 5000,
    "byName",
    "db1.example.com:27017",
    "db1.example.com:99999999999999999999",
    "192.0.2.0%2F24",
    "2001:db8::%2F32",
]
"""What is in a path where an id should."""

ODD_TEXTS = [
    "",
    "true",
    "FALSE",
    "maybe",
    "0",
    "-1",
    "1.0",
    "1.",
    "1e3",
    "0x10",
    "500",
    "501",
    "2147483647",
    "2147483648",
    "9" * 29,
    "9" * 400,
    "%00",
    "%ff",
    "%ED%A0%80",
    "%D9%A3",
    "%C2%B2",
    "%F0%9F%92%A5",
    "%",
    "+",
    "%0d%0a",
    "OPEN",
    "open",
    "HOST_DOWN",
    "2026-11-21",
    "2026-02-30",
    "0000-00-00",
    "0001-01-01T00:00:00%2B14:00",
    "9999-12-31T23:59:59-14:00",
    "2026-11-21T07:26:14Z",
    "2026-W47-6",
    "PT1M",
    "P999999999D",
    "-PT1M",
    "10.0.0.0/8",
    "f" * 24,
    "a" * 100_000,
]
"""What a query parameter may say, already escaped."""

ODD_QUERIES = [
    "",
    "&&&",
    "=",
    "=x",
    "pretty",
    "pretty=true;envelope=true",
    "pretty[]=true",
    "?pretty=true",
    "%70retty=true",
    "a=1&" * 1200,
    "pageNum=1&" * 200,
    "%00=%00",
    "{}",
    "#fragment",
]

ODD_HEADERS: list[dict[str, Any]] = [
    {"HTTP_ACCEPT": "text/html"},
    {"HTTP_ACCEPT": "*/*;q=x, \0"},
    {"HTTP_ACCEPT": "," * 5000},
    {"HTTP_ACCEPT_ENCODING": "gzip;q=nan"},
    {"HTTP_ACCEPT_LANGUAGE": "x" * 1000},
    {"HTTP_HOST": "evil.example"},
    {"HTTP_HOST": ""},
    {"HTTP_HOST": "a b"},
    {"HTTP_HOST": "testserver:99999"},
    {"HTTP_HOST": "[::1"},
    {"HTTP_HOST": "testserver@evil.example"},
    {"HTTP_HOST": "é" * 100},
    {"HTTP_X_FORWARDED_FOR": "192.0.2.1, not an address, ::1"},
    {"HTTP_X_FORWARDED_FOR": "," * 1000},
    {"HTTP_X_FORWARDED_FOR": "fe80::1%eth0"},
    {"HTTP_X_FORWARDED_HOST": "evil.example", "HTTP_X_FORWARDED_PROTO": "gopher"},
    {"HTTP_FORWARDED": "for=192.0.2.43;host=evil.example"},
    {"HTTP_X_REQUEST_ID": "a\tb"},
    {"HTTP_X_REQUEST_ID": "x" * 65},
    {"HTTP_X_HTTP_METHOD_OVERRIDE": "DELETE"},
    {"HTTP_COOKIE": "sessionid=\x00; csrftoken=" + "x" * 4000},
    {"HTTP_COOKIE": 'sessionid="' + "\\101" * 50},
    {"HTTP_IF_NONE_MATCH": '"x', "HTTP_IF_MODIFIED_SINCE": "yesterday"},
    {"HTTP_IF_MATCH": "*", "HTTP_RANGE": "bytes=-1"},
    {"HTTP_EXPECT": "the unexpected"},
    {"HTTP_TRANSFER_ENCODING": "chunked, chunked"},
    {"HTTP_CONTENT_ENCODING": "gzip"},
    {"HTTP_REFERER": "http://[", "HTTP_ORIGIN": "null"},
    {"HTTP_UPGRADE": "websocket", "HTTP_CONNECTION": "upgrade"},
    {"HTTP_USER_AGENT": "\xff" * 1000},
    {"REMOTE_ADDR": ""},
    {"REMOTE_ADDR": "fe80::1%eth0"},
    {"REMOTE_ADDR": "::ffff:127.0.0.1"},
    {"REMOTE_ADDR": "@"},
    {"content_type": ""},
    {"content_type": "text/plain"},
    {"content_type": "application/json; charset=latin-1"},
    {"content_type": "application/json; charset=\xff"},
    {"content_type": "application/json; charset=hex"},
    {"content_type": "application/json; charset=undefined"},
    {"content_type": "application/json; charset=unicode_escape"},
    {"content_type": "application/json; charset=a\0b"},
    {"content_type": "application/json; x*=nothing''%41"},
    {"content_type": "application/json;" * 500},
    {"content_type": "multipart/form-data"},
    {"content_type": "multipart/form-data; boundary=" + "x" * 500},
    {"content_type": "application/x-www-form-urlencoded"},
    {"content_type": "application/json; charset*=utf-8''utf-8%00"},
    {"content_type": "a" * 5000},
    {"CONTENT_LENGTH": "0"},
    {"CONTENT_LENGTH": "1"},
    {"CONTENT_LENGTH": "99999999999999999999"},
    {"HTTP_AUTHORIZATION": ""},
    {"HTTP_AUTHORIZATION": "Digest"},
    {"HTTP_AUTHORIZATION": "Basic Og=="},
    {"HTTP_AUTHORIZATION": "Basic \xff\xff"},
    {"HTTP_AUTHORIZATION": "Bearer " + "x" * 9000},
    {"HTTP_AUTHORIZATION": 'Digest username="\0", realm="' + "\\" * 501},
    {
        "HTTP_AUTHORIZATION": 'Digest username="a\0b", realm="Ops Public API", nonce="x", uri="/", qop=auth, '
        f'nc=00000001, cnonce="é", response="{"0" * 32}"'
    },
]


def odd_path(route: Route, known: Mapping[str, str], rng: random.Random) -> str:
    """The route's path with something odd in the place of an id, after it, or in between."""
    values = dict(known)
    for name in route.parameters:
        if rng.random() < 0.6:
            values[name] = rng.choice(ODD_SEGMENTS)
    path = route.template
    for name in route.parameters:
        path = path.replace(f"<{name}>", values[name]).replace(f"<path:{name}>", values[name])
    end = rng.choice(["", "", "", "", "/", "//", "/" + rng.choice(ODD_SEGMENTS)])
    return path.replace("/", "//", 1) + end if rng.random() < 0.02 else path + end


def odd_query(names: Iterable[str], rng: random.Random) -> str:
    """Known parameters that say something odd, once or more often; sometimes no query at all by any rule."""
    if rng.random() < 0.2:
        return rng.choice(ODD_QUERIES)
    named = list(names)
    chosen = [rng.choice(named) for _ in range(rng.choice([1, 1, 2, 3, 8]))]
    return "&".join(f"{quote(name)}={rng.choice(ODD_TEXTS)}" for name in chosen)


def odd_headers(rng: random.Random) -> dict[str, Any]:
    """One or several odd headers."""
    found: dict[str, Any] = {}
    for _ in range(rng.choice([1, 1, 2])):
        found.update(rng.choice(ODD_HEADERS))
    return found
