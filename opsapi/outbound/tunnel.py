"""Connections through the outgoing proxy: the connection to the proxy, CONNECT, and TLS inside of it.

The proxy gets the name of the receiver, not the checked address: many proxies decide by name.
"""

import logging
import socket
import ssl
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from urllib3.util import ssl_wrap_socket

from opsapi.hostnames import host_and_port
from opsapi.outbound.errors import OutboundError, OutboundReason, Stage
from opsapi.outbound.failures import AFTER_REQUEST, BEFORE_REQUEST, FAILURES, Reasons, details_of, reason_of
from opsapi.outbound.guard import resolve
from opsapi.outbound.heads import proxy_answer
from opsapi.outbound.pool import BoundedSocket, Deadline
from opsapi.outbound.trust import Purpose, is_late_refusal, tls_fault, trusting
from opsapi.outgoing_proxy import OutgoingProxy
from opsapi.redaction import without_secrets

logger = logging.getLogger(__name__)
_SAID_AT_MOST = 300
"""The most characters of the proxy's text in the log."""
_BODY_SECONDS = 2.0
"""Limit for reading the text of a refusal."""


@dataclass(frozen=True, slots=True)
class ProxyRoute:
    """The way to a receiver through the proxy. `origin` names the receiver in the log."""

    proxy: OutgoingProxy
    origin: str
    deadline: Deadline

    def open(self, connect_timeout: float) -> socket.socket:
        """Connect to the proxy, at any address: the operator named it.

        Raises: OutboundError: the proxy was not reached.
        """
        proxy = self.proxy
        with self._at(Stage.PROXY_RESOLVE):
            addresses = resolve(proxy.host, proxy.port, min(connect_timeout, self.deadline.left() / 2))
        with self._at(Stage.PROXY_CONNECT):
            sock = self._connected([str(address) for address in addresses], connect_timeout)
        if proxy.scheme == "http":
            return sock
        with self._at(Stage.PROXY_TLS), _closed_if_it_fails(sock):
            sock.settimeout(min(connect_timeout, self.deadline.left() / 2))
            return _secured(sock, proxy.host)

    def tunnel(self, sock: socket.socket, host: str, port: int, connect_timeout: float) -> socket.socket:
        """Let the proxy connect to the receiver, in half of the remaining time. Return the TLS connection.

        Raises: OutboundError: the proxy did not accept the request. OSError: the receiver and the platform
        did not agree on TLS.
        """
        with _closed_if_it_fails(sock):
            self._ask(sock, host_and_port(host, port))
            return _secured_inside(sock, host, min(connect_timeout, self.deadline.left() / 2))

    def _ask(self, sock: socket.socket, authority: str) -> None:
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self.proxy.authorization:
            lines.append(f"Proxy-Authorization: {self.proxy.authorization}")
        with self._at(Stage.PROXY_ANSWER, AFTER_REQUEST):
            bounded = BoundedSocket(sock, self.deadline.at_most(self.deadline.left() / 2))
            bounded.sendall("\r\n".join([*lines, "", ""]).encode("ascii"))
            with bounded.makefile("rb") as reader:
                answer = proxy_answer(reader)
                if not answer.is_taken:
                    bounded.deadline = bounded.deadline.at_most(_BODY_SECONDS)
                    raise self.refusal(answer.status, answer.said(reader))

    def refusal(self, status: int, said: Sequence[str] = ()) -> OutboundError:
        """The failure, also in the log, if the proxy answered with an error. `said` are its texts."""
        text = "; ".join(without_secrets(piece, self.proxy.secrets) for piece in said)
        self.log(Stage.PROXY_ANSWER, f"{status} {text[:_SAID_AT_MOST]}".strip())
        return OutboundError(OutboundReason.REFUSED, stage=Stage.PROXY_ANSWER, code=status)

    def log(self, place: str, details: str) -> None:
        """Write a line to the log that names the proxy without its log-in."""
        logger.warning(
            "no answer from %s through the outgoing proxy %s: %s (%s)",
            self.origin,
            self.proxy,
            place,
            details,
        )

    def _connected(self, addresses: list[str], connect_timeout: float) -> socket.socket:
        last_error: OSError = OSError("no address")
        for address in addresses:
            seconds = min(connect_timeout, self.deadline.left() / 2)
            try:
                sock = socket.create_connection((address, self.proxy.port), seconds)
            except OSError as error:
                last_error = error
            else:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return sock
        raise last_error

    @contextmanager
    def _at(self, stage: Stage, reasons: Reasons = BEFORE_REQUEST) -> Iterator[None]:
        try:
            yield
        except FAILURES as error:
            if is_late_refusal(error):
                stage, reasons = Stage.PROXY_TLS, BEFORE_REQUEST
            reason = reason_of(error, reasons)
            self.log(stage, f"{reason}: {details_of(error)}")
            raise OutboundError(reason, stage=stage, detail=tls_fault(error)) from None


def _secured_inside(sock: socket.socket, host: str, seconds: float) -> socket.socket:
    if not isinstance(sock, ssl.SSLSocket):
        sock.settimeout(seconds)
        return _secured(sock, host)
    outer = _OuterSocket(sock)
    outer.settimeout(seconds)
    inner = ssl_wrap_socket(
        cast(socket.socket, outer),
        ssl_context=trusting(Purpose.RECEIVER),
        server_hostname=host,
        tls_in_tls=True,
    )
    return cast(socket.socket, inner)


def _secured(sock: socket.socket, host: str) -> socket.socket:
    return ssl_wrap_socket(sock, ssl_context=trusting(Purpose.RECEIVER), server_hostname=host)


@contextmanager
def _closed_if_it_fails(sock: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        sock.close()
        raise


class _OuterSocket:
    """The TLS connection to the proxy, under the TLS connection to the receiver.

    urllib3 may read it many times for one operation of the inner connection, so a time-out is a deadline for
    all of them. It has the methods that urllib3's `SSLTransport` uses of a connected socket.
    """

    def __init__(self, sock: ssl.SSLSocket) -> None:
        self._sock = sock
        self._deadline = Deadline(0)
        self._io_refs = 0
        self._is_closed = False

    def settimeout(self, seconds: float) -> None:
        self._deadline = Deadline(seconds)

    def recv(self, size: int) -> bytes:
        self._sock.settimeout(self._deadline.left())
        return self._sock.recv(size)

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.left())
        self._sock.sendall(data)

    def fileno(self) -> int:
        return self._sock.fileno()

    def close(self) -> None:
        """Close the connection when its readers are closed, too."""
        self._is_closed = True
        if self._io_refs <= 0:
            self._sock.close()

    def _decref_socketios(self) -> None:
        self._io_refs -= 1
        if self._is_closed:
            self.close()
