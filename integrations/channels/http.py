"""What all channels over HTTP share: an answer, or a `DeliveryError` that says why there is none."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from urllib.parse import urlsplit

from integrations.channels.base import DeliveryError
from integrations.choices import ChannelType, DeliveryStatus, Fault
from integrations.messages import Message
from integrations.retry import judge_status, parse_retry_after
from opsapi import VERSION
from opsapi.outbound import OutboundError, OutboundResponse, post

USER_AGENT = f"opsapi/{VERSION}"
TOTAL_SECONDS = 15.0
"""For one request from looking up the name to the answer: well below a notification's lease of 30 s."""

_owner: ContextVar[str | None] = ContextVar("owner of connections", default=None)


@contextmanager
def connections_of(channel_type: ChannelType, config: Mapping[str, str], message: Message) -> Iterator[None]:
    """Within, requests use the connections of one destination: a project's channel and configuration."""
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
) -> OutboundResponse:
    """POST the body and return the answer of a receiver that accepted it (2xx).

    `body_limit` is how many bytes of the answer are read; 0 for receivers whose status says it all.
    `total_timeout` is in seconds.

    Raises:
        DeliveryError: on any other status, and when there was no answer.
    """
    try:
        sent = {"User-Agent": USER_AGENT, **headers}
        response = post(
            url, body, sent, total_timeout=total_timeout, body_limit=body_limit, owner=_owner.get()
        )
    except OutboundError as error:
        raise DeliveryError(
            str(error),
            retryable=error.retryable,
            fault=_fault(error),
            perhaps_received=error.sent,
            reached=error.sent,
        ) from error
    if (verdict := judge_status(response.status)) is DeliveryStatus.DELIVERED:
        return response
    retryable = verdict is DeliveryStatus.RETRY
    wait = parse_retry_after(response.retry_after, now) if retryable else None
    raise DeliveryError(
        _reason(response.status),
        retryable=retryable,
        retry_after=wait,
        fault=Fault.DESTINATION if retryable else Fault.MESSAGE,
        perhaps_received=not 400 <= response.status <= 499,
        reached=True,
    )


def origin_of(url: str) -> str:
    """The scheme, host and port of a URL, which is all that a connection depends on; empty for no URL."""
    parts = urlsplit(url)
    try:
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme, 0)
    except ValueError:  # no port number: sending says so
        return ""
    return f"{parts.scheme}://{parts.hostname}:{port}" if parts.hostname else ""


def in_header(credential: str) -> str:
    """A key or token for a header: printable ASCII (RFC 9110 5.5).

    Raises:
        DeliveryError: for good, when it has any other character.
    """
    if not (credential.isascii() and credential.isprintable()):
        raise DeliveryError(
            "the credential has characters that are not allowed in an HTTP header", retryable=False
        )
    return credential


def _fault(error: OutboundError) -> Fault:
    if error.sent:
        return Fault.DESTINATION
    return Fault.HOST if error.retryable else Fault.MESSAGE


def _reason(status: int) -> str:
    redirected = "; redirects are not followed" if 300 <= status <= 399 else ""
    return f"the receiver answered {status}{redirected}"
