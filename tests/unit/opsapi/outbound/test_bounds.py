"""However much a receiver answers, and however slowly, it gets its share and no more."""

import gzip
from http.server import BaseHTTPRequestHandler

import pytest

from opsapi.outbound import OutboundError, OutboundReason, post
from tests.receivers import HttpReceiver

LIMIT = 1000


def reason_of(url: str, *, total_timeout: float = 5.0) -> OutboundReason:
    """Why a POST there gets no answer."""
    with pytest.raises(OutboundError) as caught:
        post(url, b"{}", {}, total_timeout=total_timeout, body_limit=LIMIT)
    return caught.value.reason


@pytest.mark.parametrize(
    "framing",
    [
        pytest.param(b"Content-Length: 99999999999\r\n\r\n", id="says it is long"),
        pytest.param(b"\r\n", id="says nothing"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n5F5E0FF\r\n", id="in one chunk"),
    ],
)
def test_an_answer_without_end_is_read_up_to_the_limit(http_receiver: HttpReceiver, framing: bytes) -> None:
    def behaviour(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + framing)
        while not http_receiver.stopped.is_set():
            handler.wfile.write(b"x" * 10_000)

    http_receiver.behave(behaviour)
    response = post(http_receiver.url(), b"{}", {}, body_limit=LIMIT)
    assert (response.status, response.body) == (200, b"x" * LIMIT)


def test_a_compressed_answer_is_not_unpacked(http_receiver: HttpReceiver) -> None:
    packed = gzip.compress(b"x" * 10_000_000)
    http_receiver.answer(200, {"Content-Encoding": "gzip"}, packed)
    assert post(http_receiver.url(), b"{}", {}, body_limit=LIMIT).body == packed[:LIMIT]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"X-Long: " + b"x" * 100_000 + b"\r\n", id="one long line"),
        pytest.param(b"X: y\r\n" * 1000, id="many lines"),
    ],
)
def test_headers_without_end_do_not_change_the_status(http_receiver: HttpReceiver, line: bytes) -> None:
    http_receiver.behave(lambda handler: handler.wfile.write(b"HTTP/1.1 200 OK\r\n" + line + b"\r\n"))
    assert post(http_receiver.url(), b"{}", {}).status == 200


def test_interim_answers_without_end_are_no_answer(http_receiver: HttpReceiver) -> None:
    def behaviour(handler: BaseHTTPRequestHandler) -> None:
        while not http_receiver.stopped.is_set():
            handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")

    http_receiver.behave(behaviour)
    assert reason_of(http_receiver.url()) is OutboundReason.BAD_RESPONSE


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"HTTP/1.1 302 Found\r\nLocation: %s\r\n\r\n", id="redirect"),
        pytest.param(b"HTTP/1.1 200 %s\r\nContent-Length: nonsense %s\r\n\r\n", id="length"),
        pytest.param(b"HTTP/9.9 %s\r\n\r\n", id="version"),
    ],
)
def test_no_credential_gets_into_the_log_or_an_error(
    http_receiver: HttpReceiver, caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    caplog.set_level("DEBUG")
    said = [b"a-very-secret-token"] * answer.count(b"%s")
    http_receiver.behave(lambda handler: handler.wfile.write(answer % tuple(said)))
    logged_error = ""
    try:
        url = http_receiver.url("/a-very-secret-token?key=a-very-secret-token")
        post(url, b"a-very-secret-token", {"Authorization": "Bearer a-very-secret-token"})
    except OutboundError as error:
        logged_error = f"{error!r} {error.__cause__!r} {error.__context__!r}"
    assert len(http_receiver.requests) == 1
    assert "very-secret" not in f"{caplog.text} {[vars(record) for record in caplog.records]} {logged_error}"
