"""A request in pieces: however it is cut, it means the same, and the work is linear in its bytes.

The work is counted, not timed: the bytes that are compared or copied, and the function calls.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import NoMoreData, ParseException
from hypothesis import given
from hypothesis import strategies as st

from opsapi.supervisor import arrival
from opsapi.supervisor.arrival import (
    KIB,
    LONGEST_HEAD,
    LONGEST_LINE,
    LONGEST_TRAILERS,
    MOST_CHUNKS,
    MOST_FIELDS,
    ArrivalState,
)
from opsapi.supervisor.web_connection import WebConnection
from opsapi.supervisor.web_worker import REFUSALS, status_of
from tests.each import each
from tests.hostile.budget import tries

GET = b"GET /a?b=c HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /a HTTP/1.1\r\nHost: x\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"
EXPECT = b"Expect: 100-continue\r\n"
FIELDS = b"".join(b"Field-%d: %s\r\n" % (number, b"v" * 80) for number in range(15))
TRAILERS = b"".join(b"Trailer-%d: %s\r\n" % (number, b"v" * 80) for number in range(15))
REQUESTS = {
    "a head": GET + FIELDS + b"\r\n",
    "half a head": GET + FIELDS,
    "a long line": GET + b"A: " + b"a" * 1500,
    "a long request line": b"GET /" + b"a" * 1500,
    "a body": POST + FIELDS + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000,
    "a body that is expected": POST + FIELDS + EXPECT + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000,
    "a large chunk": CHUNKED + FIELDS + EXPECT + b"\r\n3e8\r\n" + b"x" * 1000 + b"\r\n0\r\n\r\n",
    "small chunks": CHUNKED + FIELDS + b"\r\n" + b"1\r\nx\r\n" * 150 + b"0\r\n\r\n",
    "a long line before a chunk": CHUNKED + b'\r\n1;a="' + b"x" * 1500 + b'"\r\nx\r\n0\r\n\r\n',
    "trailers": CHUNKED + FIELDS + b"\r\n1\r\nx\r\n0\r\n" + TRAILERS + b"\r\n",
    "half of the trailers": CHUNKED + b"\r\n0\r\n" + TRAILERS,
    "a sequence": (GET + b"\r\n") * 20 + (POST + b"Content-Length: 3\r\n\r\n123") * 20,
    "no request": b"\x16\x03\x01\x00\xf4" + b"\x80" * 1500,
}
_TRAILER = CHUNKED + b"\r\n0\r\n"
_LINE = b"A: " + b"a" * 997 + b"\r\n"
AT_LIMITS = {
    "most headers": (GET + b"A: 1\r\n" * (MOST_FIELDS - 1) + b"\r\n", False),
    "one header more": (GET + b"A: 1\r\n" * MOST_FIELDS + b"\r\n", True),
    "a long header": (GET + b"A: " + b"a" * (LONGEST_LINE - 5) + b"\r\n\r\n", False),
    "a longer header": (GET + b"A: " + b"a" * (LONGEST_LINE - 2) + b"\r\n\r\n", True),
    "a large head": (GET + b"A: %s\r\n" % (b"a" * 8000) * (LONGEST_HEAD // 8005), False),
    "a larger head": (GET + b"A: %s\r\n" % (b"a" * 8000) * (LONGEST_HEAD // 8005 + 1), True),
    "large trailers": (_TRAILER + _LINE * (LONGEST_TRAILERS // len(_LINE)) + b"\r\n", False),
    "larger trailers": (_TRAILER + _LINE * (LONGEST_TRAILERS // len(_LINE) + 1) + b"\r\n", True),
    "most trailers": (_TRAILER + b"A:1\r\n" * MOST_FIELDS + b"\r\n", False),
    "one trailer more": (_TRAILER + b"A:1\r\n" * (MOST_FIELDS + 1) + b"\r\n", True),
}
CALLS_PER_PIECE, CALLS_PER_BYTE, CALLS_PER_REQUEST = 60, 12, 400
BYTES_PER_PIECE, BYTES_PER_BYTE = 64, 12


class CountedWork:
    """The bytes that were compared or copied, and the function calls."""

    def __init__(self) -> None:
        self.bytes = 0
        self.calls = 0

    def note_call(self, _frame: object, event: str, _argument: object) -> None:
        """A profile function (`sys.setprofile`)."""
        self.calls += event in ("call", "c_call")


class Pieces:
    """A socket that receives the piece it is given."""

    def __init__(self) -> None:
        self.piece = b""
        self.sent: list[bytes] = []

    def recv(self, size: int) -> bytes:
        if not self.piece:
            raise BlockingIOError
        received, self.piece = self.piece[:size], self.piece[size:]
        return received

    def send(self, data: bytes) -> int:
        self.sent.append(data)
        return len(data)

    def setblocking(self, _blocks: bool) -> None:
        pass


@contextmanager
def counting() -> Iterator[CountedWork]:
    """Count the work of the arrival in the block."""
    work = CountedWork()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arrival, "bytearray", _counted_bytes(work), raising=False)
        for name, value in list(vars(arrival).items()):
            if isinstance(value, re.Pattern):
                patch.setattr(arrival, name, CountedPattern(value, work))
        before = sys.getprofile()
        sys.setprofile(work.note_call)
        try:
            yield work
        finally:
            sys.setprofile(before)


class CountedPattern:
    """A pattern that looks at all bytes it is given."""

    def __init__(self, pattern: re.Pattern[bytes], work: CountedWork) -> None:
        self._pattern = pattern
        self._work = work

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._pattern, name)

        def counted(*arguments: Any) -> Any:
            text, start = (arguments[1], 0) if "sub" in name else (*arguments, 0)[:2]
            self._work.bytes += len(text) - start
            return method(*arguments)

        return counted


def _looked_at(data: bytearray, name: str, arguments: Sequence[Any], result: Any) -> int:
    """The bytes that an operation looks at or moves; all of them if it is not listed here."""
    if name == "find":
        start = arguments[1] if len(arguments) > 1 else 0
        end = arguments[2] if len(arguments) > 2 else len(data)
        return max(0, int(result if result >= 0 else end) - int(start))
    if name == "__getitem__":
        return len(range(*arguments[0].indices(len(data)))) if isinstance(arguments[0], slice) else 1
    return len(arguments[0]) if name in ("endswith", "__iadd__") else len(data)


_NOT_COUNTED = {"__new__", "__init__", "__len__", "__getattribute__", "__alloc__", "__repr__"}


def _counted_bytes(work: CountedWork) -> type:
    """A kind of bytearray whose operations count."""

    def counted(name: str) -> Any:
        def operation(self: bytearray, *arguments: Any) -> Any:
            result = getattr(bytearray, name)(self, *arguments)
            work.bytes += _looked_at(self, name, arguments, result)
            return result

        return operation

    def copied(self: bytearray) -> bytes:
        work.bytes += len(self)
        return b"".join([self])

    names = [name for name, value in vars(bytearray).items() if callable(value) and name not in _NOT_COUNTED]
    return type(
        "CountedBytes", (bytearray,), {**{name: counted(name) for name in names}, "__bytes__": copied}
    )


def understood(pieces: Iterable[bytes]) -> list[object]:
    """Each request as the application gets it, then the end: a status, or whether a part is left."""
    source: Any = Pieces()
    connection = WebConnection(_config(), source, ("127.0.0.1", 1), ("127.0.0.1", 2))
    connection.await_request(0.0, 0.0)
    outcomes: list[object] = []
    for piece in pieces:
        source.piece = piece
        state = connection.receive()
        while state is ArrivalState.WHOLE:
            keeps_alive, outcome = _served(connection)
            outcomes.append(outcome)
            if not keeps_alive:
                return outcomes
            connection.answered(keeps_alive=True)
            state = connection.await_next(0.0, 0.0)
        if state is not ArrivalState.PART:
            assert state is not None
            return [*outcomes, REFUSALS[state]]
    assert len(source.sent) <= len(outcomes) + 1
    return [*outcomes, bool(connection.arrival.data)]


def _served(connection: WebConnection) -> tuple[bool, object]:
    """Whether the connection stays open, and the request; a status or nothing if it is refused."""
    connection.init()
    try:
        request = next(connection.parser)
        body = request.body.read()
    except ParseException as error:
        return False, status_of(error)
    except NoMoreData:
        return False, None
    headers = [field for field in request.headers if field[0] != "EXPECT"]
    return not request.should_close(), (request.method, request.uri, headers, body, request.trailers)


@cache
def _config() -> Config:
    config = Config()
    config.set("limit_request_line", LONGEST_LINE)
    config.set("limit_request_fields", MOST_FIELDS)
    config.set("limit_request_field_size", LONGEST_LINE)
    config.set("header_map", "drop")
    return config


def _cut(data: bytes, places: Iterable[int]) -> list[bytes]:
    inside = sorted({place for place in places if 0 < place < len(data)})
    return [data[begin:end] for begin, end in pairwise([0, *inside, len(data)])]


@each("request_", REQUESTS.values(), ids=REQUESTS)
def test_the_work_is_linear_byte_by_byte(request_: bytes) -> None:
    _assert_linear([bytes([byte]) for byte in request_])


@each("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_request_byte_by_byte_is_understood_as_in_one_piece(request_: bytes) -> None:
    assert understood([bytes([byte]) for byte in request_]) == understood([request_])


@each(("request_", "is_refused"), AT_LIMITS.values(), ids=AT_LIMITS)
def test_a_limit_holds_however_a_request_is_cut(request_: bytes, is_refused: bool) -> None:
    outcome, *_ = understood([request_])
    assert (outcome == REFUSALS[ArrivalState.OVERSIZED]) is is_refused
    for size in (997, 8191):
        assert understood(_cut(request_, range(0, len(request_), size)))[0] == outcome


def _assert_linear(pieces: Sequence[bytes]) -> None:
    """The pieces, and the requests in them, take a bounded amount of work each."""
    total = sum(map(len, pieces))
    with counting() as work:
        outcomes = understood(pieces)
    assert len(pieces[0]) <= work.bytes <= BYTES_PER_BYTE * total + BYTES_PER_PIECE * len(pieces)
    requests = CALLS_PER_REQUEST * len(outcomes)
    assert work.calls <= CALLS_PER_BYTE * total + CALLS_PER_PIECE * len(pieces) + requests


NAMES = st.sampled_from(
    [
        b"A",
        b"Content-Length",
        b"Transfer-Encoding",
        b"Expect",
        b"X-Forwarded-For",
        b"Host",
        b"a_b",
        b"A b",
        b"",
    ]
)
VALUES = st.sampled_from(
    [b"", b"0", b"2", b" 2 ", b"002", b"0" * 20 + b"2", b"+2", b"9" * 19, b"x", b"a\rb", b"\xb2"]
    + [b"chunked"] * 3
    + [b"gzip, chunked", b"chunked, gzip", b"100-continue", b"a" * (LONGEST_LINE - 8), b"a" * LONGEST_LINE]
)
LINE_ENDS = st.sampled_from([b"\r\n"] * 30 + [b"\n", b"\r", b"\r\r\n", b"\n\r\n"])
FIELD = st.builds(b"%s:%s%s".__mod__, st.tuples(NAMES, VALUES, LINE_ENDS))
REQUEST_LINES = st.sampled_from(
    [b"GET / HTTP/1.1\r\n"] * 5
    + [b"POST / HTTP/1.1\r\n"] * 5
    + [b"GET / HTTP/1.0\r\n", b"GET /\r\n", b"\r\nGET / HTTP/1.1\r\n", b"\r\n\r\n", b"GET / HTTP/1.1\n"]
    + [b"GET / HTTP/2.0\r\n", b"GET  / HTTP/1.1 \r\n", b"GET /%s HTTP/1.1\r\n" % (b"a" * LONGEST_LINE), b"\r"]
)
CHUNK_LINES = st.sampled_from(
    [b"2\r\nab\r\n"] * 5
    + [b"02;a=b\r\nab\r\n", b'2;a="\n"\r\nab\r\n', b"2\nab\r\n", b"x\r\n", b"-2\r\nab\r\n", b"2\r\nabc\r\n"]
    + [b"0" * 16 + b"2\r\nab\r\n", b"f" * 16 + b"\r\n", b"2;a=" + b"a" * LONGEST_LINE + b"\r\nab\r\n"]
)
FIELDS_OF = st.lists(FIELD, max_size=3)
BODIES = st.one_of(
    st.sampled_from([b"", b"ab", b"a"]),
    st.builds(
        lambda chunks, last, trailers, end: b"".join([*chunks, last, *trailers, end]),
        st.lists(CHUNK_LINES, max_size=3),
        st.sampled_from([b"0\r\n", b"0;a\r\n", b"00000000000000000\r\n", b""]),
        st.lists(FIELD, max_size=2),
        LINE_ENDS,
    ),
)
ODD_REQUESTS = st.builds(
    lambda line, host, fields, end, body: b"".join([line, host, *fields, end, body]),
    REQUEST_LINES,
    st.sampled_from([b"Host: x\r\n"] * 9 + [b""]),
    FIELDS_OF,
    LINE_ENDS,
    BODIES,
)
GOOD = st.sampled_from(
    [
        GET + b"\r\n",
        POST + b"Content-Length: 2\r\n\r\nab",
        POST + EXPECT + EXPECT + b"Content-Length: 2\r\n\r\nab",
        CHUNKED + b"\r\n2\r\nab\r\n0\r\nA: 1\r\n\r\n",
        CHUNKED + EXPECT + b"\r\n0\r\n\r\n",
    ]
)
STREAMS = st.builds(
    lambda before, last: b"".join([*before, last]),
    st.lists(GOOD, max_size=3),
    st.one_of(ODD_REQUESTS, ODD_REQUESTS, GOOD, st.binary(min_size=1, max_size=60)),
)


@tries(100)
@given(STREAMS, st.lists(st.integers(1, 40_000), max_size=12), st.integers(0, 40_000))
def test_any_request_is_understood_however_it_is_cut(stream: bytes, places: list[int], start: int) -> None:
    length = len(stream)
    whole = understood([stream])
    assert understood(_cut(stream, (place % length for place in places))) == whole
    begin = start % length
    assert understood(_cut(stream, range(begin, begin + 100))) == whole


@tries(40)
@given(STREAMS, st.integers(20, 100))
def test_the_work_is_linear_for_any_request_in_pieces_of_any_size(stream: bytes, size: int) -> None:
    _assert_linear(_cut(stream, range(0, len(stream), size)))


def test_most_chunks_byte_by_byte_are_linear_too() -> None:
    request_ = CHUNKED + b"\r\n" + b"1\r\nx\r\n" * (MOST_CHUNKS // 128) + b"0\r\n\r\n"
    _assert_linear([bytes([byte]) for byte in request_])


@each("head", [b"Content-Length: 4194304\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n400000\r\n"])
def test_an_unread_body_is_discarded_in_large_steps(head: bytes) -> None:
    connection = WebConnection(_config(), Pieces(), ("127.0.0.1", 1), ("127.0.0.1", 2))
    connection.await_request(0.0, 0.0)
    connection.take(POST + head + b"x" * (4 << 20) + b"\r\n0\r\n\r\n")
    connection.init()
    next(connection.parser)
    with counting() as work:
        assert connection.discard_body()
    assert work.calls < (4 << 20) // KIB
    connection.answered(keeps_alive=True)
    assert connection.await_next(0.0, 0.0) is (
        ArrivalState.WHOLE if b"Content" in head else ArrivalState.PART
    )
