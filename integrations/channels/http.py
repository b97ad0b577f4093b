"""Shared code of the channels that use HTTP."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from integrations.channels.base import DeliveryError, Send, cannot_send, failure_at
from integrations.channels.outcome import parse_retry_after
from integrations.channels.peer_text import answer_text, json_number
from integrations.channels.stages import HTTP, row_of, status_row
from integrations.choices import ChannelType, DeliveryStatus, MessageKind, Region
from integrations.messages import Message, printable
from opsapi import VERSION
from opsapi.outbound import Method, OutboundError, OutboundResponse, post
from opsapi.wire_json import write_json

USER_AGENT = f"opsapi/{VERSION}"
TOTAL_SECONDS = 15.0
"""Seconds for a request, from name resolution to the answer: well below the 30 s lease of a notification."""

_owner: ContextVar[str | None] = ContextVar("owner of connections", default=None)


@contextmanager
def connections_of(channel_type: ChannelType, config: Mapping[str, str], message: Message) -> Iterator[None]:
    """Let requests in this context use the connections of one destination.

    A destination is a channel with one configuration in a project.
    """
    named = [channel_type, message.document.get("groupId"), sorted(config.items())]
    token = _owner.set(hashlib.sha256(repr(named).encode()).hexdigest())
    try:
        yield
    finally:
        _owner.reset(token)


def deliver_over_http(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    *,
    now: datetime,
    body_limit: int = 0,
    total_timeout: float = TOTAL_SECONDS,
    method: Method = "POST",
    pause_at: Sequence[str] = (),
) -> OutboundResponse:
    """Send the body and return the answer of a receiver that accepted it (2xx).

    `body_limit` is the number of bytes to read; 0 if the status is enough. `total_timeout` is in seconds.
    `pause_at`: where a refusal without Retry-After has the seconds to wait, as names of members in its JSON
    document.

    Raises: DeliveryError: on any other status, and without an answer.
    """
    try:
        sent = {"User-Agent": USER_AGENT, **headers}
        response = post(
            url,
            body,
            sent,
            total_timeout=total_timeout,
            body_limit=body_limit,
            owner=_owner.get(),
            method=method,
        )
    except OutboundError as error:
        row = row_of(HTTP, error.stage, error.code or error.reason)
        raise failure_at(row, code=error.code, detail=error.detail) from error
    row = status_row(response.status, is_proxied=response.is_proxied)
    if row.status is DeliveryStatus.DELIVERED:
        return response
    raise failure_at(
        row,
        code=response.status,
        peer=answer_text(response.body, response.content_type),
        retry_after=parse_retry_after(response.retry_after or json_number(response.body, pause_at), now),
    )


def origin_of(url: str) -> str:
    """The scheme, host and port of a URL, which decide about connections; empty for an invalid URL."""
    parts = urlsplit(url)
    try:
        port = {"http": 80, "https": 443}.get(parts.scheme, 0) if parts.port is None else parts.port
    except ValueError:  # The port is not a number; sending reports the error.
        return ""
    host = f"[{parts.hostname}]" if parts.hostname and ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}" if host else ""


def same_url(url: str) -> str:
    """The URL with scheme and host in lower case, without a default port (RFC 3986 6.2.2, 6.2.3)."""
    parts, origin = urlsplit(url), origin_of(url)
    if not origin:
        return url
    default = {"http": ":80", "https": ":443"}.get(parts.scheme, "")
    return parts._replace(netloc=origin.partition("://")[2].removesuffix(default)).geturl()


def regional_base_url(config: Mapping[str, str], names: Mapping[Region, str]) -> str:
    """The base URL for the region of a configuration, by default US; `names` are settings by region."""
    base_url: str = getattr(settings, names[Region(config.get("region", Region.US))])
    return base_url


def without_default_region(config: Mapping[str, str]) -> Mapping[str, str]:
    """The configuration without its region, if this is the default."""
    return {name: value for name, value in config.items() if (name, value) != ("region", Region.US)}


def in_header(credential: str) -> str:
    """A key or token for a header: printable ASCII (RFC 9110 5.5).

    Raises: DeliveryError: permanent, for any other character.
    """
    if not (credential.isascii() and credential.isprintable()):
        raise cannot_send("the credential has characters that are not allowed in an HTTP header")
    return credential


SOURCE = "Ops API"


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A JSON request to a service."""

    url: str
    document: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The document as it is sent."""
        return write_json(dict(self.document))


Build = Callable[[Mapping[str, str], Message, datetime], ServiceRequest]
"""Makes the request of a configuration, a message and the time of the attempt. May raise DeliveryError."""


def over_http(build: Build, *, closes_tests: bool = False) -> Send:
    """Return the `send` of a channel: it posts the request, and any 2xx means that the message was delivered.

    `closes_tests`: the service tracks incidents, so the incident of a test is closed immediately.
    """

    def send(config: Mapping[str, str], message: Message, *, now: datetime) -> None:
        if closes_tests and message.is_test:
            deliver_test(
                message,
                lambda part, seconds: deliver_json(build(config, part, now), now=now, total_timeout=seconds),
            )
        else:
            deliver_json(build(config, message, now), now=now)

    return send


def deliver_test(message: Message, deliver: Callable[[Message, float], object]) -> None:
    """Open the incident of a test, and close it. Both requests share the time of one request.

    `deliver` sends a message within a number of seconds.

    Raises: DeliveryError: the service did not accept the message, or accepted a test but not its end.
    """
    seconds = TOTAL_SECONDS / 2
    deliver(message, seconds)
    try:
        deliver(replace(message, kind=MessageKind.CLOSE), seconds)
    except DeliveryError as error:
        error.reason = f"the test incident was created but could not be closed: {error.reason}"
        raise


def deliver_json(
    request: ServiceRequest, *, now: datetime, body_limit: int = 0, total_timeout: float = TOTAL_SECONDS
) -> OutboundResponse:
    """POST the request, as `deliver_over_http`."""
    headers = {"Content-Type": "application/json", **request.headers}
    return deliver_over_http(
        request.url, request.body, headers, now=now, body_limit=body_limit, total_timeout=total_timeout
    )


def place(message: Message) -> str:
    """The affected target in a single line, never empty: the target, the project or the event type."""
    candidates = (message.target, message.project_name, message.event_type_name)
    return next((line for text in candidates if (line := printable(text or "", 255))), SOURCE)


def document_text(message: Message, name: str, limit: int) -> str | None:
    """A text of the document as a line of at most `limit` characters; None if missing."""
    value = message.document.get(name)
    return printable(value, limit) or None if isinstance(value, str) else None
