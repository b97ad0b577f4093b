"""The conversation with the mail server: one mail to one recipient, stage by stage (RFC 5321).

`smtplib` speaks the protocol. This module adds what it lacks: a deadline for each reply instead of for each
read, limits for replies, and errors that name the stage in which the conversation ended.
"""

import re
import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import BinaryIO, cast

from opsapi.outbound.errors import MailError, OutboundReason, Stage
from opsapi.outbound.guard import resolve
from opsapi.outbound.pool import BoundedSocket, Deadline
from opsapi.outbound.trust import Purpose, is_late_refusal, tls_fault, trusting

SECONDS: Mapping[Stage, float] = {
    Stage.RESOLVE: 30.0,
    Stage.CONNECT: 30.0,
    Stage.TLS: 60.0,
    Stage.GREETING: 300.0,
    Stage.EHLO: 300.0,
    Stage.STARTTLS: 120.0,
    Stage.AUTH: 300.0,  # Some servers answer slowly to slow down the guessing of passwords.
    Stage.MAIL: 300.0,
    Stage.RCPT: 300.0,
    Stage.DATA: 120.0,
    Stage.END: 600.0,
}
"""The longest wait for the reply of each stage: RFC 5321 4.5.3.2, or our own limit if the RFC has none."""
BLOCK_SECONDS = 180.0
"""The longest time to send a part of the mail (RFC 5321 4.5.3.2.5)."""
LONGEST_SECONDS = sum(SECONDS.values()) + BLOCK_SECONDS
"""The longest conversation."""
_FIRST = frozenset({Stage.GREETING, Stage.EHLO})
"""The stages that can follow a TLS handshake."""
_QUIT_SECONDS = 1.0
_PIECE = 16_384
_LINE_LIMIT = 2_048
"""Bytes of a line that are kept: RFC 5321 4.5.3.1.5 allows 512."""
_DROPPED_AT_MOST = 65_536
"""Bytes of a longer line that are read past."""
_LINES_AT_MOST = 100
"""Lines of a reply that are kept."""
_LINES_READ = 2_000
_REFUSED = 400
_REPLY = re.compile(rb"(?P<code>[1-5]\d\d)(?P<more>[ -]|(?=\r?\n|$))")
_LEADING_DOT = re.compile(rb"(?m)^\.")


@dataclass(frozen=True, slots=True, kw_only=True)
class MailServer:
    """A mail server; `username` and `password` are empty without a log-in, `helo` is the name for EHLO."""

    host: str
    port: int
    helo: str
    starts_tls: bool = False
    is_tls: bool = False
    username: str = ""
    password: str = ""


def converse(
    server: MailServer,
    *,
    sender: str,
    recipient: str,
    mail: bytes,
    within: float | None = None,
    is_wanted: Callable[[], bool] = lambda: True,
) -> None:
    """Send one mail, given in lines that end in CRLF, and return when the server has accepted it.

    `within`: the longest time for the whole conversation, in seconds; None for the limits of the stages.
    `is_wanted` is called before the mail, because minutes can pass until then.

    Raises: MailError: the server did not accept the mail.
    """
    conversation = _Conversation(server, Deadline(LONGEST_SECONDS if within is None else within))
    try:
        conversation.open()
        conversation.name(sender, recipient)
        if not is_wanted():
            raise MailError(Stage.DATA, reason=OutboundReason.OVERDUE)
        conversation.send(mail)
    finally:
        conversation.close()


class _Client(smtplib.SMTP):
    """smtplib's client on a connected socket; replies are bounded, and the worst line of a reply decides."""

    def __init__(self, helo: str) -> None:
        super().__init__(local_hostname=helo)
        self.refusal: tuple[int, bytes] | None = None
        self._is_out_of_step = False

    def use(self, sock: socket.socket, host: str) -> None:
        """Use this socket for a new conversation."""
        if self.file:
            self.file.close()
        self.file = None
        self.sock = sock
        self._host = host
        self.ehlo_resp = self.helo_resp = None
        self.esmtp_features = {}
        self.does_esmtp = False

    def getreply(self) -> tuple[int, bytes]:
        """Read a reply. A reply that breaks off after its first line counts.

        All lines should have the same code (RFC 5321 4.2.1). If they differ, the highest code decides: a
        refused mail never counts as accepted.
        """
        if self.sock is None or self._is_out_of_step:
            raise smtplib.SMTPServerDisconnected("the reply before broke off")
        lines_of_server = self.file = self.file or self.sock.makefile("rb")
        code: int | None = None
        lines: list[bytes] = []
        for _ in range(_LINES_READ):
            matched_line = self._line(lines_of_server, is_first=code is None)
            if matched_line is None:
                break
            match, line = matched_line
            code = max(code or 0, int(match["code"]))
            if len(lines) < _LINES_AT_MOST:
                lines.append(line[match.end() :].strip())
            self.refusal = (code, b"\n".join(lines)) if code >= _REFUSED else None
            if match["more"] != b"-" or self._is_out_of_step:
                return code, b"\n".join(lines)
        if code is None:
            raise MailError(Stage.SETTINGS, reason=OutboundReason.BAD_RESPONSE)  # `_at` sets the stage
        self._is_out_of_step = True
        return code, b"\n".join(lines)

    def _line(self, source: BinaryIO, *, is_first: bool) -> tuple[re.Match[bytes], bytes] | None:
        try:
            line = source.readline(_LINE_LIMIT)
            end, dropped = line, 0
            while end and not end.endswith(b"\n") and not self._is_out_of_step:
                end = source.readline(_LINE_LIMIT)
                dropped += len(end)
                self._is_out_of_step = dropped > _DROPPED_AT_MOST
        except OSError:
            if is_first:
                raise
            return None
        if not line and is_first:
            raise smtplib.SMTPServerDisconnected("the server closed the connection")
        match = _REPLY.match(line)
        return (match, line) if match else None


