"""Connections are kept for the next request of their owner, and for nobody and nothing else."""

import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path

import pytest
from pytest_django import Settings
from urllib3.connection import HTTPConnection

from opsapi.outbound import OutboundError, OutboundReason, OutboundResponse, client, post
from opsapi.outbound.pool import (
    AGE_SECONDS,
    IDLE_SECONDS,
    MOST,
    MOST_FOR_ONE,
    POOL,
    BoundedSocket,
    Deadline,
    OpenConnection,
    Pool,
)
from tests.processes.certificates import make_certificate
from tests.receivers import LOOPBACK, HttpReceiver
from tests.unit.opsapi.outbound.names import resolve_names


@pytest.fixture(params=["http", "https"])
def receiver(request: pytest.FixtureRequest, tmp_path: Path, settings: Settings) -> Iterator[HttpReceiver]:
    """A receiver that keeps connections, without TLS and with it."""
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    context = None
    if request.param == "https":
        certificate, key = make_certificate(tmp_path)
        settings.OPSAPI_OUTBOUND_CA_FILE = str(certificate)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    with HttpReceiver(context, keeps_alive=True).running() as receiver:
        yield receiver
        POOL.close_all()


def send(
    receiver: HttpReceiver, owner: str | None = "a", *, body_limit: int = 0, path: str = "/hook"
) -> OutboundResponse:
    """One request."""
    return post(receiver.url(path), b"{}", {}, owner=owner, body_limit=body_limit, total_timeout=5.0)


