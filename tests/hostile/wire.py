"""Requests as octets on a socket: how they are composed, and how the answers of a server are read."""

import random
import re
import socket
from contextlib import suppress

from opsapi.api.links import AGENTS, PUBLIC

TARGETS = [
    b"/health/live",
    PUBLIC.encode(),
    f"{PUBLIC}/groups".encode(),
    f"{PUBLIC}/unauth/users".encode(),
    f"{PUBLIC}/groups/%00".encode(),
    f"{AGENTS}/groups/0123456789abcdef01234567/reports".encode(),
    b"/admin/",
    b"/admin/login/",
    b"/api/schema/",
    b"/",
    b"*",
    b"//",
    b"//evil.example/groups",
    b"http://evil.example/health/live",
    b"/../../etc/passwd",
    b"/%2e%2e/%2e%2e/",
    b"/health/live?" + b"a=1&" * 1500,
    b"/health/live?%ff=%00",
    b"/health/live#x",
    b"/\xff\xfe",
    b"/static/admin/css/base.css",
    b"/static/../opsapi/settings.py",
    b"/static/%2e%2e/manage.py",
    b"/static/\x80",
    b"",
]
METHODS = [b"GET", b"POST", b"HEAD", b"PUT", b"PATCH", b"DELETE", b"OPTIONS", b"TRACE", b"CONNECT", b"get"]
METHODS += [b"PRI", b"G\x00T", b"GET\t", b"X" * 100, b"", b"\xff", b"M-SEARCH"]
VERSIONS = [b"HTTP/1.1"] * 8 + [
    b"HTTP/1.0",
    b"HTTP/0.9",
    b"HTTP/2.0",
    b"HTTP/1.10",
    b"http/1.1",
    b"",
    b"HTTP/1.1 x",
]
HEADERS = [
    b"Host: localhost",
    b"Host: evil.example",
    b"Host: [::1",
    b"Host:",
    b"Host: localhost\r\nHost: localhost",
    b"Content-Type: application/json",
    b"Content-Type: application/json; charset=hex",
    b"Content-Type: application/json; charset=undefined",
    b"Content-Type: application/json; charset=punycode",
    b"Content-Type: application/json; charset*=utf-8''utf-8%00",
    b"Content-Type: application/json; x*=nothing''%41",
    b"Content-Type: multipart/form-data; boundary=\xff",
    b"Content-Length: 0",
    b"Content-Length: 2",
    b"Content-Length: +2",
    b"Content-Length: 2, 2",
    b"Content-Length: 0x2",
    b"Content-Length: \xb2",
    b"Content-Length: 18446744073709551617",
    b"Content-Length: -1",
    b"Transfer-Encoding: chunked",
    b"Transfer-Encoding: chunked, chunked",
    b"Transfer-Encoding: gzip, chunked",
    b"Transfer-Encoding: xchunked",
    b"Transfer-Encoding:\x0bchunked",
    b"Transfer-Encoding : chunked",
    b" Transfer-Encoding: chunked",
    b"Expect: 100-continue",
    b"Expect: the unexpected",
    b"Connection: close",
    b"Connection: keep-alive, upgrade",
    b"Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__",
    b'Cookie: sessionid="\\000aaaaaaaaaa"; csrftoken=\xff',
    b"Cookie: sessionid=" + b"a" * 4000,
    b'Cookie: messages="\\000"',
    b"Authorization: Digest " + b'a="' * 1000,
    b'Authorization: Digest username="\x80", realm="\\',
    b"Authorization: Basic \xff",
    b"Authorization: Negotiate " + b"A" * 7000,
    b"Range: bytes=0-,0-,0-",
    b"If-Modified-Since: Thu, 99 Foo 9999 99:99:99 GMT",
    b"If-None-Match: " + b'"a",' * 500,
    b"Accept-Encoding: gzip;q=\xff",
    b"Accept-Language: " + b"a-" * 1000,
    b"X-Forwarded-For: " + b"1," * 1000,
    b"X-Request-ID: a\xa0b",
    b"A: " + b"a" * 20_000,
    b"A" * 9000 + b": a",
    b"\r\n".join(b"A%d: a" % number for number in range(300)),
    b"A:\x00",
    b"A: a\r\n b",
    b"A\x7f: a",
    b": a",
    b"no colon",
    b"SCRIPT_NAME: /x",
    b"Script-Name: /x",
    b"X-Sendfile: /etc/passwd",
]
BODIES = [
    b"",
    b"{}",
    b"{",
    b"2\r\n{}\r\n0\r\n\r\n",
    b"2\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
    b"2;" + b"x" * 5000 + b"\r\n{}\r\n0\r\n\r\n",
    b"FFFFFFFFFFFFFFFFF\r\n{}",
    b"0x2\r\n{}\r\n0\r\n\r\n",
    b"+2\r\n{}\r\n0\r\n\r\n",
    b"\r\n",
    b"2\n{}\n0\n\n",
    b"1\r\n{\r\n1\r\n}\r\n0\r\n" + b"A: a\r\n" * 200 + b"\r\n",
    b"0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"a=1&" * 2000,
]
NOT_HTTP = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00" * 1000,
    b"\r\n" * 1000,
    b"\xff" * 10_000,
    b"SSH-2.0-OpenSSH_9.9\r\n",
    b"PROXY TCP4 1.2.3.4 1.2.3.4 1 1\r\nGET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r" * 50,
]
STATUS = re.compile(rb"^HTTP/1\.[01] (\d{3}) ", re.MULTILINE)
"""The status of each answer."""

