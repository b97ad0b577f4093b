"""POST to a receiver that somebody configured: checked address, bounded time and size (decisions 7).

The name is resolved once, every address is checked, and the connection goes to a checked address; the
name serves for `Host`, SNI and the certificate. Redirects are not followed, proxies not looked for.
"""

import logging
import socket
import ssl
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from http.client import HTTPException
from typing import cast

from django.conf import settings
from urllib3 import exceptions
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util import parse_url

from opsapi.outbound.deadline import BoundedSocket, Deadline
from opsapi.outbound.errors import OutboundError, OutboundReason
from opsapi.outbound.guard import Address, refused
from opsapi.outbound.resolver import resolve

logger = logging.getLogger(__name__)
# urllib3 warns of malformed headers with the full URL, and that may carry a credential.
logging.getLogger("urllib3.connection").setLevel(logging.CRITICAL)

_DEFAULT_PORTS: Mapping[str, int] = {"http": 80, "https": 443}
_FAILURES = (OSError, HTTPException, exceptions.HTTPError)
_REASONS: Sequence[tuple[tuple[type[Exception], ...], OutboundReason]] = (
    # First, for urllib3 counts it among its time-outs.
    ((exceptions.NewConnectionError,), OutboundReason.NOT_CONNECTED),
    ((TimeoutError, exceptions.TimeoutError), OutboundReason.TIMED_OUT),
    ((ssl.SSLCertVerificationError,), OutboundReason.BAD_CERTIFICATE),
    ((socket.gaierror,), OutboundReason.UNRESOLVABLE),
    ((OSError,), OutboundReason.NOT_CONNECTED),
)
# Once the request was written, whatever is missing is the answer.
_ANSWER_REASONS: Sequence[tuple[tuple[type[Exception], ...], OutboundReason]] = (
    ((OSError, exceptions.TimeoutError), OutboundReason.NO_ANSWER),
)


@dataclass(frozen=True, slots=True)
class OutboundResponse:
    """What came back: the status, the Retry-After header as sent, and the first `body_limit` bytes."""

    status: int
    retry_after: str | None
    body: bytes


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
) -> OutboundResponse:
    """Send one POST and return the answer, whatever its status; a 3xx is an answer like any other.

    Times are in seconds; the total covers all of it, the name's resolution included. With `body_limit` 0
    the answer's body is not read at all, so a receiver cannot undo by dripping what its status said.

    Raises:
        OutboundError: when there is no answer; the log has the details, without path or credentials.
    """
    target = _parse(url)
    deadline = Deadline(total_timeout)
    connection = None
    try:
        addresses = _checked_addresses(target, deadline)
        with closing(_connect(target, addresses, deadline, connect_timeout)) as connection:
            return _exchange(connection, target, body, headers, body_limit)
    except _FAILURES as error:
        failure = _explain(target, error, sent=connection is not None)
    raise failure


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
    return _Target(parts.scheme, parts.host.strip("[]"), port, authority, parts.request_uri)


def _checked_addresses(target: _Target, deadline: Deadline) -> Sequence[Address]:
    addresses = resolve(target.host, target.port, deadline.left())
    if refusals := refused(addresses, settings.OPSAPI_OUTBOUND_ALLOW):
        details = ", ".join(f"{address} is {verdict}" for address, verdict in refusals.items())
        raise _logged(target, OutboundReason.REFUSED_ADDRESS, details)
    return addresses


def _connect(
    target: _Target, addresses: Sequence[Address], deadline: Deadline, connect_timeout: float
) -> HTTPConnection:
    last_error: Exception = OSError("no address")
    for address in addresses:
        # Half of what is left: the TLS handshake may take the same time again.
        connection = _connection(target, address, min(connect_timeout, deadline.left() / 2))
        try:
            connection.connect()
        except _FAILURES as error:
            connection.close()
            last_error = error
        else:
            connection.sock = cast(socket.socket, BoundedSocket(connection.sock, deadline))
            return connection
    raise last_error


def _connection(target: _Target, address: Address, timeout: float) -> HTTPConnection:
    if target.scheme == "http":
        return HTTPConnection(str(address), target.port, timeout=timeout)
    # `server_hostname` alone leaves the check of the name with OpenSSL; `assert_hostname` would switch it
    # off on the context, which is why none is shared.
    context = ssl.create_default_context()
    return HTTPSConnection(
        str(address), target.port, timeout=timeout, server_hostname=target.host, ssl_context=context
    )


def _exchange(
    connection: HTTPConnection, target: _Target, body: bytes, headers: Mapping[str, str], body_limit: int
) -> OutboundResponse:
    sent = {"Host": target.authority, "Connection": "close", **headers}
    connection.request("POST", target.path, body, sent, preload_content=False, decode_content=False)
    with closing(connection.getresponse()) as response:
        content = response.read(body_limit, decode_content=False)
        return OutboundResponse(response.status, response.headers.get("Retry-After"), content)


def _explain(target: _Target, error: Exception, *, sent: bool) -> OutboundError:
    matches = (
        reason for types, reason in (_ANSWER_REASONS if sent else _REASONS) if isinstance(error, types)
    )
    cause = error.__cause__ or error
    # Other texts may quote the receiver, and a receiver may echo the URL it was sent.
    details = cause.strerror if isinstance(cause, OSError) else None
    reason = next(matches, OutboundReason.BAD_RESPONSE)
    return _logged(target, reason, details or type(cause).__name__, sent=sent)


def _logged(target: _Target, reason: OutboundReason, details: str, *, sent: bool = False) -> OutboundError:
    logger.warning("no answer from %s: %s (%s)", target.origin, reason, details)
    return OutboundError(reason, sent=sent)
