"""The web server and callers who open many connections, send slowly, or do not read: others are answered."""

import io
import os
import resource
import select
import signal
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from http.client import HTTPResponse
from pathlib import Path
from typing import Any

import pytest

from opsapi.supervisor.web_worker import MOST_HELD
from tests.eventually import eventually
from tests.hostile.budget import LONG
from tests.processes.answers import LARGE, PART, PARTS, SMALL
from tests.processes.certificates import make_certificate
from tests.processes.web_server import (
    PATIENCE,
    WebServer,
    client_hello,
    everything,
    get,
    many_files,
    web_server,
)

pytestmark = pytest.mark.processes

INNOCENT = "127.0.0.2"
PROXY = "127.0.0.3"
MANY = 3000 if LONG else 1000
"""More than a worker process took from all callers together when each connection had a place in it."""
THREADS = 8
MOST = 100
"""Connections of an address, in these tests."""
POST = b"POST /small HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
TOO_MUCH = 16 << 20
HANDSHAKES = 900
"""At a time, of one address; fewer than its limit of connections."""
STALLS = {
    "says nothing": b"",
    "stops in the head": b"GET /small HTTP/1.1\r\nHost: localhost\r\nX: ",
    "stops in the body": POST % 9 + b"{",
    "announces more than is taken": POST % (1 << 40),
    "reads nothing": get("/large") * 6,
}


@pytest.fixture(scope="module", autouse=True)
def _files() -> Iterator[None]:
    with many_files():
        yield


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    with web_server(
        tmp_path_factory.mktemp("web"),
        OPSAPI_CONNECTIONS_PER_ADDRESS=str(MOST),
        OPSAPI_TRUSTED_PROXIES=f"{PROXY}/32",
        OPSAPI_THREADS=str(THREADS),
    ) as made:
        yield made
        assert "Traceback" not in made.log


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebServer]:
    directory = tmp_path_factory.mktemp("tls")
    with web_server(directory, certificate=make_certificate(directory)) as made:
        yield made


@pytest.fixture
def held() -> Iterator[ExitStack]:
    """Connections that are closed with the test."""
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("start", STALLS.values(), ids=STALLS)
def test_another_address_is_answered_next_to_a_caller_whose_connections_hang(
    server: WebServer, held: ExitStack, start: bytes
) -> None:
    for _ in range(MANY):
        _stall(held, server, "127.0.0.1", start)
    assert server.answers(INNOCENT)


@pytest.mark.parametrize(
    ("theirs", "other"),
    [(("127.0.0.1", ""), (INNOCENT, "")), ((PROXY, "192.0.2.1"), (PROXY, "192.0.2.2"))],
    ids=["directly", "behind a proxy"],
)
def test_another_address_is_answered_next_to_a_caller_whose_requests_take_long(
    server: WebServer, held: ExitStack, theirs: tuple[str, str], other: tuple[str, str]
) -> None:
    (address, client), (other_address, other_client) = theirs, other
    waiting = [held.enter_context(server.connect(address)) for _ in range(2 * THREADS)]
    for connection in waiting:
        connection.sendall(get(f"/wait?{client}", client=client))
    for path, body in {"/small": SMALL, f"/go?{client}": b""}.items():
        connection = held.enter_context(server.connect(other_address))
        connection.sendall(get(path, client=other_client))
        assert _body(connection) == body
    for connection in waiting:
        assert _body(connection) == b""


def test_handshakes_of_another_address_are_not_waited_for(tmp_path: Path, held: ExitStack) -> None:
    certificate = make_certificate(tmp_path, rsa_bits=4096)  # Its signatures take milliseconds.
    with web_server(tmp_path, certificate=certificate) as server:
        os.kill(server.worker, signal.SIGSTOP)
        try:
            hello = client_hello()
            theirs = [held.enter_context(server.connect_plain()) for _ in range(HANDSHAKES)]
            for connection in theirs:
                connection.sendall(hello)
            # A system that queues fewer connections makes some of them wait, and not this one.
            other = held.enter_context(server.connect_plain(INNOCENT))
        finally:
            os.kill(server.worker, signal.SIGCONT)
        secured = held.enter_context(server.secured(other))
        assert _answer(secured, "/small") == SMALL
        assert _number_readable(theirs) < HANDSHAKES / 2


def test_connections_that_come_faster_than_they_are_accepted_wait_instead_of_being_dropped(
    tmp_path: Path, held: ExitStack
) -> None:
    most = int(Path("/proc/sys/net/core/somaxconn").read_text())
    with web_server(tmp_path) as server:
        worker = server.worker
        os.kill(worker, signal.SIGSTOP)
        try:
            for _ in range(min(most, MANY + 100)):
                held.enter_context(server.connect())
        finally:
            os.kill(worker, signal.SIGCONT)
        assert server.answers(INNOCENT)


def test_an_address_with_too_many_connections_loses_the_longest_idle_connections(
    server: WebServer, held: ExitStack
) -> None:
    theirs = [held.enter_context(server.connect("127.0.0.4")) for _ in range(MOST + 20)]
    other = held.enter_context(server.connect(INNOCENT))
    for connection in theirs[:20]:
        assert connection.recv(1) == b""
    for connection in [*theirs[20:], other]:
        assert _answer(connection, "/small") == SMALL
    assert server.log.count("127.0.0.4 has more than 100 connections") == 1