GOOD = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def request(rng: random.Random) -> bytes:
    """One request in which one thing is odd, now and then everything."""
    if rng.random() < 0.05:
        return rng.choice(NOT_HTTP)
    everything = rng.random() < 0.2
    odd = rng.choice(["method", "target", "version", "header", "header", "header", "body"])
    method = rng.choice(METHODS) if everything or odd == "method" else rng.choice([b"GET", b"POST"])
    target = rng.choice(TARGETS) if everything or odd == "target" else rng.choice(TARGETS[:9])
    version = rng.choice(VERSIONS) if everything or odd == "version" else VERSIONS[0]
    headers = [b"Host: localhost"]
    if everything or odd == "header":
        headers += [rng.choice(HEADERS) for _ in range(rng.choice([1, 1, 2, 3]))]
    if everything or odd == "body":
        headers += [
            b"Content-Type: application/json",
            rng.choice([b"Transfer-Encoding: chunked", b"Content-Length: 2"]),
        ]
    end = b"\n" if everything and rng.random() < 0.1 else b"\r\n"
    return end.join(
        [b" ".join([method, target, version]), *headers, b"", rng.choice(BODIES) if odd == "body" else b""]
    )


def dialogue(rng: random.Random) -> list[bytes]:
    """What is sent one after the other on a connection: requests, whole, in pieces, or several at once."""
    sent = b"".join(request(rng) for _ in range(rng.choice([1, 1, 1, 2, 5])))
    if rng.random() < 0.1:
        sent = sent[: rng.randrange(len(sent) + 1)]
    if rng.random() < 0.3:
        cut = rng.randrange(len(sent) + 1)
        return [sent[:cut], sent[cut:]]
    return [sent]


def converse(port: int, pieces: list[bytes], *, listens: bool) -> list[int]:
    """Sends the pieces and closes its own half; the statuses of the answers, none if it does not listen."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        with suppress(ConnectionError):  # it may refuse before it has heard everything
            for piece in pieces:
                connection.sendall(piece)
            if listens:
                connection.shutdown(socket.SHUT_WR)
                return [int(status) for status in STATUS.findall(everything(connection))]
        return []


def everything(connection: socket.socket) -> bytes:
    """What comes until the end of the connection, in any way."""
    received = bytearray()
    with suppress(ConnectionError):
        while piece := connection.recv(65536):
            received += piece
    return bytes(received)
