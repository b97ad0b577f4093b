"""Each row of the table of stages of HTTP, and errors after the status line, with real receivers."""

import json
import socket
import ssl
import struct
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path

import pytest
from pytest_django import Settings

from integrations.channels import http
from integrations.channels.delivery import deliver
from integrations.channels.outcome import Outcome, Posted
from integrations.channels.stages import (
    AFTER_2XX,
    ANYTHING,
    CHAT_POST_MESSAGE,
    CHAT_UPDATE,
    HTTP,
    INCOMPLETE,
    PROXIED,
    UNREADABLE_CODE,
    Quote,
    Receipt,
    StageRow,
    row_of,
)
from integrations.choices import ChannelType, DeliveryFault, DeliveryStatus, MessageKind
from integrations.messages import Message
from opsapi.outbound import client, guard, tunnel
from opsapi.outbound.errors import UNREACHABLE, OutboundError, OutboundReason, Stage
from opsapi.outbound.guard import Address
from opsapi.outbound.pool import BoundedSocket, Deadline
from opsapi.outgoing_proxy import OutgoingProxy
from tests.integration.channels.provider import provide
from tests.integration.channels.tried_rows import (
    REFUSED_BY_TLS,
    TriedRows,
    asking_for_certificates,
    closing_port,
    full_port,
    hanging_resolver,
    unanswering_port,
)
from tests.processes.certificates import make_certificate
from tests.proxies import Proxy
from tests.receivers import LOOPBACK, HttpReceiver
from tests.unit.integrations.messages import NOW, make_message

CODES: Mapping[str, int] = {"2xx": 204, "3xx": 307, "4xx": 422, "5xx": 502, UNREADABLE_CODE: 799}
TRIED, TRIED_OF_SLACK, TRIED_OF_CHANGES = TriedRows(), TriedRows(), TriedRows()
"""Of HTTP, of new messages in Slack, and of changed messages in Slack."""
STATUSES = TRIED.all_of(
    (row, answer)
    for row in HTTP
    for answer in row.answers
    if row.stage is Stage.STATUS and answer not in set(OutboundReason)
)


def outcome_of(url: str, **config: str) -> Outcome:
    """The outcome of a webhook."""
    return deliver(ChannelType("WEBHOOK"), {"url": url, **config}, make_message(), now=NOW)


def assert_as_declared(outcome: Outcome, row: StageRow) -> None:
    """The outcome is that of the row."""
    assert (outcome.status, outcome.perhaps_received) == (row.status, row.receipt is Receipt.PERHAPS)
    if row.status is not DeliveryStatus.DELIVERED:
        assert outcome.fault is row.fault
        assert (outcome.reason or "").startswith(row.said.partition("{")[0])


