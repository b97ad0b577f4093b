"""When a request has arrived whole (RFC 9112), whatever pieces it comes in."""

from opsapi.supervisor.arrival import (
    BODY_BYTES_PER_SECOND,
    BODY_SECONDS,
    HEAD_SECONDS,
    LONGEST_HEAD,
    LONGEST_REQUEST,
    MOST_CHUNKS,
    Arrival,
    ArrivalState,
)
from tests.each import each

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
WHOLE, PART, MALFORMED, OVERSIZED = (
    ArrivalState.WHOLE,
    ArrivalState.PART,
    ArrivalState.MALFORMED,
    ArrivalState.OVERSIZED,
)

CASES = {
    "nothing": (b"", PART),
    "half a line": (b"GET / HT", PART),
    "a line": (b"GET / HTTP/1.1\r\n", PART),
    "no end of the head": (HEAD, PART),
    "no body": (HEAD + b"\r\n", WHOLE),
    "more than one request": (HEAD + b"\r\nGET /", WHOLE),
    "a body of no bytes": (HEAD + b"Content-Length: 0\r\n\r\n", WHOLE),
    "a body, one byte short": (HEAD + b"Content-Length: 3\r\n\r\n12", PART),
    "a body": (HEAD + b"CONTENT-length:3\r\n\r\n123", WHOLE),
    "a body over the limit": (HEAD + b"Content-Length: %d\r\n\r\n" % LONGEST_REQUEST, WHOLE),
    "lines without CR": (b"GET / HTTP/1.1\nHost: x\n\n", MALFORMED),
    "some lines without CR": (b"GET / HTTP/1.1\nHost: x\n\r\n", MALFORMED),
    "no host": (b"GET / HTTP/1.1\r\nA: 1\r\n\r\n", MALFORMED),
    "no host in HTTP/1.0": (b"GET / HTTP/1.0\r\n\r\n", WHOLE),
    "no HTTP version": (b"GET /\r\n", WHOLE),
    "no HTTP at all": (b"\x16\x03\x01\r\n", WHOLE),
    "a head without end": (HEAD + b"A: " + b"a" * LONGEST_HEAD, OVERSIZED),
    "two lengths": (HEAD + b"Content-Length: 9\r\nContent-Length: 8\r\n\r\n", WHOLE),
    "a length and chunks": (HEAD + b"Content-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n", WHOLE),
    "chunks, none yet": (CHUNKED, PART),
    "half a chunk": (CHUNKED + b"3\r\n12", PART),
    "chunks, the last not yet": (CHUNKED + b"3\r\n123\r\n", PART),
    "chunks, no trailer end": (CHUNKED + b"3\r\n123\r\n0\r\n", PART),
    "chunks": (CHUNKED + b"3\r\n123\r\n0\r\n\r\n", WHOLE),
    "chunks with extensions": (CHUNKED + b'A ;x="y"\r\n0123456789\r\n0;z\r\n\r\n', WHOLE),
    "chunks with half a trailer": (CHUNKED + b"0\r\nA: 1\r\n", PART),
    "chunks with trailers": (CHUNKED + b"0\r\nA: 1\r\n\r\n", WHOLE),
    "the end of chunks inside a chunk": (CHUNKED + b"7\r\n\r\n0\r\n\r\n", PART),
    "a negative chunk": (CHUNKED + b"-7\r\n\r\n", WHOLE),
    "a chunk of no number": (CHUNKED + b"zz\r\n", WHOLE),
    "a chunk with underscores": (CHUNKED + b"1_0\r\n", WHOLE),
    "as many chunks as are read": (CHUNKED + b"1\r\n1\r\n" * MOST_CHUNKS + b"0\r\n\r\n", WHOLE),
    "one chunk more": (CHUNKED + b"1\r\n1\r\n" * (MOST_CHUNKS + 1) + b"0\r\n\r\n", MALFORMED),
    "a chunk line without end": (CHUNKED + b"1" * 9000, MALFORMED),
}


@each(("request_", "verdict"), CASES.values(), ids=CASES)
def test_a_request_in_one_piece(request_: bytes, verdict: ArrivalState) -> None:
    assert Arrival(0.0).add(request_) is verdict


@each(("request_", "verdict"), [case for case in CASES.values() if len(case[0]) < 200], ids=lambda value: "")
def test_a_request_byte_by_byte(request_: bytes, verdict: ArrivalState) -> None:
    arrival, last = Arrival(0.0), PART
    for at in range(len(request_)):
        assert last is PART or verdict is not PART
        last = arrival.add(request_[at : at + 1])
        if last is not PART:
            break
    assert last is verdict


@each(
    ("request_", "expected"),
    [
        (HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", True),
        (HEAD + b"expect:100-Continue\r\nTransfer-Encoding: chunked\r\n\r\n", True),
        (HEAD + b"Content-Length: 2\r\n\r\n", False),
        (HEAD + b"Expect: something\r\nContent-Length: 2\r\n\r\n", False),
        (HEAD.replace(b"1.1", b"1.0") + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", False),
        (HEAD + b"Expect: 100-continue\r\n", False),
    ],
)
def test_an_expectation_is_taken_once(request_: bytes, expected: bool) -> None:
    arrival = Arrival(0.0)
    assert arrival.add(request_) is PART
    assert arrival.take_expectation() is expected
    assert (b"100-continue" in bytes(arrival.data).lower()) is (
        not expected and b"100-continue" in request_.lower()
    )
    assert arrival.take_expectation() is False


@each(
    ("field", "body"),
    [(b"Content-Length: 2", b"{}"), (b"Transfer-Encoding: chunked", b"2\r\n{}\r\n0\r\n\r\n")],
)
def test_the_body_is_still_found_after_the_expectation_was_taken(field: bytes, body: bytes) -> None:
    arrival = Arrival(0.0)
    arrival.add(HEAD + b"Expect: 100-continue\r\n" + field + b"\r\n\r\n")
    arrival.take_expectation()
    assert [arrival.add(body[:-1]), arrival.add(body[-1:])] == [PART, WHOLE]


@each(
    ("request_", "expected"),
    [
        (b"X-Forwarded-For: 192.0.2.1\r\n\r\n", " 192.0.2.1"),
        (b"x-forwarded-for:192.0.2.1\r\nX-Forwarded-For:192.0.2.2\r\n\r\n", "192.0.2.1,192.0.2.2"),
        (b"Content-Length: 29\r\n\r\n\r\nX-Forwarded-For: 192.0.2.1\r\n", ""),
        (b"Forwarded: for=192.0.2.1\r\n\r\n", ""),
        (b"X-Forwarded-For: 192.0.2.1\r\n", ""),
    ],
)
def test_the_client_of_a_proxy_is_read_from_a_complete_head(request_: bytes, expected: str) -> None:
    arrival = Arrival(0.0)
    arrival.add(HEAD + request_)
    assert arrival.forwarded_for() == expected


@each(
    ("request_", "seconds"),
    [
        (b"", HEAD_SECONDS),
        (HEAD, HEAD_SECONDS),
        (CHUNKED, BODY_SECONDS + len(CHUNKED) / BODY_BYTES_PER_SECOND),
    ],
)
def test_it_waits_so_long(request_: bytes, seconds: float) -> None:
    arrival = Arrival(1000.0)
    arrival.add(request_)
    assert arrival.deadline() == 1000.0 + seconds