class _Conversation:
    """A conversation with a mail server from the connection to QUIT."""

    def __init__(self, server: MailServer, deadline: Deadline) -> None:
        self._server = server
        self._deadline = deadline
        self._client = _Client(server.helo)

    def open(self) -> None:
        """Connect, encrypt, introduce the platform and log in: the conversation before the first mail."""
        server, client = self._server, self._client
        plain = self._connected()
        self._use(self._encrypted(plain) if server.is_tls else plain)
        with self._at(Stage.GREETING):
            self._expect(Stage.GREETING, client.getreply(), 220)
        self._hello()
        if server.starts_tls:
            with self._at(Stage.STARTTLS):
                if not client.has_extn("starttls"):
                    raise MailError(Stage.STARTTLS, reason=OutboundReason.NOT_OFFERED)
                self._expect(Stage.STARTTLS, client.docmd("STARTTLS"), 220)
            self._use(self._encrypted(plain))
            self._hello()
        if server.username and server.password:
            with self._at(Stage.AUTH):
                self._log_in()

    def name(self, sender: str, recipient: str) -> None:
        """Name the sender and the recipient."""
        with self._at(Stage.MAIL):
            self._expect(Stage.MAIL, self._client.mail(sender))
        with self._at(Stage.RCPT):
            self._expect(Stage.RCPT, self._client.rcpt(recipient))

    def send(self, mail: bytes) -> None:
        """Send the mail, and wait until the server has accepted it."""
        client = self._client
        with self._at(Stage.DATA):
            self._expect(Stage.DATA, client.docmd("DATA"), 354)
        content = _LEADING_DOT.sub(b"..", mail.removesuffix(b"\r\n")) + b"\r\n.\r\n"
        start = (len(content) - 1) // _PIECE * _PIECE
        with self._at(Stage.DATA, seconds=BLOCK_SECONDS):
            for place in range(0, start, _PIECE):
                self._wait_at_most(BLOCK_SECONDS)
                client.send(content[place : place + _PIECE])
        # From here on, the server may have the whole mail.
        with self._at(Stage.END):
            client.send(content[start:])
            self._expect(Stage.END, client.getreply())

    def close(self) -> None:
        """Say QUIT, without waiting long for the reply, and disconnect."""
        if self._client.sock is not None:
            with suppress(OSError):  # This includes the exceptions of smtplib.
                self._wait_at_most(_QUIT_SECONDS)
                self._client.docmd("QUIT")
        self._client.close()

    def _connected(self) -> socket.socket:
        host, port = self._server.host, self._server.port
        with self._at(Stage.RESOLVE):
            try:
                addresses = resolve(host, port, self._left(Stage.RESOLVE))
            except socket.gaierror as error:
                reason = OutboundReason.UNRESOLVABLE
                raise MailError(Stage.RESOLVE, reason=reason, detail=_system_fault(error)) from None
            except TimeoutError:
                raise MailError(Stage.RESOLVE, reason=OutboundReason.TIMED_OUT) from None
        failure: OSError = OSError("no address")
        until = time.monotonic() + self._left(Stage.CONNECT)
        for number, address in enumerate(addresses):
            # The remaining time is divided, so that an address that does not answer leaves time for the next
            # address.
            seconds = (until - time.monotonic()) / (len(addresses) - number)
            try:
                return socket.create_connection((str(address), port), max(seconds, 0.1))
            except OSError as error:
                failure = error
        reason = (
            OutboundReason.TIMED_OUT if isinstance(failure, TimeoutError) else OutboundReason.NOT_CONNECTED
        )
        raise MailError(Stage.CONNECT, reason=reason, detail=_system_fault(failure))

    def _encrypted(self, plain: socket.socket) -> socket.socket:
        with self._at(Stage.TLS):
            try:
                plain.settimeout(self._left(Stage.TLS))
                return trusting(Purpose.MAIL_SERVER).wrap_socket(plain, server_hostname=self._server.host)
            except ssl.SSLCertVerificationError as error:
                reason = OutboundReason.BAD_CERTIFICATE
                raise MailError(Stage.TLS, reason=reason, detail=tls_fault(error)) from None
            except ssl.SSLError as error:
                reason = OutboundReason.BAD_TLS
                raise MailError(Stage.TLS, reason=reason, detail=tls_fault(error)) from None
            except ValueError:  # The name of the server cannot be in a certificate.
                raise MailError(Stage.TLS, reason=OutboundReason.BAD_CERTIFICATE) from None

    def _use(self, sock: socket.socket) -> None:
        bounded = BoundedSocket(sock, self._deadline)
        self._client.use(cast(socket.socket, bounded), self._server.host)

    def _hello(self) -> None:
        with self._at(Stage.EHLO):
            code, text = self._client.ehlo()
            if 500 <= code <= 599:  # A server that knows only HELO (RFC 5321 3.2).
                code, text = self._client.helo()
            self._expect(Stage.EHLO, (code, text))

    def _log_in(self) -> None:
        try:
            self._client.login(self._server.username, self._server.password)
        except smtplib.SMTPAuthenticationError as error:
            raise MailError(Stage.AUTH, code=error.smtp_code, text=_text(error.smtp_error)) from None
        except UnicodeError:
            detail = "the log-in has characters outside ASCII"
            raise MailError(Stage.AUTH, reason=OutboundReason.INCOMPLETE, detail=detail) from None
        except ValueError:  # The challenge of the server is not base64.
            raise MailError(Stage.AUTH, reason=OutboundReason.BAD_RESPONSE) from None
        except smtplib.SMTPServerDisconnected:
            if self._client.refusal is None:
                raise
            # The server refused a method and hung up before the next.
            code, text = self._client.refusal
            raise MailError(Stage.AUTH, code=code, text=_text(text)) from None
        except smtplib.SMTPException:  # Not offered at all, or no method in common.
            raise MailError(Stage.AUTH, reason=OutboundReason.NOT_OFFERED) from None

    @contextmanager
    def _at(self, stage: Stage, *, seconds: float | None = None) -> Iterator[None]:
        """Set the time limit of this stage. Errors in the block name the stage."""
        self._wait_at_most(SECONDS[stage] if seconds is None else seconds)
        try:
            yield
        except MailError as error:
            error.stage = stage
            raise
        except smtplib.SMTPResponseException as error:
            raise MailError(stage, code=error.smtp_code, text=_text(error.smtp_error)) from None
        except OSError as error:  # This includes the exceptions of smtplib and TimeoutError.
            # smtplib raises its own exception if it cannot send.
            cause = error.__context__ if isinstance(error, smtplib.SMTPException) else error
            if stage in _FIRST and cause and is_late_refusal(cause):
                reason = OutboundReason.BAD_TLS
                raise MailError(Stage.TLS, reason=reason, detail=tls_fault(cause)) from None
            detail = _system_fault(error)
            raise MailError(stage, reason=OutboundReason.NO_ANSWER, detail=detail) from None

    def _left(self, stage: Stage) -> float:
        try:
            return min(SECONDS[stage], self._deadline.left())
        except TimeoutError:
            raise MailError(stage, reason=OutboundReason.TIMED_OUT) from None

    def _wait_at_most(self, seconds: float) -> None:
        sock: object = self._client.sock
        if isinstance(sock, BoundedSocket):
            sock.deadline = self._deadline.at_most(seconds)

    @staticmethod
    def _expect(stage: Stage, reply: tuple[int, bytes], wanted: int | None = None) -> None:
        """Raises MailError: the code of the reply is not `wanted`; by default, any 2xx code is accepted."""
        code, text = reply
        if code != wanted if wanted else not 200 <= code <= 299:
            raise MailError(stage, code=code, text=_text(text))


def _system_fault(error: OSError) -> str:
    if isinstance(error, smtplib.SMTPException):
        return ""
    return (error.strerror or "").lower() if not isinstance(error, TimeoutError) else "no reply in time"


def _text(reply: bytes | str) -> str:
    text = reply.decode("utf-8", errors="replace") if isinstance(reply, bytes) else reply
    return " ".join(text.split())
