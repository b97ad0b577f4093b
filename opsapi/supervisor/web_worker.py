"""gunicorn's threaded worker, with threads for whole requests only.

As it comes, a thread reads its request from the socket, and as many slow clients as there are threads
stop the service. Here the event loop gathers each request (`arrival`), with deadlines, and a thread gets
it when it is whole; connections are also closed by the loop, which otherwise stands still for each.
"""

import contextlib
import errno
import socket
import time
from concurrent.futures import Future
from functools import partial
from http import HTTPStatus
from selectors import EVENT_READ
from typing import Any

from gunicorn import sock
from gunicorn.workers.gthread import ThreadWorker

from opsapi.supervisor.arrival import HEAD_SECONDS, LONGEST_REQUEST, Verdict
from opsapi.supervisor.web_connection import NOT_YET, PIECE, STALL_SECONDS, CheckedReader, Connection
from opsapi.supervisor.web_refusals import refusal, status_of

LINGER_SECONDS = 3.0
STOP_IDLE_SECONDS = 1.0
SWEEP_SECONDS = 0.5
# All requests of one worker process that are not yet answered, in bytes.
MOST_HELD = 128 * 1024 * 1024
# An answer that fits goes out without its reader; the kernel lowers this to its own limit.
SEND_BUFFER = 1024 * 1024
REFUSALS = {
    Verdict.MALFORMED: HTTPStatus.BAD_REQUEST,
    Verdict.OVERSIZED: HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
}