@pytest.mark.parametrize(
    ("row", "answer"), STATUSES, ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_status_has_the_consequence_of_its_row(
    http_receiver: HttpReceiver, row: StageRow, answer: str
) -> None:
    http_receiver.answer(CODES.get(answer) or int(answer), {"Content-Type": "text/plain"}, b"so it says")
    outcome = outcome_of(http_receiver.url())
    assert_as_declared(outcome, row)
    assert ("so it says" in (outcome.reason or "")) is (row.quote is Quote.PEER)
    assert len(http_receiver.requests) == 1


INTERIM = b"HTTP/1.1 103 Early Hints\r\n\r\n"


@TRIED.by(Stage.STATUS, OutboundReason.NO_ANSWER, OutboundReason.BAD_RESPONSE)
@TRIED.by(Stage.INTERIM, OutboundReason.NO_ANSWER, OutboundReason.BAD_RESPONSE)
@pytest.mark.parametrize(
    ("raw", "stage", "answer"),
    [
        (b"", Stage.STATUS, OutboundReason.NO_ANSWER),
        (b"HTTP/1.1 20", Stage.STATUS, OutboundReason.BAD_RESPONSE),
        (b"220 mail.example ESMTP\r\n", Stage.STATUS, OutboundReason.BAD_RESPONSE),
        (INTERIM + b"HTTP/1.1 20", Stage.STATUS, OutboundReason.BAD_RESPONSE),
        (INTERIM, Stage.INTERIM, OutboundReason.NO_ANSWER),
        (INTERIM * 12_000 + b"HTTP/1.1 200 OK\r\n\r\n", Stage.INTERIM, OutboundReason.BAD_RESPONSE),
    ],
    ids=[
        "nothing",
        "half a status line",
        "no HTTP",
        "103 and half a status line",
        "only 103",
        "more than 256 KiB of 103",
    ],
)
def test_without_a_final_status_line_the_message_was_perhaps_received(
    http_receiver: HttpReceiver, raw: bytes, stage: Stage, answer: OutboundReason
) -> None:
    http_receiver.behave(lambda handler: handler.wfile.write(raw))
    assert_as_declared(outcome_of(http_receiver.url()), row_of(HTTP, stage, answer))
    with pytest.raises(OutboundError) as caught:
        client.post(http_receiver.url(), b"{}", {})
    assert (caught.value.stage, caught.value.reason) == (stage, answer)


@TRIED.by(Stage.REQUEST, OutboundReason.NO_ANSWER)
@pytest.mark.parametrize("hangs_up", [False, True])
def test_a_receiver_that_stops_reading_has_perhaps_received_the_message(
    settings: Settings, hangs_up: bool
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    released = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def stop_reading() -> None:
            sock, _ = server.accept()
            with sock:
                sock.recv(10)
                if not hangs_up:
                    released.wait()

        thread = threading.Thread(target=stop_reading)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(OutboundError) as caught:
            client.post(url, b"x" * 50_000_000, {}, total_timeout=15 if hangs_up else 0.5)
        released.set()
        thread.join()
    assert (caught.value.stage, caught.value.reason) == (Stage.REQUEST, OutboundReason.NO_ANSWER)
    assert row_of(HTTP, Stage.REQUEST, OutboundReason.NO_ANSWER).receipt is Receipt.PERHAPS


@pytest.mark.parametrize("interim", [b"100 Continue", b"102 Processing", b"103 Early Hints", b"199 Odd"])
@pytest.mark.parametrize("times", [1, 21, 1000])
def test_it_reads_past_every_interim_response(
    http_receiver: HttpReceiver, interim: bytes, times: int
) -> None:
    before = b"HTTP/1.1 %s\r\nLink: </a>; rel=preload\r\n\r\n" % interim * times
    http_receiver.behave(
        lambda handler: handler.wfile.write(
            before + b"HTTP/1.1 202 Accepted\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        )
    )
    assert outcome_of(http_receiver.url()).status is DeliveryStatus.DELIVERED
    http_receiver.behave(
        lambda handler: handler.wfile.write(before + b"HTTP/1.1 429 Busy\r\nRetry-After: 7\r\n\r\n")
    )
    assert outcome_of(http_receiver.url()).retry_after == 7


FIELDS = b"".join(b"X-Field-%d: %s\r\n" % (number, b"y" * 100) for number in range(150))


@pytest.mark.parametrize(
    "rest",
    [
        b"OK\r\n" + FIELDS + b"\r\n",
        b"OK\r\nX-Long: " + b"y" * 100_000 + b"\r\n\r\n",
        b"OK\r\nX-Endless: " + b"y" * 300_000,
        b"OK\r\nno field at all\r\n: none\r\n\x00\xff\r\n\r\n",
        b"OK\r\nContent-Length: many\r\nTransfer-Encoding: odd\r\n\r\nabc",
        b"OK\r\nContent-Length: 60000\r\n\r\ncut off",
        b"OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
        b"OK\r\nContent-Length: 2, 3\r\n\r\nabc",
        b"OK\r\nContent-Length: 2\rContent-Length: 3\r\n\r\nabc",
        b"OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"OK\r\nContent-Ty",
        b"OK\r\n",
        b"\r\n\r\n",
        b"OK\n\n",
    ],
    ids=lambda rest: repr(rest[:24]),
)
@TRIED.by(Stage.HEADERS, AFTER_2XX)
@TRIED.by(Stage.BODY, AFTER_2XX)
@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
def test_a_2xx_status_line_is_a_delivery_whatever_follows(
    http_receiver: HttpReceiver, version: bytes, rest: bytes
) -> None:
    http_receiver.behave(lambda handler: handler.wfile.write(version + b" 200 " + rest))
    assert outcome_of(http_receiver.url()).status is DeliveryStatus.DELIVERED
    http_receiver.behave(lambda handler: handler.wfile.write(version + b" 400 " + rest))
    refused = outcome_of(http_receiver.url())
    assert (refused.status, refused.perhaps_received) == (DeliveryStatus.FAILED, False)
    assert len(http_receiver.requests) == 2


def test_a_connection_reset_after_the_status_line_is_a_delivery(http_receiver: HttpReceiver) -> None:
    def reset(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        # With this option, closing sends RST.
        handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    http_receiver.behave(reset)
    assert outcome_of(http_receiver.url()).status is DeliveryStatus.DELIVERED


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_refusal_is_heard_although_the_receiver_stops_reading(
    settings: Settings, tmp_path: Path, scheme: str
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate, key = make_certificate(tmp_path)
    context.load_cert_chain(certificate, key)
    settings.OPSAPI_OUTBOUND_CA_FILE = str(certificate)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def refuse() -> None:
            plain, _ = server.accept()
            with context.wrap_socket(plain, server_side=True) if scheme == "https" else plain as sock:
                sock.recv(10)
                sock.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                sock.shutdown(socket.SHUT_WR)
                sock.recv(1)

        threading.Thread(target=refuse, daemon=True).start()
        message = make_message(document={"text": "x" * 5_000_000})
        outcome = deliver(ChannelType("WEBHOOK"), {"url": f"{scheme}://127.0.0.1:{port}/"}, message, now=NOW)
    assert (outcome.status, outcome.perhaps_received) == (DeliveryStatus.FAILED, False)


def test_retry_after_counts_among_150_fields(http_receiver: HttpReceiver) -> None:
    http_receiver.behave(
        lambda handler: handler.wfile.write(b"HTTP/1.1 503 Busy\r\n" + FIELDS + b"Retry-After: 9\r\n\r\n")
    )
    assert outcome_of(http_receiver.url()).retry_after == 9


@TRIED.by(Stage.RESOLVE, OutboundReason.UNRESOLVABLE)
@TRIED.by(Stage.CONNECT, OutboundReason.REFUSED_ADDRESS, OutboundReason.NOT_CONNECTED)
def test_the_guard_a_closed_port_and_an_unknown_name_read_the_same(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    settings.OPSAPI_OUTBOUND_ALLOW = []
    refused = outcome_of(f"http://127.0.0.1:{port}/")
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    outcomes = [refused, outcome_of(f"http://127.0.0.1:{port}/"), outcome_of("http://hook.invalid/")]
    for outcome in outcomes:
        assert (outcome.status, outcome.reason, outcome.fault) == (
            DeliveryStatus.RETRY,
            UNREACHABLE,
            DeliveryFault.HOST,
        )


@TRIED.by(Stage.TLS, OutboundReason.BAD_CERTIFICATE, OutboundReason.BAD_TLS)
def test_the_reason_of_the_tls_library_is_shown(settings: Settings, tmp_path: Path) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_certificate(tmp_path))
    with HttpReceiver(context).running() as receiver:
        outcome = outcome_of(receiver.url())
    assert_as_declared(outcome, row_of(HTTP, Stage.TLS, OutboundReason.BAD_CERTIFICATE))
    assert "self-signed certificate" in (outcome.reason or "")
    with HttpReceiver().running() as receiver:
        outcome = outcome_of(receiver.url().replace("http:", "https:"))
    assert_as_declared(outcome, row_of(HTTP, Stage.TLS, OutboundReason.BAD_TLS))


@pytest.mark.parametrize(("version", "said"), REFUSED_BY_TLS.items())
def test_a_receiver_that_asks_for_a_certificate_refuses_in_tls(
    settings: Settings, tmp_path: Path, version: ssl.TLSVersion, said: str
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    settings.OPSAPI_OUTBOUND_CA_FILE = str(tmp_path / "cert.pem")
    with HttpReceiver(asking_for_certificates(tmp_path, version)).running() as receiver:
        for document in ({}, {"text": "x" * 1_000_000}):
            message = make_message(document=document)
            outcome = deliver(ChannelType("WEBHOOK"), {"url": receiver.url()}, message, now=NOW)
            assert_as_declared(outcome, row_of(HTTP, Stage.TLS, OutboundReason.BAD_TLS))
            assert (outcome.reason or "").endswith(said)
    assert receiver.requests == []


def test_a_refusal_in_tls_is_read_after_the_receiver_has_closed(tmp_path: Path) -> None:
    context = asking_for_certificates(tmp_path, ssl.TLSVersion.TLSv1_3)
    trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))

    def refuse() -> None:
        sock, _ = server.accept()
        with pytest.raises(ssl.SSLError):
            context.wrap_socket(sock, server_side=True)

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=refuse)
        thread.start()
        plain = socket.create_connection(("127.0.0.1", server.getsockname()[1]))
        with trusted.wrap_socket(plain, server_hostname="127.0.0.1") as sock:
            thread.join()
            with pytest.raises(ssl.SSLError, match="certificate required"):
                BoundedSocket(sock, Deadline(5)).sendall(b"EHLO ops.example\r\n")


@pytest.mark.parametrize(("version", "said"), REFUSED_BY_TLS.items())
def test_a_proxy_that_asks_for_a_certificate_refuses_in_tls(
    settings: Settings, tmp_path: Path, version: ssl.TLSVersion, said: str
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    settings.OPSAPI_OUTBOUND_CA_FILE = str(tmp_path / "cert.pem")
    with Proxy(asking_for_certificates(tmp_path, version)).running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        for scheme in ("http", "https"):
            outcome = outcome_of(f"{scheme}://127.0.0.1/")
            assert_as_declared(outcome, row_of(HTTP, Stage.PROXY_TLS, OutboundReason.BAD_TLS))
            assert (outcome.reason or "").endswith(said)


REFUSALS = TRIED.all_of(
    (row, answer)
    for row in HTTP
    for answer in row.answers
    if row.stage is Stage.PROXY_ANSWER and answer not in set(OutboundReason)
)


@pytest.mark.parametrize(
    ("row", "answer"), REFUSALS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_each_refusal_of_the_proxy_has_the_consequence_of_its_row(
    settings: Settings, caplog: pytest.LogCaptureFixture, row: StageRow, answer: str
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    codes = {ANYTHING: [403, 400, 429, 302], "5xx": [500, 502, 503, 504]}.get(answer) or [int(answer)]
    for code in codes:
        with Proxy().running() as proxy:
            settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
            proxy.answer(b"HTTP/1.1 %d denied by 10.1.2.3\r\n\r\n" % code)
            outcome = outcome_of("https://127.0.0.1/")
        assert_as_declared(outcome, row)
        assert outcome.reason == row.said.format(code=code)
        assert not outcome.reached
        assert f"{code} denied by 10.1.2.3" in caplog.text


@pytest.mark.parametrize(
    ("row", "answer"),
    TRIED.all_of((row, answer) for row in PROXIED for answer in row.answers),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_status_that_the_proxy_may_have_sent_is_retried(
    http_receiver: HttpReceiver, settings: Settings, row: StageRow, answer: str
) -> None:
    http_receiver.answer(int(answer), {"Content-Type": "text/plain"}, b"so it says")
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        outcome = outcome_of(http_receiver.url())
        assert_as_declared(outcome, row)
        assert (outcome.reason or "").endswith(f"{answer}: so it says")
        assert not outcome.asks_for_less
        http_receiver.answer(404)
        assert_as_declared(outcome_of(http_receiver.url()), row_of(HTTP, Stage.STATUS, 404))
        assert len(proxy.requests) == 2


@TRIED.by(Stage.PROXY_RESOLVE, OutboundReason.UNRESOLVABLE)
@TRIED.by(Stage.PROXY_CONNECT, OutboundReason.NOT_CONNECTED)
@TRIED.by(Stage.PROXY_TLS, OutboundReason.BAD_TLS)
@TRIED.by(Stage.PROXY_ANSWER, OutboundReason.BAD_RESPONSE, OutboundReason.NO_ANSWER)
def test_a_proxy_that_is_away_or_speaks_no_http_has_the_consequence_of_its_row(settings: Settings) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("http", "127.0.0.1", port)
    row = row_of(HTTP, Stage.PROXY_CONNECT, OutboundReason.NOT_CONNECTED)
    assert_as_declared(outcome_of("https://127.0.0.1/"), row)
    settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("http", "proxy.invalid", port)
    row = row_of(HTTP, Stage.PROXY_RESOLVE, OutboundReason.UNRESOLVABLE)
    assert_as_declared(outcome_of("https://127.0.0.1/"), row)
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("https", "127.0.0.1", proxy.port)
        row = row_of(HTTP, Stage.PROXY_TLS, OutboundReason.BAD_TLS)
        assert_as_declared(outcome_of("https://127.0.0.1/"), row)
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        for raw, reason in ((b"SSH-2.0\r\n", OutboundReason.BAD_RESPONSE), (b"", OutboundReason.NO_ANSWER)):
            proxy.answer(raw)
            row = row_of(HTTP, Stage.PROXY_ANSWER, reason)
            assert_as_declared(outcome_of("https://127.0.0.1/"), row)


@TRIED.by(Stage.PROXY_TLS, OutboundReason.BAD_CERTIFICATE)
def test_the_certificate_of_the_proxy_has_the_consequence_of_its_row(
    settings: Settings, tmp_path: Path
) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*make_certificate(tmp_path))
    with Proxy(context).running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        outcome = outcome_of("https://127.0.0.1/")
    assert_as_declared(outcome, row_of(HTTP, Stage.PROXY_TLS, OutboundReason.BAD_CERTIFICATE))
    assert "self-signed certificate" in (outcome.reason or "")


def test_closed_and_filtered_ports_look_the_same_through_a_proxy(settings: Settings) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    outcomes = []
    with Proxy().running() as proxy:
        settings.OPSAPI_OUTBOUND_PROXY = proxy.setting()
        for raw in (b"HTTP/1.1 502 Closed\r\n\r\n", b"HTTP/1.1 504 Filtered\r\n\r\n", b""):
            proxy.answer(raw)
            outcomes.append(outcome_of("https://127.0.0.1/"))
    assert len({outcome.reason for outcome in outcomes}) == 1
    assert not any(outcome.may_show_latency for outcome in outcomes)


@pytest.mark.parametrize(
    ("row", "answer"),
    TRIED_OF_SLACK.all_of(
        (row, answer) for row in CHAT_POST_MESSAGE for answer in row.answers if row.quote is Quote.PEER
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_error_of_slack_has_the_consequence_of_its_row_and_is_named(
    http_receiver: HttpReceiver, settings: Settings, row: StageRow, answer: str
) -> None:
    settings.OPSAPI_CHAT_BASE_URL = http_receiver.url("")
    name = "some_new_error" if answer == ANYTHING else answer
    http_receiver.answer(200, {}, json.dumps({"ok": False, "error": name}).encode())
    config = {"apiToken": "xoxb-0123456789", "channelName": "oncall"}
    outcome = deliver(ChannelType("CHAT_SERVICE"), config, make_message(), now=NOW)
    assert_as_declared(outcome, row)
    assert (outcome.reason or "").endswith(f": {name}")


@pytest.mark.parametrize(
    ("row", "answer"),
    TRIED_OF_CHANGES.all_of(
        (row, answer) for row in CHAT_UPDATE for answer in row.answers if row.quote is Quote.PEER
    ),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_error_of_a_change_in_slack_has_the_consequence_of_its_row(
    http_receiver: HttpReceiver, settings: Settings, row: StageRow, answer: str
) -> None:
    settings.OPSAPI_CHAT_BASE_URL = http_receiver.url("")
    name = "some_new_error" if answer == ANYTHING else answer
    provide(
        http_receiver,
        lambda request: (
            200,
            {"ok": False, "error": name} if request.path.endswith(".update") else {"ok": True},
        ),
    )
    config = {"apiToken": "xoxb-0123456789", "channelName": "oncall", "updateInPlace": "True"}
    message = make_message(kind=MessageKind.CLOSE, handle="C123ABC456 1503435956.000247")
    outcome = deliver(ChannelType("CHAT_SERVICE"), config, message, now=NOW)
    if row.posts_again:
        assert (outcome.status, outcome.posted) == (DeliveryStatus.DELIVERED, Posted("", in_place=False))
        assert len(http_receiver.requests) == 2
    else:
        assert_as_declared(outcome, row)
        assert (outcome.reason or "").endswith(f": {name}")
        assert len(http_receiver.requests) == 1


@pytest.fixture
def brief(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of a connection may take 0.2 s.

    Addresses need no thread of the resolver, which a busy machine can start late.
    """
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    monkeypatch.setattr(http, "post", partial(client.post, connect_timeout=0.2))

    def resolve(host: str, port: int, timeout: float) -> Sequence[Address]:
        return [ip_address(host)] if host == "127.0.0.1" else guard.resolve(host, port, timeout)

    monkeypatch.setattr(client, "resolve", resolve)
    monkeypatch.setattr(tunnel, "resolve", resolve)


@TRIED.by(Stage.CONNECT, OutboundReason.TIMED_OUT)
@pytest.mark.usefixtures("brief")
def test_a_receiver_that_drops_packets_is_the_fault_of_the_host() -> None:
    row = row_of(HTTP, Stage.CONNECT, OutboundReason.TIMED_OUT)
    for scheme in ("http", "https"):
        with full_port() as port:
            assert_as_declared(outcome_of(f"{scheme}://127.0.0.1:{port}/"), row)


@pytest.mark.usefixtures("brief")
def test_a_receiver_that_does_not_answer_in_tls_reads_as_a_closed_port() -> None:
    for port_of, reason in (
        (unanswering_port, OutboundReason.TIMED_OUT),
        (closing_port, OutboundReason.NOT_CONNECTED),
    ):
        with port_of() as port:
            outcome = outcome_of(f"https://127.0.0.1:{port}/")
        assert_as_declared(outcome, row_of(HTTP, Stage.CONNECT, reason))
        assert outcome.reason == UNREACHABLE


@TRIED.by(Stage.PROXY_RESOLVE, OutboundReason.TIMED_OUT)
@pytest.mark.usefixtures("brief")
def test_a_resolver_that_hangs_for_the_proxy_has_the_consequence_of_its_row(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("http", "proxy.example", 3128)
    with hanging_resolver(monkeypatch, "proxy.example"):
        outcome = outcome_of("https://127.0.0.1/")
    assert_as_declared(outcome, row_of(HTTP, Stage.PROXY_RESOLVE, OutboundReason.TIMED_OUT))


@TRIED.by(Stage.PROXY_CONNECT, OutboundReason.TIMED_OUT)
@pytest.mark.usefixtures("brief")
def test_a_proxy_that_drops_packets_has_the_consequence_of_its_row(settings: Settings) -> None:
    with full_port() as port:
        settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("http", "127.0.0.1", port)
        outcome = outcome_of("https://127.0.0.1/")
    assert_as_declared(outcome, row_of(HTTP, Stage.PROXY_CONNECT, OutboundReason.TIMED_OUT))


@TRIED.by(Stage.PROXY_TLS, OutboundReason.TIMED_OUT)
@pytest.mark.usefixtures("brief")
def test_a_proxy_that_never_answers_in_tls_has_the_consequence_of_its_row(settings: Settings) -> None:
    with unanswering_port() as port:
        settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("https", "127.0.0.1", port)
        outcome = outcome_of("https://127.0.0.1/")
    assert_as_declared(outcome, row_of(HTTP, Stage.PROXY_TLS, OutboundReason.TIMED_OUT))


@TRIED.by(Stage.PROXY_TLS, OutboundReason.NOT_CONNECTED)
def test_a_proxy_that_hangs_up_in_tls_has_the_consequence_of_its_row(settings: Settings) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    with closing_port() as port:
        settings.OPSAPI_OUTBOUND_PROXY = OutgoingProxy("https", "127.0.0.1", port)
        outcome = outcome_of("https://127.0.0.1/")
    assert_as_declared(outcome, row_of(HTTP, Stage.PROXY_TLS, OutboundReason.NOT_CONNECTED))


@TRIED.by(Stage.SETTINGS, OutboundReason.INVALID_URL)
def test_an_invalid_url_is_the_fault_of_the_message() -> None:
    row = row_of(HTTP, Stage.SETTINGS, OutboundReason.INVALID_URL)
    for url in ("ftp://hook.example/", "https://user:password@hook.example/", "http://"):
        assert_as_declared(outcome_of(url), row)


@TRIED.by(Stage.SETTINGS, OutboundReason.INCOMPLETE)
def test_a_webhook_without_a_url_fails_for_good() -> None:
    outcome = deliver(ChannelType("WEBHOOK"), {}, make_message(), now=NOW)
    assert (outcome.status, outcome.fault) == (INCOMPLETE.status, INCOMPLETE.fault)
    assert not outcome.perhaps_received


@TRIED_OF_SLACK.by(Stage.BODY, "ok", OutboundReason.BAD_RESPONSE)
@TRIED_OF_CHANGES.by(Stage.BODY, "ok", OutboundReason.BAD_RESPONSE)
@pytest.mark.parametrize(
    ("table", "message"),
    [
        (CHAT_POST_MESSAGE, make_message()),
        (CHAT_UPDATE, make_message(kind=MessageKind.CLOSE, handle="C123ABC456 1503435956.000247")),
    ],
    ids=["new", "changed"],
)
def test_slack_says_ok_or_something_else(
    http_receiver: HttpReceiver, settings: Settings, table: Sequence[StageRow], message: Message
) -> None:
    settings.OPSAPI_CHAT_BASE_URL = http_receiver.url("")
    config = {"apiToken": "xoxb-0123456789", "channelName": "oncall", "updateInPlace": "True"}
    for body, answer in ((b'{"ok": true}', "ok"), (b"<html>", OutboundReason.BAD_RESPONSE)):
        http_receiver.answer(200, {}, body)
        outcome = deliver(ChannelType("CHAT_SERVICE"), config, message, now=NOW)
        assert_as_declared(outcome, row_of(table, Stage.BODY, answer))


def test_each_row_is_tried() -> None:
    for tried, rows in (
        (TRIED, [INCOMPLETE, *HTTP]),
        (TRIED_OF_SLACK, CHAT_POST_MESSAGE),
        (TRIED_OF_CHANGES, CHAT_UPDATE),
    ):
        assert tried.missing(rows) == set()
