"""The web server itself: slow clients, malformed requests, TLS, and requests that arrive in pieces."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from http.client import HTTPResponse

import pytest

from tests.eventually import eventually
from tests.processes.platform import RunningPlatform
from tests.processes.running.conftest import THREADS, WEB_PROCESSES

pytestmark = pytest.mark.processes

PATIENCE = 30.0
"""Seconds. Slow clients that held every thread for ten seconds would hold an answer up for longer."""
SLOW_CLIENTS = 4 * WEB_PROCESSES * THREADS

GET = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n"
POST = b"POST /agents/v1.0/groups/0123456789abcdef01234567/reports HTTP/1.1\r\nHost: localhost\r\n"
JSON = b"Content-Type: application/json\r\n"
SLOW = [
    b"",
    b"G",
    GET,
    POST + JSON + b"Content-Length: 1000\r\n\r\n{",
    POST + JSON + b"Transfer-Encoding: chunked\r\n\r\n3e8\r\n{",
    POST + JSON + b"Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n{",
    GET + b"\r\n" + b"GET /health/live HT",
]
ERROR_FIELDS = {"error", "reason", "errorCode", "detail", "parameters"}
MALFORMED = [
    (b"GARBAGE\r\n\r\n", {400}),
    (b"GET /\r\n", {400}),
    (b"GET / HTTP/1.1\nHost: localhost\n\n", {400}),
    (b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", {400, 505}),
    (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", {414}),
    (GET + b"A: " + b"a" * 9000 + b"\r\n\r\n", {431}),
    (GET + b"A: 1\r\n" * 200 + b"\r\n", {431}),
    (GET + b"A: " + b"a" * 140_000, {431}),
    (GET + b"A b: 1\r\n\r\n", {400}),
    (GET + b"Host: other\r\n\r\n", {400}),
    (b"GET /health/live HTTP/1.1\r\n\r\n", {400}),
    (POST + JSON + b"Content-Length: x\r\n\r\n", {400}),
    (POST + JSON + b"Content-Length: -1\r\n\r\n", {400}),
    (POST + JSON + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", {400}),
    (POST + JSON + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", {400}),
    (POST + JSON + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n", {400, 401}),
    (POST + JSON + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n", {400, 401}),
    (POST + JSON + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}0\r\n\r\n", {400, 401}),
    (POST + JSON + b"Content-Length: 999999999999\r\n\r\n", {401, 413}),
]


@pytest.fixture
def connect(running: RunningPlatform) -> Iterator[ExitStack]:
    """Connections that are closed with the test."""
    with ExitStack() as stack:
        yield stack


@pytest.mark.parametrize("start", SLOW, ids=range(len(SLOW)))
def test_many_clients_that_stop_halfway_do_not_stop_the_api(
    running: RunningPlatform, connect: ExitStack, start: bytes
) -> None:
    for _ in range(SLOW_CLIENTS):
        connect.enter_context(_open(running)).sendall(start)
    assert running.get("/health/live").status_code == 200


@pytest.mark.parametrize(("request_", "statuses"), MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_request_is_refused_at_once(
    running: RunningPlatform, connect: ExitStack, request_: bytes, statuses: set[int]
) -> None:
    connection = connect.enter_context(_open(running))
    connection.sendall(request_)
    answer = HTTPResponse(connection)
    answer.begin()
    document = json.loads(answer.read())
    assert answer.status in statuses
    assert (document["error"], set(document) - {"badFields"}) == (answer.status, ERROR_FIELDS)
    assert answer.headers.get_content_type() == "application/json"
    assert answer.headers["Strict-Transport-Security"] == "max-age=300"
    assert answer.headers["X-Request-ID"]


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_request_may_arrive_in_pieces(running: RunningPlatform, connect: ExitStack, size: int) -> None:
    connection = connect.enter_context(_open(running))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    whole = POST + JSON + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;x=y\r\n}\r\n0\r\nTrailer: 1\r\n\r\n"
    for at in range(0, len(whole), size):
        connection.sendall(whole[at : at + size])
    assert _status(connection) == 401


def test_requests_may_follow_each_other_before_their_answers(
    running: RunningPlatform, connect: ExitStack
) -> None:
    connection = connect.enter_context(_open(running))
    connection.sendall((GET + b"\r\n") * 5 + GET + b"Connection: close\r\n\r\n")
    assert _all(connection).count(b"HTTP/1.1 200 OK") == 6


def test_a_large_body_that_was_refused_unread_does_not_end_the_connection(
    running: RunningPlatform, connect: ExitStack
) -> None:
    connection = connect.enter_context(_open(running))
    body = b"x" * (3 << 20)
    connection.sendall(POST + JSON + b"Content-Length: %d\r\n\r\n" % len(body) + body)
    refused = HTTPResponse(connection)
    refused.begin()
    assert (refused.status, refused.will_close, bool(refused.read())) == (401, False, True)
    connection.sendall(GET + b"\r\n")
    answer = HTTPResponse(connection)
    answer.begin()
    assert answer.status == 200


def test_a_client_that_waits_to_continue_gets_one_answer(
    running: RunningPlatform, connect: ExitStack
) -> None:
    connection = connect.enter_context(_open(running))
    head = POST + JSON + b"Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n"
    connection.sendall(head)
    assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(b"{}")
    answer = _all(connection)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"100 Continue" not in answer


def test_a_client_that_does_not_read_its_answers_is_one_line_in_the_log(
    running: RunningPlatform, connect: ExitStack
) -> None:
    client = connect.enter_context(_open(running))
    client.sendall(b"GET /api/schema/ HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
    eventually(lambda: "127.0.0.1 does not read its response" in running.log)
    assert "Traceback" not in running.log
    assert running.log.count("does not read its response") == 1


def test_forwarding_headers_of_strangers_mean_nothing(running: RunningPlatform, connect: ExitStack) -> None:
    connection = connect.enter_context(_open(running))
    connection.sendall(GET + b"X-Forwarded-Proto: https\r\nScript-Name: /x\r\nSCRIPT_NAME: /x\r\n\r\n")
    assert _status(connection) == 200


def _open(platform: RunningPlatform) -> socket.socket:
    return socket.create_connection(("127.0.0.1", platform.port), timeout=PATIENCE)


def _status(connection: socket.socket) -> int:
    line = connection.makefile("rb").readline()
    return int(line.split()[1]) if line else 0


def _all(connection: socket.socket) -> bytes:
    with connection.makefile("rb") as file:
        return file.read()