@pytest.mark.parametrize("body", [b"", b"ok", b"x" * 10_000])
def test_the_next_request_of_an_owner_uses_the_same_connection(
    receiver: HttpReceiver, body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_REST_SECONDS", 60.0)  # A busy machine sends the body late.
    receiver.answer(200, {}, body)
    answers = [send(receiver, path=path, body_limit=limit) for path in ("/a", "/b") for limit in (0, 65_536)]
    assert [len(answer.body) for answer in answers] == [0, len(body)] * 2
    assert (len(receiver.requests), len(receiver.clients)) == (4, 1)
    assert "Connection" not in receiver.requests[0].headers


def test_an_answer_in_chunks_leaves_its_connection_to_the_next(receiver: HttpReceiver) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
    receiver.behave(lambda handler: handler.wfile.write(answer))
    assert [send(receiver, body_limit=limit).body for limit in (0, 100)] == [b"", b"ok"]
    assert len(receiver.clients) == 1


def test_no_owner_uses_the_connection_of_another(receiver: HttpReceiver) -> None:
    for owner in ("a", "b", None, "a", "b", None):
        send(receiver, owner)
    assert len(receiver.clients) == 4  # requests without an owner keep no connection


@pytest.mark.parametrize(
    ("headers", "body"),
    [
        pytest.param({"Connection": "close"}, b"", id="said so"),
        pytest.param({"Keep-Alive": "timeout=1"}, b"", id="soon"),
        pytest.param({}, b"x" * 100_000, id="long answer"),
        pytest.param({"Content-Length": "10"}, b"x", id="answer without end"),
    ],
)
def test_a_connection_that_cannot_be_used_again_is_closed(
    receiver: HttpReceiver, headers: dict[str, str], body: bytes
) -> None:
    receiver.answer(200, headers, body)
    assert [send(receiver).status for _ in range(2)] == [200, 200]
    assert len(receiver.clients) == 2


def test_a_connection_that_its_receiver_closed_is_not_used(receiver: HttpReceiver) -> None:
    closed = threading.Event()

    def behaviour(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        handler.connection.shutdown(socket.SHUT_RDWR)
        handler.close_connection = True
        closed.set()

    receiver.behave(behaviour)
    send(receiver)
    assert closed.wait(10)
    receiver.answer(200)
    assert send(receiver).status == 200
    assert (len(receiver.requests), len(receiver.clients)) == (2, 2)


def test_a_kept_connection_that_accepts_no_bytes_is_replaced(
    receiver: HttpReceiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(receiver)
    # Closed between the look at it and the first byte.
    monkeypatch.setattr(HTTPConnection, "is_connected", True)
    [(_, _, kept)] = POOL._idle
    socket.socket.shutdown(kept.sock._sock, socket.SHUT_RDWR)
    assert send(receiver).status == 200
    assert (len(receiver.requests), len(receiver.clients)) == (2, 2)


def test_a_request_is_not_sent_again_after_a_byte_was_written(receiver: HttpReceiver) -> None:
    send(receiver)

    def behaviour(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    receiver.behave(behaviour)
    with pytest.raises(OutboundError) as caught:
        send(receiver)
    assert caught.value.sent
    assert (len(receiver.requests), len(receiver.clients)) == (2, 1)


def test_a_kept_connection_to_a_newly_refused_address_is_not_used(
    receiver: HttpReceiver, settings: Settings
) -> None:
    send(receiver)
    settings.OPSAPI_OUTBOUND_ALLOW = []
    with pytest.raises(OutboundError) as caught:
        send(receiver)
    assert (caught.value.reason, caught.value.sent) == (OutboundReason.REFUSED_ADDRESS, False)
    assert len(receiver.requests) == 1


def test_a_name_is_resolved_once_a_connection(
    http_receiver: HttpReceiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = resolve_names(monkeypatch, {"hook.example": ["127.0.0.1"]})
    with HttpReceiver(keeps_alive=True).running() as receiver:
        for _ in range(3):
            post(receiver.url(host="hook.example"), b"{}", {}, owner="a")
        POOL.close_all()
    assert (asked, len(receiver.requests)) == (["hook.example"], 3)


def test_no_two_threads_use_a_connection_at_the_same_time(receiver: HttpReceiver) -> None:
    def behaviour(handler: BaseHTTPRequestHandler) -> None:
        body = handler.path.encode()
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))

    receiver.behave(behaviour)
    paths = [f"/{number}" for number in range(80)]
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda path: send(receiver, path=path, body_limit=100).body, paths))
    assert answers == [path.encode() for path in paths]
    assert len(receiver.requests) == 80
    assert len(receiver.clients) < 80
    assert len(POOL._idle) <= MOST_FOR_ONE


# --- the pool by itself -----------------------------------------------------------------------------


class Time:
    """A clock that the test moves."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    """When it is."""
    return Time()


@pytest.fixture
def pool(time: Time) -> Iterator[Pool]:
    """An empty pool."""
    pool = Pool(time)
    yield pool
    pool.close_all()


@pytest.fixture
def ends() -> Iterator[list[socket.socket]]:
    """The receivers' ends of what `opened` opens."""
    ends: list[socket.socket] = []
    yield ends
    for end in ends:
        end.close()


def opened(ends: list[socket.socket], time: Time) -> OpenConnection:
    """A connection to nobody in particular."""
    ours, theirs = socket.socketpair()
    ends.append(theirs)
    http = HTTPConnection("127.0.0.1")
    bounded = BoundedSocket(ours, Deadline(5.0))
    http.sock = bounded  # as the client does
    return OpenConnection(http, bounded, [ip_address("127.0.0.1")], opened=time())


def take(pool: Pool, key: str) -> OpenConnection | None:
    """One whose address may be used."""
    return pool.take(key, may_use=lambda _: True)


def test_an_idle_connection_is_closed_in_time(pool: Pool, time: Time, ends: list[socket.socket]) -> None:
    kept = opened(ends, time)
    pool.keep("a", kept)
    time.now += IDLE_SECONDS
    pool.close_idle()
    assert kept.http.is_closed
    assert ends[0].recv(1) == b""


def test_a_connection_is_not_used_for_ever(pool: Pool, time: Time, ends: list[socket.socket]) -> None:
    kept = opened(ends, time)
    begin = time.now
    while kept.http.is_closed is False and time.now < begin + 10 * AGE_SECONDS:
        pool.keep("a", kept)
        time.now += IDLE_SECONDS / 2
        take(pool, "a")
    assert time.now - begin == AGE_SECONDS


def test_the_number_of_kept_connections_is_limited_by_owner_and_in_total(
    pool: Pool, time: Time, ends: list[socket.socket]
) -> None:
    of_one = [opened(ends, time) for _ in range(MOST_FOR_ONE + 1)]
    for connection in of_one:
        pool.keep("a", connection)
    assert [connection.http.is_closed for connection in of_one] == [True] + [False] * MOST_FOR_ONE
    for number in range(MOST):
        pool.keep(str(number), opened(ends, time))
    assert all(connection.http.is_closed for connection in of_one)
    assert len(pool._idle) == MOST


def test_a_connection_with_something_to_read_is_not_used(
    pool: Pool, time: Time, ends: list[socket.socket]
) -> None:
    kept = opened(ends, time)
    pool.keep("a", kept)
    ends[0].send(b"HTTP/1.1 200 OK\r\n")
    assert take(pool, "a") is None
    assert kept.http.is_closed


def test_a_forked_process_inherits_no_connections(pool: Pool, time: Time, ends: list[socket.socket]) -> None:
    ours = opened(ends, time)
    pool.keep("a", ours)
    parent = ours.sock._sock.dup()  # the parent's descriptor of the same connection
    pool._lock.acquire()  # another thread of the parent had it
    pool.forget()
    assert take(pool, "a") is None
    parent.sendall(b"x")
    assert ends[0].recv(1) == b"x"
    parent.close()
