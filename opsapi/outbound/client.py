"""POSTs to receivers that operators configure, with checked addresses and limits of time and size.

Each new connection resolves the name once, checks every address, and connects to a checked address. The name
is used for `Host`, SNI and the certificate. The client follows no redirects and uses no proxies. It can keep
a connection for the next message to the same destination.
"""

import logging
import re
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http.client import HTTPException
from typing import cast

from django.conf import settings
from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse
from urllib3.util import parse_url

from opsapi.outbound.errors import OutboundError, OutboundReason
from opsapi.outbound.guard import Address, refused, resolve
from opsapi.outbound.heads import StatusFirst
from opsapi.outbound.pool import IDLE_SECONDS, POOL, BoundedSocket, Deadline, OpenConnection
from opsapi.outbound.trust import Purpose, tls_fault, trusting

logger = logging.getLogger(__name__)
_SENDABLE = re.compile(r"[\x21-\x7e]+")
# urllib3 warns about malformed headers with the full URL, which may contain a credential.
logging.getLogger("urllib3.connection").setLevel(logging.CRITICAL)

_DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_FAILURES = (OSError, HTTPException, exceptions.HTTPError)
_REASONS: Sequence[tuple[tuple[type[Exception], ...], OutboundReason]] = (
    # This comes first, because urllib3 counts it as a time-out.
    ((exceptions.NewConnectionError,), OutboundReason.NOT_CONNECTED),
    ((TimeoutError, exceptions.TimeoutError), OutboundReason.TIMED_OUT),
    ((ssl.SSLCertVerificationError,), OutboundReason.BAD_CERTIFICATE),
    # The connection was lost. This must look like a closed port.
    ((ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError), OutboundReason.NOT_CONNECTED),
    ((ssl.SSLError,), OutboundReason.BAD_TLS),
    ((socket.gaierror,), OutboundReason.UNRESOLVABLE),
    ((OSError,), OutboundReason.NOT_CONNECTED),
)
_REFUSAL_LIMIT = 4_096
_REFUSAL_SECONDS = 2.0
"""Limits, in bytes and seconds, for reading the body of a response that is not 2xx."""
_REST_LIMIT = 16_384
_REST_SECONDS = 0.1
"""Limits, in bytes and seconds, for reading the rest of a response so that its connection can be kept."""
_KEEP_ALIVE_TIMEOUT = re.compile(r"timeout=(\d{1,9})", re.IGNORECASE)
# After the request is written, a failure concerns the response.
_ANSWER_REASONS: Sequence[tuple[tuple[type[Exception], ...], OutboundReason]] = (
    ((OSError, exceptions.TimeoutError), OutboundReason.NO_ANSWER),
)


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    """The response: its status, some header fields, and the first bytes of its body.

    `body` is empty if it was not requested, and incomplete if the receiver ends the response early.
    `content_type` is None for a body in a content encoding.
    """

    status: int
    retry_after: str | None
    body: bytes
    content_type: str | None = None


@dataclass(frozen=True, slots=True)
class _Request:
    """A request. `owner`: the destination whose kept connections it can use; None to keep no connection."""

    target: "_Target"
    body: bytes
    headers: Mapping[str, str]
    body_limit: int
    owner: str | None

    @property
    def key(self) -> tuple[str, ...]:
        """The properties that a kept connection must match."""
        target = self.target
        return target.scheme, target.host, str(target.port), self.owner or ""


