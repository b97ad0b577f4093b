"""Real receivers on loopback: an HTTP server and a mail server that answer as the test asks.

A package that uses the fixtures `http_receiver` and `mail_receiver` names them in its conftest. Both set the
settings to their own addresses.
"""

import asyncio
import contextlib
import logging
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network

import pytest
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, Envelope, Session
from pytest_django import Settings

from tests.eventually import DEADLINE

LOOPBACK = ip_network("127.0.0.0/8")

# Threads of the mail server log each connection, also between two tests, when nothing captures the lines.
logging.getLogger("mail.log").setLevel(logging.WARNING)


@dataclass(frozen=True)
class ReceivedRequest:
    """One request as it came: header names as sent, body as bytes."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Behaviour = Callable[[BaseHTTPRequestHandler], object]


class HttpReceiver:
    """An HTTP server on 127.0.0.1 (with TLS when given a context) that records and answers.


    It closes each connection after its answer, and says so, unless it `keeps_alive`. `clients` are the ports
    that connections came from, one for each.
    """

    def __init__(
        self, context: ssl.SSLContext | None = None, *, port: int = 0, keeps_alive: bool = False
    ) -> None:
        self.requests: list[ReceivedRequest] = []
        self.clients: list[int] = []
        self._keeps_alive = keeps_alive
        self.stopped = threading.Event()
        self._behaviour: Behaviour = _answer(200, {}, b"")
        self._server = ThreadingHTTPServer(("127.0.0.1", port), self._handler())
        if context:
            # The handshake belongs to the request's own thread: one bad client must not stop the server.
            self._server.socket = context.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._scheme = "https" if context else "http"
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def url(self, path: str = "/hook", host: str = "127.0.0.1") -> str:
        """Where it listens."""
        return f"{self._scheme}://{host}:{self.port}{path}"

    def answer(self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        """From now on answer so."""
        self._behaviour = _answer(status, headers or {}, body)

    def behave(self, behaviour: Behaviour) -> None:
        """From now on let `behaviour` write the answer, or whatever it likes, to `handler.wfile`."""
        self._behaviour = behaviour

    def drip(self, start: bytes) -> None:
        """From now on send `start` at once, then a byte every little while, as good as for ever."""

        def behaviour(handler: BaseHTTPRequestHandler) -> None:
            handler.wfile.write(start)
            for _ in range(3000):
                if self.stopped.wait(0.01):
                    return
                handler.wfile.write(b"x")

        self._behaviour = behaviour

    @contextlib.contextmanager
    def running(self) -> Iterator["HttpReceiver"]:
        """Listen until the block ends."""
        self._thread.start()
        try:
            yield self
        finally:
            self.stopped.set()
            self._server.shutdown()
            self._server.server_close()
            self._thread.join()

    def _handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", "0")))
        headers = dict(handler.headers.items())
        self.requests.append(ReceivedRequest(handler.command, handler.path, headers, body))
        handler.close_connection = not self._keeps_alive
        # A client that has seen enough hangs up; that is its right.
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            self._behaviour(handler)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class ReceiverHandler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = 0

            def handle(self) -> None:
                receiver.clients.append(self.client_address[1])
                # A client that refuses the certificate breaks the handshake off.
                with contextlib.suppress(ConnectionError, ssl.SSLError):
                    super().handle()

            def do_GET(self) -> None:
                receiver._handle(self)

            def do_POST(self) -> None:
                receiver._handle(self)

            def do_PUT(self) -> None:
                receiver._handle(self)

            def end_headers(self) -> None:
                if self.close_connection:
                    self.send_header("Connection", "close")
                super().end_headers()

            def log_message(self, *_: object) -> None:
                """Nothing: the requests are recorded."""

        return ReceiverHandler


def _answer(status: int, headers: Mapping[str, str], body: bytes) -> Behaviour:
    def behaviour(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return behaviour


@dataclass(frozen=True)
class ReceivedMail:
    """One mail as it came: the envelope's recipients, the parsed message and its bytes."""

    recipients: tuple[str, ...]
    message: EmailMessage
    raw: bytes


@dataclass
class MailReceiver:
    """An SMTP server on 127.0.0.1, with one answer to RCPT TO and one answer to the mail itself.

    `offered` are all mails that it received, `mails` the accepted ones, `names` the EHLO names of clients.
    """

    mails: list[ReceivedMail] = field(default_factory=list)
    offered: list[ReceivedMail] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    recipient_answer: str = "250 OK"
    data_answer: str = "250 OK"
    never_answers: bool = False
    port: int = 0

    async def handle_RCPT(  # noqa: N802 - the name aiosmtpd looks for
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        """Take the recipient or refuse it; with `never_answers`, do neither."""
        if self.never_answers:
            await asyncio.Event().wait()
        if self.recipient_answer.startswith("2"):
            envelope.rcpt_tos.append(address)
        return self.recipient_answer

    async def handle_DATA(  # noqa: N802 - the name aiosmtpd looks for
        self, server: SMTP, session: Session, envelope: Envelope
    ) -> str:
        """Take the mail or refuse it."""
        self.names.append(str(session.host_name))
        raw = envelope.original_content or b""
        message = BytesParser(EmailMessage, policy=policy.default).parsebytes(raw)
        mail = ReceivedMail(tuple(envelope.rcpt_tos), message, raw)
        self.offered.append(mail)
        if self.data_answer.startswith("2"):
            self.mails.append(mail)
        return self.data_answer

    @contextlib.contextmanager
    def running(self, context: ssl.SSLContext | None = None) -> Iterator["MailReceiver"]:
        """Listen until the block ends; with a context it offers STARTTLS."""
        controller = _AnyPortController(
            self, hostname="127.0.0.1", port=0, tls_context=context, ready_timeout=DEADLINE
        )
        controller.start()
        self.port = controller.port
        try:
            yield self
        finally:
            controller.stop()


class _AnyPortController(Controller):
    """Listens on a free port, and knows which once it does."""

    def _trigger_server(self) -> None:
        assert isinstance(self.server, asyncio.Server)
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


@pytest.fixture
def http_receiver(settings: Settings) -> Iterator[HttpReceiver]:
    """A running HTTP receiver that the address guard lets through."""
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    with HttpReceiver().running() as receiver:
        yield receiver


@pytest.fixture
def mail_receiver(settings: Settings) -> Iterator[MailReceiver]:
    """A running mail server that the settings name."""
    with MailReceiver().running() as receiver:
        settings.EMAIL_BACKEND = "opsapi.outbound.mail.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", receiver.port
        settings.EMAIL_HOST_USER = settings.EMAIL_HOST_PASSWORD = ""
        settings.EMAIL_USE_TLS = settings.EMAIL_USE_SSL = False
        settings.DEFAULT_FROM_EMAIL = "Ops <ops@platform.example>"
        yield receiver
