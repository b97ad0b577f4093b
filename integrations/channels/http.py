"""What all channels over HTTP share: an answer, or a `DeliveryError` that says why there was none."""

from collections.abc import Mapping
from datetime import datetime

from integrations.channels.base import DeliveryError
from integrations.choices import DeliveryStatus
from integrations.retry import judge_status, parse_retry_after
from opsapi import VERSION
from opsapi.outbound import OutboundError, OutboundResponse, post

USER_AGENT = f"opsapi/{VERSION}"


def deliver_over_http(
    url: str, body: bytes, headers: Mapping[str, str], *, now: datetime, body_limit: int = 0
) -> OutboundResponse:
    """POST it and return the answer of a receiver that took it (2xx).

    `body_limit` is how many bytes of the answer are read; 0 for receivers whose status says it all.

    Raises:
        DeliveryError: on any other status, and when there was no answer.
    """
    try:
        response = post(url, body, {"User-Agent": USER_AGENT, **headers}, body_limit=body_limit)
    except OutboundError as error:
        raise DeliveryError(str(error), retryable=error.retryable) from error
    if (verdict := judge_status(response.status)) is DeliveryStatus.DELIVERED:
        return response
    retryable = verdict is DeliveryStatus.RETRY
    wait = parse_retry_after(response.retry_after, now) if retryable else None
    raise DeliveryError(_reason(response.status), retryable=retryable, retry_after=wait)


def _reason(status: int) -> str:
    redirected = "; redirects are not followed" if 300 <= status <= 399 else ""
    return f"the receiver answered {status}{redirected}"