@dataclass(frozen=True, slots=True)
class _Target:
    scheme: str
    host: str
    port: int
    authority: str
    path: str

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    connect_timeout: float = 5.0,
    total_timeout: float = 15.0,
    body_limit: int = 65_536,
    owner: str | None = None,
) -> OutboundResponse:
    """Send a POST and return the response with any status, also 3xx.

    Times are in seconds; `total_timeout` includes the resolution of the name. The status line decides: an
    error or a delay after it cannot turn a received status into a failure. `body_limit` is the number of
    bytes to read of the body of a 2xx response. Of other responses, the beginning of the body is read,
    because it can contain the reason.

    `owner` names the destination with its project and credentials. Its connection is kept for its next
    request, and other requests cannot use it. Without `owner` the connection is closed.

    Raises: OutboundError: there is no response. The log has the details, without path and credentials.
    """
    request = _Request(_parse(url), body, headers, body_limit, owner)
    deadline = Deadline(total_timeout)
    while True:
        connection = None
        try:
            connection = _kept(request, deadline) or _connect(request.target, deadline, connect_timeout)
            return _exchange(connection, request)
        except _FAILURES as error:
            if connection and not connection.is_new and not connection.sock.written:
                continue  # The receiver has closed the connection: use the next one, or open a new one.
            failure = _explain(request.target, error, sent=connection is not None and connection.sock.written)
        raise failure


def _kept(request: _Request, deadline: Deadline) -> OpenConnection | None:
    """Return a kept connection, whose address is checked like that of a new one; None without one."""
    allow = settings.OPSAPI_OUTBOUND_ALLOW
    if connection := POOL.take(request.key, may_use=lambda address: not refused([address], allow)):
        connection.sock.begin(deadline)
    return connection


def _parse(url: str) -> _Target:
    try:
        parts = parse_url(url)
    except exceptions.LocationParseError:
        raise OutboundError(OutboundReason.INVALID_URL) from None
    default_port = _DEFAULT_PORTS.get(parts.scheme or "")
    if default_port is None or not parts.scheme or not parts.host or parts.auth is not None:
        raise OutboundError(OutboundReason.INVALID_URL)
    authority = parts.host if parts.port is None else f"{parts.host}:{parts.port}"
    port = default_port if parts.port is None else parts.port
    return _Target(parts.scheme, parts.host.strip("[]"), port, authority, _path_of(url) or parts.request_uri)


def _path_of(url: str) -> str | None:
    """Return path and query as they were given: a signature may cover them. None if they need quoting.

    urllib3 encodes the percent signs of a part again if any percent sign in it begins no escape.
    """
    after = url.partition("#")[0].partition("://")[2]
    start = min((place for place in map(after.find, "/?") if place >= 0), default=len(after))
    given = after[start:]
    path = given if given.startswith("/") else f"/{given}"
    return path if _SENDABLE.fullmatch(path) else None


def _checked_addresses(target: _Target, deadline: Deadline) -> Sequence[Address]:
    addresses = resolve(target.host, target.port, deadline.left())
    if refusals := refused(addresses, settings.OPSAPI_OUTBOUND_ALLOW):
        details = ", ".join(f"{address} is {verdict}" for address, verdict in refusals.items())
        raise _logged(target, OutboundReason.REFUSED_ADDRESS, details)
    return addresses


def _connect(target: _Target, deadline: Deadline, connect_timeout: float) -> OpenConnection:
    last_error: Exception = OSError("no address")
    for address in _checked_addresses(target, deadline):
        # Half of the remaining time: the TLS handshake may take as long again.
        connection = _connection(target, address, min(connect_timeout, deadline.left() / 2))
        try:
            connection.connect()
        except _FAILURES as error:
            connection.close()
            last_error = error
        else:
            connection.response_class = StatusFirst
            bounded = BoundedSocket(connection.sock, deadline)
            connection.sock = cast(socket.socket, bounded)
            return OpenConnection(connection, bounded, address, opened=time.monotonic())
    raise last_error


def _connection(target: _Target, address: Address, timeout: float) -> HTTPConnection:
    if target.scheme == "http":
        return HTTPConnection(str(address), target.port, timeout=timeout)
    # `server_hostname` alone leaves the name check to OpenSSL; `assert_hostname` would turn it off on the
    # context, for all connections.
    return HTTPSConnection(
        str(address),
        target.port,
        timeout=timeout,
        server_hostname=target.host,
        ssl_context=trusting(Purpose.RECEIVER),
    )