class Worker(ThreadWorker):  # type: ignore[misc]  # gunicorn has no types
    """The worker class named in gunicorn_conf."""

    def init_process(self) -> None:
        """In the new process, before the event loop."""
        self.waiting: set[Connection] = set()
        self.lingering: dict[Connection, float] = {}
        self.swept = self.stopping_since = 0.0
        self.held = 0
        super().init_process()

    def accept(self, listener: socket.socket) -> None:
        """A new connection: its request is awaited, no thread touches it yet."""
        try:
            client, address = listener.accept()
        except OSError as error:
            if error.errno in (errno.EAGAIN, errno.ECONNABORTED):
                return
            raise
        self.nr_conns += 1
        try:
            conn = Connection(self.cfg, self._prepared(client), address, listener.getsockname())
        except OSError:  # it has gone already
            client.close()
            self.nr_conns -= 1
            return
        conn.await_request(time.monotonic(), HEAD_SECONDS)
        self._wait(conn)

    def finish_request(self, conn: Connection, answered: "Future[object]") -> None:
        """In the event loop, after a thread served a request."""
        self._account(conn, 0)
        if answered.exception() is None and answered.result():
            leftover = conn.parser.unreader.leftover()
            conn.await_request(time.monotonic(), self.cfg.keepalive)
            verdict = conn.take(leftover) if leftover else Verdict.PART
            if verdict is Verdict.PART:
                self._wait(conn)
            else:
                self._proceed(conn, verdict)
        else:
            self._linger(conn)

    def murder_pending(self) -> None:
        """gunicorn calls this about once a second, and after every event: ends what is overdue."""
        now = time.monotonic()
        if now - self.swept < SWEEP_SECONDS:
            return
        self.swept = now
        for conn in [conn for conn in self.waiting if self._overdue(conn, now)]:
            self._unwait(conn)
            if conn.arrival.data:
                self._refuse(conn, HTTPStatus.REQUEST_TIMEOUT)
            else:
                self._close(conn)
        horizon = now if self.alive else now + STOP_IDLE_SECONDS
        for conn in [conn for conn, until in self.lingering.items() if until < horizon]:
            self._end_lingering(conn)

    def handle_request(self, req: Any, conn: Connection) -> bool:
        """In a thread, with the parsed request."""
        req.body.reader = CheckedReader(req.body.reader)
        try:
            return bool(super().handle_request(req, conn))
        except TimeoutError:  # gunicorn would log a trace of it
            self.log.warning("%s does not read its answer", (conn.client or ("-",))[0])
            return False

    def handle_error(self, req: Any, client: socket.socket, addr: Any, exc: Exception) -> None:
        """In a thread: the parser refused the request, or something broke around the application."""
        status = status_of(exc)
        if status is HTTPStatus.INTERNAL_SERVER_ERROR:
            self.log.error("unexpected error", exc_info=exc)
        else:
            self.log.warning("invalid request from %s: %s", (addr or ("-",))[0], type(exc).__name__)
        with contextlib.suppress(OSError):  # it may have gone meanwhile
            client.sendall(refusal(status))

    def _keepalive_after(self, conn: Connection, keepalive: bool) -> bool:
        """In a thread, after the answer: what the application left of the body is in memory, so it is read.

        gunicorn gives up after 64 KiB, and a client that repeats a large request with credentials, as digest
        has it, would repeat it on a connection that is being closed.
        """
        until = time.monotonic() + STALL_SECONDS
        return keepalive and bool(conn.parser.finish_body(deadline=until, max_bytes=LONGEST_REQUEST))

    def _prepared(self, client: socket.socket) -> socket.socket:
        client.setblocking(False)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
        return sock.ssl_wrap_socket(client, self.cfg) if self.cfg.is_ssl else client

    def _overdue(self, conn: Connection, now: float) -> bool:
        if self.alive or conn.arrival.data:
            return conn.deadline() < now
        # Stopping: a client may have sent its next request already, so the door stays open for a moment.
        self.stopping_since = self.stopping_since or now
        return min(conn.deadline(), self.stopping_since + STOP_IDLE_SECONDS) < now

    def _wait(self, conn: Connection) -> None:
        self.waiting.add(conn)
        self.poller.register(conn.sock, EVENT_READ, partial(self._on_readable, conn))

    def _unwait(self, conn: Connection) -> None:
        self.waiting.discard(conn)
        self.poller.unregister(conn.sock)

    def _on_readable(self, conn: Connection, _: object) -> None:
        verdict = conn.receive()
        self._account(conn, len(conn.arrival.data))
        if verdict is not Verdict.PART:
            self._unwait(conn)
            self._proceed(conn, verdict)
        elif self.held > MOST_HELD:
            self._unwait(conn)
            self._refuse(conn, HTTPStatus.SERVICE_UNAVAILABLE)

    def _proceed(self, conn: Connection, verdict: Verdict | None) -> None:
        if verdict is Verdict.WHOLE:
            conn.data_ready = True  # or the thread would wait for more
            self.enqueue_req(conn)
        elif verdict in REFUSALS:
            self._refuse(conn, REFUSALS[verdict])
        else:
            self._close(conn)

    def _refuse(self, conn: Connection, status: HTTPStatus) -> None:
        with contextlib.suppress(OSError):  # it may have gone meanwhile
            conn.sock.send(refusal(status))
        self._linger(conn)

    def _linger(self, conn: Connection) -> None:
        """Closes our side and reads on for a while, or the answer could be lost (RFC 9112 9.6)."""
        self._account(conn, 0)
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._close(conn)
            return
        self.lingering[conn] = time.monotonic() + LINGER_SECONDS
        self.poller.register(conn.sock, EVENT_READ, partial(self._on_lingering, conn))

    def _on_lingering(self, conn: Connection, _: object) -> None:
        try:
            gone = not conn.sock.recv(PIECE)
        except NOT_YET:
            return
        except OSError:
            gone = True
        if gone:
            self._end_lingering(conn)

    def _end_lingering(self, conn: Connection) -> None:
        del self.lingering[conn]
        self.poller.unregister(conn.sock)
        self._close(conn)

    def _account(self, conn: Connection, held: int) -> None:
        self.held += held - conn.held
        conn.held = held

    def _close(self, conn: Connection) -> None:
        self._account(conn, 0)
        self.nr_conns -= 1
        conn.close()
