"""Requests through the outgoing proxy: a real proxy in front of a real receiver."""

import socket
import ssl
from base64 import b64encode
from ipaddress import ip_network
from pathlib import Path

import pytest
from pytest_django import Settings

from opsapi.outbound import OutboundError, OutboundReason, post
from opsapi.outbound.errors import Stage
from opsapi.outgoing_proxy import OutgoingProxy, Unproxied
from tests.processes.certificates import Authority
from tests.proxies import Proxy
from tests.receivers import LOOPBACK, HttpReceiver
from tests.unit.opsapi.outbound.names import answer_names, resolve_names

PASSWORD = "s3cret/pass word"
LOG_IN = f"Basic {b64encode(f'ada:{PASSWORD}'.encode()).decode()}"
USER_INFO = "ada:s3cret%2Fpass%20word@"


@pytest.fixture
def authority(settings: Settings, tmp_path: Path) -> Authority:
    """An authority that the settings name."""
    authority = Authority(tmp_path / "ca")
    settings.OPSAPI_OUTBOUND_CA_FILE = str(authority.file)
    return authority


@pytest.fixture(autouse=True)
def names(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A receiver and a proxy with names of their own."""
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    resolve_names(monkeypatch, {"hook.example": ["127.0.0.1"], "proxy.example": ["127.0.0.1"]})


def context_of(authority: Authority, name: str) -> ssl.SSLContext:
    """The server's side of TLS, with a certificate for the name."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority.issue(name, name))
    return context


def failure_of(url: str, *, total_timeout: float = 5.0) -> OutboundError:
    """Why a POST there gets no answer."""
    with pytest.raises(OutboundError) as caught:
        post(url, b"{}", {}, total_timeout=total_timeout)
    assert not caught.value.sent
    return caught.value


def test_http_goes_to_the_proxy_with_its_whole_url(http_receiver: HttpReceiver, settings: Settings) -> None:
    http_receiver.answer(503, {"Retry-After": "7"}, b"busy")
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        url = http_receiver.url("/a%20b?c=%2F", host="hook.example")
        response = post(url, b'{"a":1}', {"X-Signature": "abc"})
    assert (response.status, response.retry_after, response.body) == (503, "7", b"busy")
    [asked], [received] = proxy.requests, http_receiver.requests
    assert (asked.method, asked.path) == ("POST", url)
    assert asked.headers["Host"] == f"hook.example:{http_receiver.port}"
    assert (received.path, received.body) == ("/a%20b?c=%2F", b'{"a":1}')
    assert received.headers["X-Signature"] == "abc"


@pytest.mark.parametrize("is_tls", [False, True], ids=["http proxy", "https proxy"])
def test_https_goes_through_a_tunnel_to_the_name(
    authority: Authority, settings: Settings, is_tls: bool
) -> None:
    with (
        HttpReceiver(context_of(authority, "hook.example")).running() as receiver,
        Proxy(context_of(authority, "proxy.example") if is_tls else None, log_in=LOG_IN).running() as proxy,
    ):
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting(USER_INFO, "proxy.example")
        receiver.answer(200, {}, b"x" * 40_000)
        response = post(receiver.url(host="hook.example"), b"y" * 100_000, {})
    assert (response.status, response.body) == (200, b"x" * 40_000)
    [asked], [received] = proxy.requests, receiver.requests
    assert (asked.method, asked.path) == ("CONNECT", f"hook.example:{receiver.port}")
    assert asked.headers["Proxy-Authorization"] == LOG_IN
    assert received.body == b"y" * 100_000
    assert received.headers["Host"] == f"hook.example:{receiver.port}"
    assert "Proxy-Authorization" not in received.headers


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("is_tls", [False, True], ids=["http proxy", "https proxy"])
def test_connections_through_the_proxy_are_kept_for_their_owner(
    authority: Authority, settings: Settings, scheme: str, is_tls: bool
) -> None:
    context = context_of(authority, "hook.example") if scheme == "https" else None
    with (
        HttpReceiver(context, keeps_alive=True).running() as receiver,
        Proxy(context_of(authority, "proxy.example") if is_tls else None).running() as proxy,
    ):
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting(host="proxy.example")
        for owner in ("a", "a", "a", "b"):
            assert post(receiver.url(host="hook.example"), b"{}", {}, owner=owner).status == 200
        assert (len(receiver.requests), len(proxy.clients)) == (4, 2)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_the_proxy_hears_nothing_of_a_forbidden_receiver(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    resolve_names(monkeypatch, {"hook.example": ["203.0.113.5", "10.0.0.1"]})
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY, settings.OPSAPI_OUTBOUND_ALLOW = proxy.setting(), []
        for host in ("hook.example", "127.0.0.1", "[::1]", "169.254.169.254", "10.0.0.1"):
            assert failure_of(f"{scheme}://{host}/").reason is OutboundReason.REFUSED_ADDRESS
    assert proxy.clients == []


def test_a_name_that_only_the_proxy_can_resolve_is_refused_and_the_log_says_why(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        failure = failure_of("https://hook.invalid/")
    assert (failure.reason, failure.stage) == (OutboundReason.UNRESOLVABLE, Stage.RESOLVE)
    assert "the platform resolves names itself" in caplog.text
    assert proxy.clients == []


def test_a_kept_connection_is_not_used_for_an_address_that_is_now_forbidden(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer_names(monkeypatch, {"hook.example": [["127.0.0.1"], ["10.0.0.1"]]})
    with HttpReceiver(keeps_alive=True).running() as receiver, Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        assert post(receiver.url(host="hook.example"), b"{}", {}, owner="a").status == 200
        settings.OPSAPI_OUTBOUND_ALLOW = []
        with pytest.raises(OutboundError) as caught:
            post(receiver.url(host="hook.example"), b"{}", {}, owner="a")
    assert caught.value.reason is OutboundReason.REFUSED_ADDRESS
    assert len(proxy.requests) == 1


def test_receivers_of_no_proxy_are_reached_directly(http_receiver: HttpReceiver, settings: Settings) -> None:
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        for unproxied in (Unproxied(["hook.example"]), Unproxied(["example"]), Unproxied([], [LOOPBACK])):
            settings.OPSAPI_OUTBOUND_NO_PROXY = unproxied
            assert post(http_receiver.url(host="hook.example"), b"{}", {}).status == 200
        assert (len(http_receiver.requests), proxy.clients) == (3, [])
        settings.OPSAPI_OUTBOUND_NO_PROXY = Unproxied(["other.example"], [ip_network("10.0.0.0/8")])
        assert post(http_receiver.url(host="hook.example"), b"{}", {}).status == 200
        assert len(proxy.requests) == 1


def test_the_environment_names_no_proxy(http_receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    with Proxy().running() as proxy:
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url())
        assert post(http_receiver.url(), b"{}", {}).status == 200
    assert proxy.clients == []


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_neither_error_nor_log_shows_the_log_in(
    settings: Settings, caplog: pytest.LogCaptureFixture, scheme: str
) -> None:
    caplog.set_level("DEBUG")
    echo = f"HTTP/1.1 407 No {LOG_IN} or {PASSWORD}\r\nContent-Type: text/plain\r\n\r\n{PASSWORD}"
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting(USER_INFO)
        proxy.answer(echo.encode())
        failure = failure_of(f"{scheme}://hook.example/secret-path")
    assert (failure.stage, failure.code) == (Stage.PROXY_ANSWER, 407)
    assert f"through the outgoing proxy {proxy.url()}" in caplog.text
    shown = f"{failure} {failure!r} {vars(failure)} {caplog.text} {[vars(each) for each in caplog.records]}"
    for secret in (PASSWORD, LOG_IN.partition(" ")[2], "secret-path"):
        assert secret not in shown


@pytest.mark.parametrize("place", ["phrase", "field", "text"])
def test_a_log_in_is_masked_before_the_text_of_the_proxy_is_cut(
    settings: Settings, caplog: pytest.LogCaptureFixture, place: str
) -> None:
    sent = LOG_IN.partition(" ")[2]
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting(USER_INFO)
        for secret in (PASSWORD, sent, f"ada:{PASSWORD}"):
            for length in range(300 - len(secret), 300, 3):
                said = b"x" * length + secret.encode()
                parts = {name: said if name == place else b"" for name in ("phrase", "field", "text")}
                proxy.answer(
                    b"HTTP/1.1 403 %(phrase)s\r\nX-Squid-Error: %(field)s\r\n"
                    b"Content-Type: text/plain\r\n\r\n%(text)s"
                    % {name.encode(): part for name, part in parts.items()}
                )
                failure_of("https://hook.example/")
    assert "xxx" in caplog.text
    assert not any(form in caplog.text for form in (PASSWORD[:4], sent[:4], "ada:"))


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1"])
def test_the_proxy_gets_the_checked_address_of_a_host_that_is_a_number(
    http_receiver: HttpReceiver, settings: Settings, host: str
) -> None:
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        assert post(http_receiver.url("/hook", host=host), b"{}", {}).status == 200
        assert failure_of(f"https://{host}:{http_receiver.port}/").stage is Stage.TLS
    plain, tunnel = proxy.requests
    authority = f"127.0.0.1:{http_receiver.port}"
    assert (plain.path, plain.headers["Host"]) == (f"http://{authority}/hook", authority)
    assert (tunnel.path, tunnel.headers["Host"]) == (authority, authority)


@pytest.mark.parametrize(
    ("raw", "expected", "logged"),
    [
        (b"HTTP/1.1 403 Filtered\r\n\r\n", (Stage.PROXY_ANSWER, 403, OutboundReason.REFUSED), "403 Filtered"),
        (
            b"HTTP/1.1 503 Service Unavailable\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\n\r\n",
            (Stage.PROXY_ANSWER, 503, OutboundReason.REFUSED),
            "ERR_DNS_FAIL",
        ),
        (
            b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/plain\r\n\r\nno route\r\nto host",
            (Stage.PROXY_ANSWER, 502, OutboundReason.REFUSED),
            "no route to host",
        ),
        (
            b"HTTP/1.1 302 Moved\r\nLocation: /\r\n\r\n",
            (Stage.PROXY_ANSWER, 302, OutboundReason.REFUSED),
            "302",
        ),
        (b"SSH-2.0-OpenSSH\r\n", (Stage.PROXY_ANSWER, None, OutboundReason.BAD_RESPONSE), "bad response"),
        (
            b"HTTP/1.1 100\r\n\r\n" * 20_000,
            (Stage.PROXY_ANSWER, None, OutboundReason.BAD_RESPONSE),
            "bad response",
        ),
        (b"", (Stage.PROXY_ANSWER, None, OutboundReason.NO_ANSWER), "no answer"),
        (b"HTTP/1.1 20", (Stage.PROXY_ANSWER, None, OutboundReason.NO_ANSWER), "no answer"),
        (b"HTTP/1.1 200 OK\r\nX-A: b", (Stage.PROXY_ANSWER, None, OutboundReason.NO_ANSWER), "no answer"),
        (b"HTTP/1.1 200 OK\r\n\r\n", (Stage.CONNECT, None, OutboundReason.NOT_CONNECTED), "not connected"),
    ],
    ids=lambda value: repr(value[:30]) if isinstance(value, bytes) else "",
)
def test_an_answer_to_connect_that_opens_no_tunnel(
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    raw: bytes,
    expected: tuple[Stage, int | None, OutboundReason],
    logged: str,
) -> None:
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        proxy.answer(raw)
        failure = failure_of("https://hook.example/")
    assert (failure.stage, failure.code, failure.reason) == expected
    assert logged in caplog.text
    assert str(settings.OPSAPI_OUTBOUND_PROXY) in caplog.text


def test_interim_responses_before_the_tunnel_are_skipped(authority: Authority, settings: Settings) -> None:
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        proxy.answer(b"HTTP/1.1 100 Continue\r\n\r\n" * 21 + b"HTTP/1.1 403 No\r\n\r\n")
        assert failure_of("https://hook.example/").code == 403


def test_a_proxy_that_does_not_listen(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    for scheme in ("http", "https"):
        settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("http", "127.0.0.1", port)
        failure = failure_of(f"{scheme}://hook.example/")
        assert (failure.stage, failure.reason) == (Stage.PROXY_CONNECT, OutboundReason.NOT_CONNECTED)
        settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("http", "proxy.invalid", port)
        failure = failure_of(f"{scheme}://hook.example/")
        assert (failure.stage, failure.reason) == (Stage.PROXY_RESOLVE, OutboundReason.UNRESOLVABLE)


def test_tls_of_the_proxy_is_verified(
    authority: Authority, settings: Settings, http_receiver: HttpReceiver
) -> None:
    with Proxy(context_of(authority, "other.example")).running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting(host="proxy.example")
        failure = failure_of(http_receiver.url(host="hook.example"))
        assert (failure.stage, failure.reason) == (Stage.PROXY_TLS, OutboundReason.BAD_CERTIFICATE)
        assert failure.detail.endswith("not valid for its name")
        assert proxy.requests == []
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("https", "proxy.example", proxy.port)
        failure = failure_of(http_receiver.url(host="hook.example"))
        assert (failure.stage, failure.reason) == (Stage.PROXY_TLS, OutboundReason.BAD_TLS)


def test_the_certificate_of_the_receiver_is_verified_in_the_tunnel(
    authority: Authority, settings: Settings
) -> None:
    for is_tls in (False, True):
        with (
            HttpReceiver(context_of(authority, "other.example")).running() as receiver,
            Proxy(context_of(authority, "proxy.example") if is_tls else None).running() as proxy,
        ):
            settings.OPSAPI_OUTBOUND_PROXY = proxy.setting(host="proxy.example")
            failure = failure_of(receiver.url(host="hook.example"))
        assert (failure.stage, failure.reason) == (Stage.TLS, OutboundReason.BAD_CERTIFICATE)
        assert receiver.requests == []


def test_a_receiver_without_tls_behind_the_proxy(http_receiver: HttpReceiver, settings: Settings) -> None:
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        failure = failure_of(http_receiver.url(host="hook.example").replace("http:", "https:"))
    assert (failure.stage, failure.reason) == (Stage.TLS, OutboundReason.BAD_TLS)


@pytest.mark.slow
def test_a_proxy_that_hangs_ends_with_the_deadline(settings: Settings) -> None:
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        proxy.hang()
        failure = failure_of("https://hook.example/", total_timeout=2.0)
        assert (failure.stage, failure.reason) == (Stage.PROXY_ANSWER, OutboundReason.NO_ANSWER)
        with pytest.raises(OutboundError) as caught:
            post("http://hook.example/", b"{}", {}, total_timeout=2.0)
    assert (caught.value.reason, caught.value.sent) == (OutboundReason.NO_ANSWER, True)


@pytest.mark.slow
@pytest.mark.parametrize("is_tls", [False, True], ids=["http proxy", "https proxy"])
def test_a_receiver_that_drips_behind_the_proxy_ends_with_the_deadline(
    authority: Authority, settings: Settings, is_tls: bool
) -> None:
    with (
        HttpReceiver(context_of(authority, "hook.example")).running() as receiver,
        Proxy(context_of(authority, "proxy.example") if is_tls else None).running() as proxy,
    ):
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting(host="proxy.example")
        receiver.drip(b"")
        with pytest.raises(OutboundError) as caught:
            post(receiver.url(host="hook.example"), b"{}", {}, total_timeout=4.0)
    assert (caught.value.reason, caught.value.sent) == (OutboundReason.NO_ANSWER, True)