def _exchange(connection: OpenConnection, request: _Request) -> OutboundResponse:
    """Return the response. Afterwards the connection is kept for its owner, or closed."""
    target = request.target
    closing_header = {} if request.owner else {"Connection": "close"}
    headers = {"Host": target.authority, **closing_header, **request.headers}
    http = connection.http
    with ExitStack() as stack:
        stack.callback(connection.close)
        is_sent = _send(connection, request, headers)
        with closing(http.getresponse()) as response:
            answer = _answer(connection, request, response)
            is_reusable = is_sent and bool(request.owner) and _is_reusable(connection, response)
        if is_reusable:
            POOL.keep(request.key, connection, seconds=_idle_seconds(response))
            stack.pop_all()
    return answer


def _send(connection: OpenConnection, request: _Request, headers: Mapping[str, str]) -> bool:
    """Send the request. Return False if the receiver stopped reading; it may have responded already."""
    path, body = request.target.path, request.body
    try:
        connection.http.request("POST", path, body, headers, preload_content=False, decode_content=False)
    except (BrokenPipeError, ConnectionResetError):
        if not connection.sock.written:
            raise
        return False
    return True


def _answer(connection: OpenConnection, request: _Request, response: HTTPResponse) -> OutboundResponse:
    is_taken = 200 <= response.status <= 299
    if not is_taken:
        deadline = connection.sock.deadline
        connection.sock.deadline = Deadline(min(_REFUSAL_SECONDS, deadline.left()))
    content = _body(response, request.body_limit if is_taken else _REFUSAL_LIMIT)
    is_encoded = response.headers.get("Content-Encoding", "identity").lower() != "identity"
    return OutboundResponse(
        response.status,
        response.headers.get("Retry-After"),
        content,
        None if is_encoded else response.headers.get("Content-Type", ""),
    )


def _body(response: HTTPResponse, limit: int) -> bytes:
    """Return up to `limit` bytes of the body, fewer if the receiver ends the response early."""
    content = b""
    try:
        while len(content) < limit:
            piece = response.read1(limit - len(content), decode_content=False)
            if not piece:
                break
            content += piece
    except _FAILURES:
        logger.debug("the body of a response broke off after %d bytes", len(content))
    return content


def _is_reusable(connection: OpenConnection, response: HTTPResponse) -> bool:
    """Whether the connection can be kept. Reads the rest of the response, if it is short."""
    if connection.http.is_closed or (response.length_remaining or 0) > _REST_LIMIT:
        return False
    try:
        connection.sock.deadline = Deadline(min(_REST_SECONDS, connection.sock.deadline.left()))
        response.read(_REST_LIMIT, decode_content=False)
    except _FAILURES:
        return False
    return response.closed


def _idle_seconds(response: HTTPResponse) -> float:
    """Return less than the receiver's keep-alive: it must not close the connection during a request."""
    keep_alive = _KEEP_ALIVE_TIMEOUT.search(response.headers.get("Keep-Alive", ""))
    return float(keep_alive[1]) - 1 if keep_alive else IDLE_SECONDS


def _explain(target: _Target, error: Exception, *, sent: bool) -> OutboundError:
    matches = (
        reason for types, reason in (_ANSWER_REASONS if sent else _REASONS) if isinstance(error, types)
    )
    cause = error.__cause__ or error
    # Other texts may quote the receiver, which may repeat the URL of the request.
    details = cause.strerror if isinstance(cause, OSError) else None
    reason = next(matches, OutboundReason.BAD_RESPONSE)
    failure = _logged(target, reason, tls_fault(error) or details or type(cause).__name__, sent=sent)
    if reason in {OutboundReason.BAD_CERTIFICATE, OutboundReason.BAD_TLS}:
        failure.detail = tls_fault(error)
    return failure


def _logged(target: _Target, reason: OutboundReason, details: str, *, sent: bool = False) -> OutboundError:
    logger.warning("no answer from %s: %s (%s)", target.origin, reason, details)
    return OutboundError(reason, sent=sent)
