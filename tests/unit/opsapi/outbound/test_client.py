"""The outbound client against a real receiver on loopback."""

import socket
import threading
from collections.abc import Iterator
from ipaddress import ip_network

import pytest
from pytest_django import Settings

from opsapi.outbound import OutboundError, OutboundReason, post
from opsapi.outbound.errors import PUBLIC_TEXT, UNREACHABLE
from tests.each import each
from tests.receivers import HttpReceiver
from tests.unit.opsapi.outbound.names import resolve_names

SECRET_PATH = "/services/very-secret-token?key=another-secret"


@pytest.fixture
def unread_port() -> Iterator[int]:
    """A port that accepts connections and never reads from them."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield int(server.getsockname()[1])


@pytest.fixture
def closed_port() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def reason_of(url: str, body: bytes = b"{}", *, total_timeout: float = 5.0) -> OutboundReason:
    """Why a POST there gets no answer."""
    with pytest.raises(OutboundError) as caught:
        post(url, body, {}, total_timeout=total_timeout)
    return caught.value.reason


def test_it_posts_body_and_headers_as_given(http_receiver: HttpReceiver) -> None:
    post(http_receiver.url("/a/b?c=d"), b'{"a":1}', {"Content-Type": "application/json"})
    [request] = http_receiver.requests
    assert (request.method, request.path, request.body) == ("POST", "/a/b?c=d", b'{"a":1}')
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Host"] == f"127.0.0.1:{http_receiver.port}"
    assert request.headers["Connection"] == "close"


def test_it_returns_status_retry_after_and_body(http_receiver: HttpReceiver) -> None:
    http_receiver.answer(503, {"Retry-After": "7", "X-Other": "x"}, b"busy")
    response = post(http_receiver.url(), b"{}", {})
    assert (response.status, response.retry_after, response.body) == (503, "7", b"busy")


def test_it_does_not_follow_a_redirect(http_receiver: HttpReceiver) -> None:
    http_receiver.answer(307, {"Location": http_receiver.url("/elsewhere")})
    assert post(http_receiver.url(), b"{}", {}).status == 307
    assert [request.path for request in http_receiver.requests] == ["/hook"]


def test_it_reads_no_more_than_the_limit_of_an_oversized_answer(http_receiver: HttpReceiver) -> None:
    http_receiver.answer(200, {}, b"x" * 5_000_000)
    assert post(http_receiver.url(), b"{}", {}, body_limit=10).body == b"x" * 10


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 20", b"HTTP/1.1 103 Early Hints\r\nX-Slow: "])
def test_a_receiver_that_is_slow_with_its_status_line_times_out(
    http_receiver: HttpReceiver, start: bytes
) -> None:
    http_receiver.drip(start)
    assert reason_of(http_receiver.url(), total_timeout=1.5) is not OutboundReason.TIMED_OUT


@pytest.mark.parametrize(
    ("start", "body"),
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nX-Slow: ", b"", id="headers"),
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n", b"x", id="body"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"", id="chunk size"),
    ],
)
def test_a_receiver_that_is_slow_after_its_status_line_has_answered(
    http_receiver: HttpReceiver, start: bytes, body: bytes
) -> None:
    http_receiver.drip(start)
    response = post(http_receiver.url(), b"{}", {}, total_timeout=1.5)
    assert (response.status, response.body[:1]) == (200, body)


@pytest.mark.parametrize(
    "framing", [b"Content-Length: 60000\r\n\r\n", b"Transfer-Encoding: chunked\r\n\r\n1;"]
)
def test_an_unread_body_does_not_change_the_status(http_receiver: HttpReceiver, framing: bytes) -> None:
    http_receiver.drip(b"HTTP/1.1 200 OK\r\n" + framing)
    response = post(http_receiver.url(), b"{}", {}, body_limit=0)
    assert (response.status, response.body) == (200, b"")


def test_a_receiver_that_does_not_answer_times_out(unread_port: int, http_receiver: HttpReceiver) -> None:
    url = f"http://127.0.0.1:{unread_port}/"
    assert reason_of(url, total_timeout=1.5) is OutboundReason.NO_ANSWER


def test_a_receiver_that_reads_nothing_times_out(unread_port: int, http_receiver: HttpReceiver) -> None:
    url = f"http://127.0.0.1:{unread_port}/"
    assert reason_of(url, b"x" * 30_000_000, total_timeout=1.5) is OutboundReason.NO_ANSWER


def test_it_is_not_held_by_a_resolver_that_hangs(
    http_receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    released = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: released.wait() and [])
    assert reason_of("http://slow.example/", total_timeout=0.1) is OutboundReason.TIMED_OUT
    released.set()


def test_a_closed_port_is_not_connected(closed_port: int, http_receiver: HttpReceiver) -> None:
    assert reason_of(f"http://127.0.0.1:{closed_port}/") is OutboundReason.NOT_CONNECTED


@pytest.mark.parametrize("garbage", [b"220 mail.example ESMTP\r\n", b"HTTP/1.1 abc\r\n\r\n"])
def test_a_response_that_is_not_http_is_a_bad_response(http_receiver: HttpReceiver, garbage: bytes) -> None:
    http_receiver.behave(lambda handler: handler.wfile.write(garbage))
    assert reason_of(http_receiver.url()) is OutboundReason.BAD_RESPONSE


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "[::ffff:127.0.0.1]",
        "[::1]",
    ],
)
def test_it_refuses_loopback_in_every_spelling(
    http_receiver: HttpReceiver, settings: Settings, host: str
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = []
    assert reason_of(http_receiver.url(host=host)) is OutboundReason.REFUSED_ADDRESS
    assert http_receiver.requests == []


def test_it_refuses_a_name_with_one_private_address(
    http_receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_names(monkeypatch, {"mixed.example": ["127.0.0.1", "10.0.0.1"]})
    assert reason_of(http_receiver.url(host="mixed.example")) is OutboundReason.REFUSED_ADDRESS
    assert http_receiver.requests == []


def test_it_resolves_once_and_names_the_host(
    http_receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = resolve_names(monkeypatch, {"hook.example": ["127.0.0.1"]})
    post(http_receiver.url(host="hook.example"), b"{}", {})
    assert asked == ["hook.example"]
    assert http_receiver.requests[0].headers["Host"] == f"hook.example:{http_receiver.port}"


def test_it_tries_the_next_address_when_one_does_not_answer(
    http_receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolve_names(monkeypatch, {"two.example": ["127.0.0.2", "127.0.0.1"]})
    assert post(http_receiver.url(host="two.example"), b"{}", {}).status == 200


@pytest.mark.parametrize("host", ["a" * 64 + ".example", "nobody.example"])
def test_a_name_without_address_is_unresolvable(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    def getaddrinfo(name: str, *_: object, **__: object) -> list[object]:
        name.encode("idna")
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert reason_of(f"http://{host}/") is OutboundReason.UNRESOLVABLE


@each(
    "url",
    [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http://",
        "http:///path",
        "http://user@example.com/",
        "https://user:password@example.com/",
        "http://:@example.com/",
        "http://exa mple.com/",
        "http://example.com:65536/",
        "http://example.com\r\nX-Injected: 1/",
        "http://[::1",
    ],
)
def test_it_refuses_urls_it_cannot_or_should_not_call(url: str) -> None:
    assert reason_of(url) is OutboundReason.INVALID_URL


def test_it_looks_for_no_proxy(
    http_receiver: HttpReceiver, closed_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port}")
    assert post(http_receiver.url(), b"{}", {}).status == 200


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(b"%s\r\n\r\n", id="in the status line"),
        pytest.param(b"HTTP/1.1 200 OK\r\nnonsense %s\r\nX: y\r\n\r\n", id="in a malformed header"),
        pytest.param(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s\r\n", id="in a chunk size"),
    ],
)
def test_it_logs_no_url_even_when_the_receiver_echoes_it(
    http_receiver: HttpReceiver, caplog: pytest.LogCaptureFixture, answer: bytes
) -> None:
    caplog.set_level("DEBUG")
    http_receiver.behave(lambda handler: handler.wfile.write(answer % handler.path.encode()))
    error: object = None
    try:
        post(http_receiver.url(SECRET_PATH), b"{}", {})
    except OutboundError as caught:
        error = caught
    assert http_receiver.requests[0].path == SECRET_PATH
    assert "secret" not in f"{caplog.text} {error}"


def test_it_logs_the_details_it_does_not_show(
    http_receiver: HttpReceiver, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [ip_network("10.0.0.0/8")]
    with pytest.raises(OutboundError, match=f"^{UNREACHABLE}$"):
        post(http_receiver.url(SECRET_PATH), b"{}", {})
    assert "http://127.0.0.1: refused address (127.0.0.1 is not public)" in caplog.text
    assert "secret" not in caplog.text


@each(
    "reason",
    [
        OutboundReason.REFUSED_ADDRESS,
        OutboundReason.UNRESOLVABLE,
        OutboundReason.NOT_CONNECTED,
        OutboundReason.TIMED_OUT,
    ],
)
def test_refusals_closed_ports_and_timeouts_read_the_same(reason: OutboundReason) -> None:
    error = OutboundError(reason)
    assert (str(error), error.retryable) == (UNREACHABLE, True)


def test_only_an_invalid_url_fails_for_good() -> None:
    assert [reason for reason in PUBLIC_TEXT if not OutboundError(reason).retryable] == [
        OutboundReason.INVALID_URL
    ]
