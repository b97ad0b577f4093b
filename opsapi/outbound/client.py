"""Requests to receivers that operators configure, with checked addresses and limits of time and size.

Each new connection resolves the name once, checks every address, and connects to a checked address. The name
is used for `Host`, SNI and the certificate. With OPSAPI_OUTBOUND_PROXY, the addresses are checked too, but
the proxy gets the name: by CONNECT for https, in the request for http. The client follows no redirects and
ignores proxies in the environment. It can keep a connection for the next message to the same destination.
"""

import logging
import re
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http import HTTPStatus
from ipaddress import IPv4Address
from typing import Literal, cast

from django.conf import settings
from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.response import HTTPResponse
from urllib3.util import parse_url

from opsapi.outbound.errors import OutboundError, OutboundReason, Stage
from opsapi.outbound.failures import AFTER_REQUEST, BEFORE_REQUEST, FAILURES, details_of, reason_of
from opsapi.outbound.guard import Address, refused, resolve
from opsapi.outbound.heads import OnlyInterimError, StatusFirst
from opsapi.outbound.pool import IDLE_SECONDS, POOL, BoundedSocket, Deadline, OpenConnection
from opsapi.outbound.trust import Purpose, is_late_refusal, tls_fault, trusting
from opsapi.outbound.tunnel import ProxyRoute
from opsapi.outgoing_proxy import OutgoingProxy

logger = logging.getLogger(__name__)
_SENDABLE = re.compile(r"[\x21-\x7e]+")
# urllib3 warns about malformed headers with the full URL, which may contain a credential.
logging.getLogger("urllib3.connection").setLevel(logging.CRITICAL)

Method = Literal["POST", "PUT"]

_DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_REFUSAL_LIMIT = 4_096
_REFUSAL_SECONDS = 2.0
"""Limits, in bytes and seconds, for reading the body of a response that is not 2xx."""
_REST_LIMIT = 16_384
_REST_SECONDS = 0.1
"""Limits, in bytes and seconds, for reading the rest of a response so that its connection can be kept."""
_KEEP_ALIVE_TIMEOUT = re.compile(r"timeout=(\d{1,9})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    """The response: its status, some header fields, and the first bytes of its body.

    `body` is empty if it was not requested, and incomplete if the receiver ends the response early.
    `content_type` is None for a body in a content encoding. `is_proxied`: the outgoing proxy read the
    request, so it may have written the response.
    """

    status: int
    retry_after: str | None
    body: bytes
    content_type: str | None = None
    is_proxied: bool = False


@dataclass(frozen=True, slots=True)
class _Request:
    """A request. `owner`: the destination whose kept connections it can use; None to keep no connection."""

    target: "_Target"
    body: bytes
    headers: Mapping[str, str]
    body_limit: int
    owner: str | None
    method: Method

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
    method: Method = "POST",
) -> OutboundResponse:
    """Send a POST, or a PUT, and return the response with any status, also 3xx.

    Times are in seconds; `total_timeout` includes the resolution of the name. The status line decides: an
    error or a delay after it cannot turn a received status into a failure. `body_limit` is the number of
    bytes to read of the body of a 2xx response. Of other responses, the beginning of the body is read,
    because it can contain the reason.

    `owner` names the destination with its project and credentials. Its connection is kept for its next
    request, and other requests cannot use it. Without `owner` the connection is closed.

    Raises: OutboundError: there is no response. The log has the details, without path and credentials.
    """
    request = _Request(_parse(url), body, headers, body_limit, owner, method)
    deadline = Deadline(total_timeout)
    while True:
        connection = None
        try:
            connection = _kept(request, deadline) or _connect(request.target, deadline, connect_timeout)
            return _exchange(connection, request)
        except FAILURES as error:
            if connection and not connection.is_new and not connection.sock.written:
                continue  # The receiver has closed the connection: use the next one, or open a new one.
            sent, proxy = (connection.sock.written, connection.proxy) if connection else (False, None)
            sent = sent and not is_late_refusal(error)
            failure = _explain(request.target, error, sent=sent, proxy=proxy)
            if connection:
                failure.stage = _stage_of(failure, error, connection)
        raise failure


def _stage_of(failure: OutboundError, error: Exception, connection: OpenConnection) -> Stage:
    if isinstance(error, OnlyInterimError):
        return Stage.INTERIM
    is_cut_off = failure.reason is OutboundReason.NO_ANSWER and not connection.is_sent
    return Stage.REQUEST if is_cut_off else failure.stage


def _kept(request: _Request, deadline: Deadline) -> OpenConnection | None:
    """Return a kept connection, whose addresses are checked as for a new one; None without one."""
    allow = settings.OPSAPI_OUTBOUND_ALLOW
    if connection := POOL.take(request.key, may_use=lambda addresses: not refused(addresses, allow)):
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
    host = _with_dots(parts.host)
    authority = host if parts.port is None else f"{host}:{parts.port}"
    if not _SENDABLE.fullmatch(authority):
        raise OutboundError(OutboundReason.INVALID_URL)
    port = default_port if parts.port is None else parts.port
    return _Target(parts.scheme, host.strip("[]"), port, authority, _path_of(url) or parts.request_uri)


def _with_dots(host: str) -> str:
    """Return an IPv4 address in its usual form, and other hosts as they are.

    The resolver reads `2130706433`, `0x7f.1` and `0177.0.0.1` as IPv4 addresses. A proxy may read a
    different address, which the platform has not checked.
    """
    try:
        return str(IPv4Address(socket.inet_aton(host)))
    except OSError:
        return host


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
    addresses = _checked_addresses(target, deadline)
    proxy: OutgoingProxy | None = settings.OPSAPI_OUTBOUND_PROXY
    if proxy and not settings.OPSAPI_OUTBOUND_NO_PROXY.covers(target.host, addresses):
        return _connect_through(proxy, target, addresses, deadline, connect_timeout)
    last_error: Exception = OSError("no address")
    for address in addresses:
        # Half of the remaining time: the TLS handshake may take as long again.
        connection = _connection(target, address, min(connect_timeout, deadline.left() / 2))
        try:
            connection.connect()
        except FAILURES as error:
            connection.close()
            last_error = error
        else:
            return _opened(connection, connection.sock, [address], deadline)
    raise last_error


def _connect_through(
    proxy: OutgoingProxy,
    target: _Target,
    addresses: Sequence[Address],
    deadline: Deadline,
    connect_timeout: float,
) -> OpenConnection:
    """Connect through the proxy, which resolves the name again and chooses the address."""
    route = ProxyRoute(proxy, target.origin, deadline)
    sock = route.open(connect_timeout)
    if target.scheme == "https":
        try:
            sock = route.tunnel(sock, target.host, target.port, connect_timeout)
        except FAILURES as error:
            raise _explain(target, error, sent=False, proxy=proxy) from None
    return _opened(HTTPConnection(proxy.host, proxy.port), sock, addresses, deadline, proxy)


def _opened(
    http: HTTPConnection,
    sock: socket.socket,
    addresses: Sequence[Address],
    deadline: Deadline,
    proxy: OutgoingProxy | None = None,
) -> OpenConnection:
    http.response_class = StatusFirst
    bounded = BoundedSocket(sock, deadline)
    http.sock = cast(socket.socket, bounded)
    return OpenConnection(http, bounded, addresses, opened=time.monotonic(), proxy=proxy)


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
    proxy = connection.proxy if target.scheme == "http" else None
    if proxy and proxy.authorization:
        headers["Proxy-Authorization"] = proxy.authorization
    http = connection.http
    with ExitStack() as stack:
        stack.callback(connection.close)
        connection.is_sent = False
        connection.is_sent = _send(connection, request, headers)
        with closing(http.getresponse()) as response:
            answer = _answer(connection, request, response)
            if proxy and response.status == HTTPStatus.PROXY_AUTHENTICATION_REQUIRED:
                raise ProxyRoute(proxy, target.origin, connection.sock.deadline).refusal(response.status)
            is_reusable = connection.is_sent and bool(request.owner) and _is_reusable(connection, response)
        if is_reusable:
            POOL.keep(request.key, connection, seconds=_idle_seconds(response))
            stack.pop_all()
    return answer


def _send(connection: OpenConnection, request: _Request, headers: Mapping[str, str]) -> bool:
    """Send the request. Return False if the receiver stopped reading; it may have responded already."""
    path, body = request.target.path, request.body
    if connection.proxy and request.target.scheme == "http":
        path = f"http://{request.target.authority}{path}"  # RFC 9112 3.2.2
    try:
        connection.http.request(
            request.method, path, body, headers, preload_content=False, decode_content=False
        )
    except (BrokenPipeError, ConnectionResetError, ssl.SSLEOFError):
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
        is_proxied=connection.proxy is not None and request.target.scheme == "http",
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
    except FAILURES:
        logger.debug("the body of a response broke off after %d bytes", len(content))
    return content


def _is_reusable(connection: OpenConnection, response: HTTPResponse) -> bool:
    """Whether the connection can be kept. Reads the rest of the response, if it is short."""
    if connection.http.is_closed or (response.length_remaining or 0) > _REST_LIMIT:
        return False
    try:
        connection.sock.deadline = Deadline(min(_REST_SECONDS, connection.sock.deadline.left()))
        response.read(_REST_LIMIT, decode_content=False)
    except FAILURES:
        return False
    return response.closed


def _idle_seconds(response: HTTPResponse) -> float:
    """Return less than the receiver's keep-alive: it must not close the connection during a request."""
    keep_alive = _KEEP_ALIVE_TIMEOUT.search(response.headers.get("Keep-Alive", ""))
    return float(keep_alive[1]) - 1 if keep_alive else IDLE_SECONDS


def _explain(
    target: _Target, error: Exception, *, sent: bool, proxy: OutgoingProxy | None = None
) -> OutboundError:
    reason = reason_of(error, AFTER_REQUEST if sent else BEFORE_REQUEST)
    details = details_of(error)
    if reason is OutboundReason.UNRESOLVABLE and settings.OPSAPI_OUTBOUND_PROXY:
        details += "; the platform resolves names itself, also with an outgoing proxy"
    failure = _logged(target, reason, details, sent=sent, proxy=proxy)
    if reason in {OutboundReason.BAD_CERTIFICATE, OutboundReason.BAD_TLS}:
        failure.detail = tls_fault(error)
        if proxy and target.scheme == "http":
            failure.stage = Stage.PROXY_TLS
    return failure


def _logged(
    target: _Target,
    reason: OutboundReason,
    details: str,
    *,
    sent: bool = False,
    proxy: OutgoingProxy | None = None,
) -> OutboundError:
    through = f" through the outgoing proxy {proxy}" if proxy else ""
    logger.warning("no answer from %s%s: %s (%s)", target.origin, through, reason, details)
    return OutboundError(reason, sent=sent)