def test_a_trusted_proxy_has_as_many_connections_as_it_opens(server: WebServer, held: ExitStack) -> None:
    theirs = [held.enter_context(server.connect(PROXY)) for _ in range(MOST + 20)]
    for connection in theirs:
        assert _answer(connection, "/small") == SMALL


def test_no_more_connections_are_held_than_files_can_be_opened(tmp_path: Path, held: ExitStack) -> None:
    low = ("sh", "-c", 'ulimit -n 256; exec "$@"', "sh")
    with web_server(tmp_path, *low) as server:
        worker = server.worker
        for number in range(700):
            _stall(held, server, f"127.0.{1 + number // 200}.{1 + number % 200}", b"")
        assert server.answers(INNOCENT)
        assert server.worker == worker
        assert "new connections wait" not in server.log


def test_files_that_run_out_all_the_same_end_no_worker(tmp_path: Path, held: ExitStack) -> None:
    with web_server(tmp_path) as server:
        worker = server.worker
        files, hard = resource.prlimit(worker, resource.RLIMIT_NOFILE)
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (3, hard))
        waiting = held.enter_context(server.connect())
        waiting.sendall(get("/small", close=True))
        eventually(lambda: "new connections wait" in server.log)
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (files, hard))
        assert b"200 OK" in everything(waiting)
        highest = max(int(file.name) for file in Path(f"/proc/{worker}/fd").iterdir())
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (highest + 5, hard))
        for number in range(20):
            _stall(held, server, f"127.0.1.{1 + number}", b"")
        assert server.answers(INNOCENT)
        assert server.worker == worker


@pytest.mark.parametrize("name", ["server", "tls"])
def test_a_reader_that_takes_its_time_gets_every_byte(
    name: str, request: pytest.FixtureRequest, held: ExitStack
) -> None:
    chosen: WebServer = request.getfixturevalue(name)
    slow = held.enter_context(chosen.connect())
    slow.sendall(get("/large") + get("/parts") + get("/small", close=True))
    assert chosen.answers(INNOCENT)
    received = ReceivedBytes(everything(slow))
    assert [_body(received) for _ in range(3)] == [LARGE, PART * PARTS, SMALL]


def test_who_sends_too_much_at_once_is_refused_and_nobody_else(server: WebServer, held: ExitStack) -> None:
    small = held.enter_context(server.connect(INNOCENT))
    small.sendall(get("/small")[:20])
    large = [held.enter_context(server.connect()) for _ in range(MOST_HELD // TOO_MUCH + 1)]
    for connection in large:
        connection.sendall(POST % (TOO_MUCH + 1) + b"x" * TOO_MUCH)
    ready, _, _ = select.select(large, [], [], PATIENCE)
    assert ready[0].recv(100).startswith(b"HTTP/1.1 503 ")
    small.sendall(get("/small")[20:])
    assert _body(small) == SMALL


def test_who_fills_the_queue_for_threads_is_refused_and_nobody_else(
    server: WebServer, held: ExitStack
) -> None:
    slow = [held.enter_context(server.connect()) for _ in range(THREADS - THREADS // 4)]
    for connection in slow:
        connection.sendall(get("/wait?queue"))
    half = b"x" * 100_000
    small = held.enter_context(server.connect(INNOCENT))
    small.sendall(POST % (2 * len(half)) + half)
    large = [held.enter_context(server.connect()) for _ in range(MOST_HELD // TOO_MUCH + 1)]
    for connection in large:
        connection.sendall(POST % TOO_MUCH + b"x" * TOO_MUCH)
    ready, _, _ = select.select(large, [], [], PATIENCE)
    assert ready[0].recv(100).startswith(b"HTTP/1.1 503 ")
    small.sendall(half)
    assert _body(small) == SMALL
    with server.connect(INNOCENT) as other:
        other.sendall(get("/go?queue"))
        assert other.recv(100).startswith(b"HTTP/1.1 200 ")


def test_an_answer_that_fails_halfway_is_seen_to_have_failed(tmp_path: Path) -> None:
    with web_server(tmp_path) as server, server.connect() as connection:
        connection.sendall(get("/broken"))
        received = everything(connection)
        assert received.count(PART) == 2
        assert not received.endswith(b"0\r\n\r\n")
        assert server.answers()
        assert server.log.count("RuntimeError: halfway") == 1


def _number_readable(connections: Sequence[socket.socket]) -> int:
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    return len(poll.poll(0))


class ReceivedBytes(io.BytesIO):
    """What came on a connection, for a reader of answers who closes it after each of them."""

    def makefile(self, _mode: str) -> "ReceivedBytes":
        """Itself."""
        return self

    def close(self) -> None:
        """It stays open."""


def _stall(held: ExitStack, server: WebServer, address: str, start: bytes) -> None:
    connection = held.enter_context(server.connect(address))
    connection.setblocking(False)
    connection.send(start)


def _answer(connection: socket.socket, path: str) -> bytes:
    connection.sendall(get(path))
    return _body(connection)


def _body(connection: Any) -> bytes:
    answer = HTTPResponse(connection)
    answer.begin()
    assert answer.status == 200
    return answer.read()
