"""gunicorn's threaded worker, with threads for the application only.

In gunicorn's own worker, a thread reads its request from the socket and writes the response to it, so a few
slow clients occupy all threads. Here the event loop collects each request (`arrival`), with deadlines. A
complete request gets a thread when it is its requester's turn (`callers`). The event loop sends the part of a
response that the client does not read at once (`web_connection`). The number of connections is limited, in
total and by address. At the limit, the connections that have waited longest are closed.

TLS handshakes have threads of their own, for which callers take turns, too.
"""

import contextlib
import errno
import json
import math
import secrets
import socket
import sys
import time
from collections.abc import Container
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from selectors import EVENT_READ
from typing import Any

from django.conf import settings
from gunicorn import sock
from gunicorn.http import errors
from gunicorn.workers.gthread import ThreadWorker

from opsapi.api.catalogue import ErrorCode
from opsapi.api.content_security import STRICT, header_line
from opsapi.api.errors import ApiError, reason_phrase
from opsapi.supervisor.arrival import HEAD_SECONDS, ArrivalState
from opsapi.supervisor.callers import Callers, Turns, largest, most_connections, requester_of
from opsapi.supervisor.web_connection import CheckedReader, ConnectionPhase, GoneError, WebConnection

_OF_PARSER = {
    errors.LimitRequestLine: HTTPStatus.REQUEST_URI_TOO_LONG,
    errors.LimitRequestHeaders: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    errors.ExpectationFailed: HTTPStatus.EXPECTATION_FAILED,
    errors.UnsupportedTransferCoding: HTTPStatus.NOT_IMPLEMENTED,
}
_HEAD = (
    "HTTP/1.1 {status} {reason}\r\n"
    "Cache-Control: no-store\r\n"
    "Connection: close\r\n"
    "Content-Type: application/json\r\n"
    "Content-Length: {length}\r\n"
    "Strict-Transport-Security: max-age=300\r\n"
    "Content-Security-Policy: {policy}\r\n"
    "X-Request-ID: {request_id}\r\n"
    "\r\n"
)


def status_of(error: Exception) -> HTTPStatus:
    """Return the status for an error: 4xx if gunicorn's parser refused the request, otherwise 500."""
    theirs = isinstance(error, errors.ParseException)
    # The application tried to send these.
    if not theirs or isinstance(error, (errors.InvalidResponseHeader, errors.InvalidResponseHeaderName)):
        return HTTPStatus.INTERNAL_SERVER_ERROR
    return _OF_PARSER.get(type(error), HTTPStatus.BAD_REQUEST)


def refusal(status: HTTPStatus) -> bytes:
    """Return the bytes of the response, which contain no part of the request."""
    request_id = secrets.token_hex(8)
    reason = reason_phrase(status)
    document = {**_error(status, request_id).document(), "error": status.value, "reason": reason}
    body = json.dumps(document)
    head = _HEAD.format(
        status=status.value,
        reason=reason,
        length=len(body),
        policy=header_line(STRICT),
        request_id=request_id,
    )
    return (head + body).encode()


def _error(status: HTTPStatus, request_id: str) -> ApiError:
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        return ApiError(ErrorCode.SERVICE_UNAVAILABLE, "too many requests are waiting")
    if status is HTTPStatus.INTERNAL_SERVER_ERROR:
        return ApiError(ErrorCode.UNEXPECTED_ERROR, request_id)
    message = f"was refused before it was processed ({reason_phrase(status)})"
    return ApiError.of_field("request", ErrorCode.INVALID_ATTRIBUTE, message)


LINGER_SECONDS = 3.0
# A worker that stops waits this long for incomplete requests.
STOP_SECONDS = 1.0
SWEEP_SECONDS = 0.5
# How long a computing thread can block the event loop at a system call; Python's default is 5 ms.
SWITCH_SECONDS = 0.0005
ACCEPTS_PER_EVENT = 16
# The steps of handshakes run outside of Python's lock. More threads would only compete with the event loop.
HANDSHAKE_THREADS = 2
ACCEPT_PAUSE_SECONDS = 0.5
PAUSE_NEWS_SECONDS = 60.0
# Maximum bytes of requests without a response and of responses that are not read yet, for each process.
MOST_HELD = 128 * 1024 * 1024
# The part of a response that the kernel accepts at once; it applies its own limit.
SEND_BUFFER = 1024 * 1024
REFUSALS = {
    ArrivalState.MALFORMED: HTTPStatus.BAD_REQUEST,
    ArrivalState.OVERSIZED: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    ArrivalState.LONG_LINE: HTTPStatus.REQUEST_URI_TOO_LONG,
}
NO_CONNECTION = (errno.EAGAIN, errno.ECONNABORTED)
NO_FILES = (errno.EMFILE, errno.ENFILE)


class WebWorker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """The worker class named in gunicorn_conf."""

    def init_process(self) -> None:
        """Set up the new process, before the event loop starts."""
        self.worker_connections = most_connections(self.cfg.worker_connections, self.cfg.threads)
        self.callers = Callers(min(settings.OPSAPI_CONNECTIONS_PER_ADDRESS, self.worker_connections // 2))
        # Each phase has its connections in the order of their arrival.
        self.watched: dict[ConnectionPhase, dict[WebConnection, None]] = {
            phase: {} for phase in ConnectionPhase
        }
        self.turns = Turns[WebConnection](self.cfg.threads)
        self.handshakes = Turns[WebConnection](HANDSHAKE_THREADS)
        self.handshake_threads = ThreadPoolExecutor(HANDSHAKE_THREADS, "handshake")
        self.held = 0
        self.swept = self.stopping_since = 0.0
        self.paused = -math.inf
        sys.setswitchinterval(SWITCH_SECONDS)
        super().init_process()

    def set_accept_enabled(self, enabled: bool) -> None:
        """Accept connections or not. gunicorn calls this for every event.

        While no file can be opened, new connections wait in the kernel.
        """
        super().set_accept_enabled(enabled and time.monotonic() > self.paused + ACCEPT_PAUSE_SECONDS)

    def accept(self, listener: socket.socket) -> None:
        """Accept new connections, and wait for their requests without a thread."""
        for _ in range(ACCEPTS_PER_EVENT):
            try:
                client, address = listener.accept()
            except OSError as error:
                if error.errno in NO_FILES and self._close_longest_waiting():
                    continue
                if error.errno not in NO_CONNECTION:
                    self._pause_accepting(error)
                return
            self._welcome(client, address, listener)

    def enqueue_req(self, conn: WebConnection) -> None:
        """Give a complete request a thread when it is its requester's turn. Runs in the event loop."""
        conn.requester = requester_of(conn)
        self.turns.add(conn.requester, conn)
        self._give_threads()

    def finish_request(self, conn: WebConnection, answered: "Future[object]") -> None:
        """Continue with a connection after a thread served its request. Runs in the event loop."""
        self.turns.done(conn.requester)
        self._give_threads()
        keeps_alive = answered.exception() is None and bool(answered.result())
        conn.answered(keeps_alive=keeps_alive)
        self._send(conn)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Wait for events, at most SWEEP_SECONDS, to notice a request to stop. gunicorn waits a second."""
        super().wait_for_and_dispatch_events(min(timeout, SWEEP_SECONDS))

    def murder_pending(self) -> None:
        """End overdue connections. gunicorn calls this after every wait."""
        now = time.monotonic()
        self.stopping_since = self.stopping_since or (0.0 if self.alive else now)
        if now - self.swept < SWEEP_SECONDS:
            return
        self.swept = now
        for conn in [conn for conns in self.watched.values() for conn in conns if self._overdue(conn, now)]:
            self._end(conn, HTTPStatus.REQUEST_TIMEOUT)

    def handle_request(self, req: Any, conn: WebConnection) -> bool:
        """Serve a parsed request. Runs in a thread."""
        req.body.reader = CheckedReader(req.body.reader)
        try:
            keeps_alive = bool(super().handle_request(req, conn.to_be_answered()))
            conn.flush()
        except GoneError:  # The event loop notices it, too.
            return False
        return keeps_alive

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """Answer a request that the parser refused or that failed outside of the application. In a thread."""
        status = status_of(exc)
        if status is HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log.error("unexpected error", exc_info=exc)
        else:
            self.log.warning("invalid request from %s: %s", (addr or ("-",))[0], type(exc).__name__)
        with contextlib.suppress(OSError):  # The client may have gone.
            client.sendall(refusal(status))

    def _keepalive_after(self, conn: WebConnection, keepalive: bool) -> bool:
        """Discard the unread rest of the body, so that the connection can stay open. Runs in a thread.

        The body is in memory, so this is quick. gunicorn gives up after 64 KiB. A client that repeats a large
        request with digest credentials would then repeat it on a connection that is being closed.
        """
        return keepalive and conn.discard_body()

    def _welcome(self, client: socket.socket, address: tuple[str, int], listener: socket.socket) -> None:
        try:
            conn = WebConnection(self.cfg, self._prepared(client), address, listener.getsockname())
        except OSError:  # The client has gone already.
            client.close()
            return
        self.nr_conns += 1
        self.callers.add(conn)
        if crowd := self.callers.too_many(conn):
            if self.callers.is_news(conn):
                message = "%s has more than %d connections: the longest-waiting connections are closed"
                self.log.warning(message, conn.caller, self.callers.most)
            if not self._close_longest_waiting(crowd):
                self._turn_away(conn)
                return
        if self.nr_conns >= self.worker_connections:
            self._close_longest_waiting()
        conn.await_request(time.monotonic(), HEAD_SECONDS)
        self._watch(conn, ConnectionPhase.HANDSHAKE if self.cfg.is_ssl else ConnectionPhase.REQUEST)

    def _turn_away(self, conn: WebConnection) -> None:
        """Refuse a new connection. With TLS there is no answer, because a handshake costs most."""
        if self.cfg.is_ssl:
            self._close(conn)
        else:
            self._refuse(conn, HTTPStatus.SERVICE_UNAVAILABLE)

    def _prepared(self, client: socket.socket) -> socket.socket:
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        return sock.ssl_wrap_socket(client, self.cfg) if self.cfg.is_ssl else client

    def _pause_accepting(self, error: OSError) -> None:
        now = time.monotonic()
        if now - self.paused > PAUSE_NEWS_SECONDS:
            self.log.warning("new connections wait: %s", error.strerror)
        self.paused = now
        self.set_accept_enabled(False)

    def _close_longest_waiting(self, crowd: Container[WebConnection] | None = None) -> bool:
        """Close the connection that has waited longest; connections that are ending come first.

        `crowd`: the connections to choose from, if not all. Return whether a connection was closed.
        """
        for phase in (ConnectionPhase.END, ConnectionPhase.HANDSHAKE, ConnectionPhase.REQUEST):
            for conn in self.watched[phase]:
                if crowd is None or conn in crowd:
                    self._close(conn)
                    return True
        return False

    def _give_threads(self) -> None:
        while conn := self.turns.take():
            super().enqueue_req(conn)

    def _give_handshakes(self) -> None:
        while conn := self.handshakes.take():
            step = self.handshake_threads.submit(conn.shake_hands)
            step.add_done_callback(partial(self.method_queue.defer, self._after_handshake, conn))

    def _after_handshake(self, conn: WebConnection, step: "Future[int | None]") -> None:
        """Continue with a connection after a step of its handshake. Runs in the event loop."""
        self.handshakes.done(conn.caller)
        self._give_handshakes()
        event = step.result()
        if event is None:
            self._close(conn)
        elif event:
            self._watch(conn, ConnectionPhase.HANDSHAKE, event)
        else:
            conn.await_request(time.monotonic(), HEAD_SECONDS)
            self._watch(conn, ConnectionPhase.REQUEST)
            self._receive(conn)  # The request may have come with the end of the handshake.

    def _watch(self, conn: WebConnection, phase: ConnectionPhase, event: int = EVENT_READ) -> None:
        """Continue with the connection at the next such event."""
        self.watched[phase][conn] = None
        conn.phase = phase
        self.poller.register(conn.sock, event, partial(self._on_event, conn, phase))

    def _unwatch(self, conn: WebConnection) -> None:
        if conn.phase is not None:
            del self.watched[conn.phase][conn]
            conn.phase = None
            self.poller.unregister(conn.sock)

    def _on_event(self, conn: WebConnection, phase: ConnectionPhase, _: object) -> None:
        if conn.phase is not phase:
            return  # Another event of the same moment has closed it.
        if phase is ConnectionPhase.HANDSHAKE:
            self._unwatch(conn)
            self.handshakes.add(conn.caller, conn)
            self._give_handshakes()
        elif phase is ConnectionPhase.REQUEST:
            self._receive(conn)
        elif phase is ConnectionPhase.ANSWER:
            self._unwatch(conn)
            self._send(conn)
        elif conn.has_gone():
            self._close(conn)

    def _receive(self, conn: WebConnection) -> None:
        verdict = conn.receive()
        self._account(conn, conn.bytes_held())
        if verdict is not ArrivalState.PART:
            self._proceed(conn, verdict)
        self._relieve()

    def _proceed(self, conn: WebConnection, verdict: ArrivalState | None) -> None:
        self._unwatch(conn)
        if verdict is ArrivalState.WHOLE:
            conn.data_ready = True  # Otherwise the thread would wait for more.
            self.enqueue_req(conn)
        elif verdict in REFUSALS:
            self._refuse(conn, REFUSALS[verdict])
        else:
            self._close(conn)

    def _send(self, conn: WebConnection) -> None:
        """Send the rest of the response as far as the client reads it, then wait for the next request."""
        try:
            event = conn.flush()
        except GoneError as error:
            self._give_up(conn, stalled=error.stalled)
            return
        self._account(conn, conn.bytes_held())
        if event:
            self._watch(conn, ConnectionPhase.ANSWER, event)
            self._relieve()
        elif conn.keeps_alive:
            verdict = conn.await_next(time.monotonic(), self.cfg.keepalive)
            if verdict is ArrivalState.PART:
                self._watch(conn, ConnectionPhase.REQUEST)
            else:
                self._proceed(conn, verdict)
        else:
            self._linger(conn)

    def _overdue(self, conn: WebConnection, now: float) -> bool:
        deadline = conn.deadline()
        if self.stopping_since and conn.phase is not ConnectionPhase.ANSWER:
            # The client may have sent its next request already, so the connection stays open for a moment.
            deadline = min(deadline, self.stopping_since + STOP_SECONDS)
        return deadline < now

    def _relieve(self) -> None:
        """While too many bytes are held, end the largest connection of the caller with most bytes."""
        while self.held > MOST_HELD:
            read_or_sent = (*self.watched[ConnectionPhase.REQUEST], *self.watched[ConnectionPhase.ANSWER])
            conn = largest([*read_or_sent, *self.turns.waiting()])
            if conn is None or not conn.held:
                return  # Threads hold the rest.
            self._end(conn, HTTPStatus.SERVICE_UNAVAILABLE)

    def _end(self, conn: WebConnection, status: HTTPStatus) -> None:
        """End a connection early: refuse its request, or drop its unread response."""
        if conn.phase is None:
            self.turns.drop(conn.requester, conn)
        if conn.phase is ConnectionPhase.ANSWER:
            self._give_up(conn, stalled=True)
        elif conn.is_idle():
            self._close(conn)
        else:
            self._unwatch(conn)
            self._refuse(conn, status)

    def _refuse(self, conn: WebConnection, status: HTTPStatus) -> None:
        with contextlib.suppress(OSError):  # The client may have gone.
            conn.sock.send(refusal(status))
        self._linger(conn)

    def _linger(self, conn: WebConnection) -> None:
        """Close our side and read for a while; otherwise the response could be lost (RFC 9112 9.6)."""
        self._account(conn, 0)
        try:
            conn.hang_up(time.monotonic() + LINGER_SECONDS)
        except OSError:
            self._close(conn)
            return
        self._watch(conn, ConnectionPhase.END)

    def _give_up(self, conn: WebConnection, *, stalled: bool) -> None:
        if stalled:
            self.log.warning("%s does not read its response", (conn.client or ("-",))[0])
        conn.abandon()
        self._close(conn)

    def _close(self, conn: WebConnection) -> None:
        self._unwatch(conn)
        self._account(conn, 0)
        self.callers.remove(conn)
        self.nr_conns -= 1
        conn.close()

    def _account(self, conn: WebConnection, held: int) -> None:
        self.held += held - conn.held
        conn.held = held
