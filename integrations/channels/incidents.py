"""Shared code of channels to services that track incidents themselves."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from integrations.channels.base import DeliveryError
from integrations.channels.http import TOTAL_SECONDS, deliver_over_http
from integrations.choices import MessageKind
from integrations.messages import Message, printable
from opsapi.wire_json import write_json

SOURCE = "Ops API"


@dataclass(frozen=True, slots=True)
class ServiceRequest:
    """A JSON request to a service."""

    url: str
    document: Mapping[str, object]
    headers: Mapping[str, str]


def deliver_incident(message: Message, build: Callable[[Message], ServiceRequest], *, now: datetime) -> None:
    """Send the request that `build` creates from the message. Closes a test incident immediately.

    Both requests of a test share the time of one request.

    Raises: DeliveryError: the service did not accept the message, or accepted a test but not its end.
    """
    if not message.is_test:
        deliver_json(build(message), now=now)
        return
    seconds = TOTAL_SECONDS / 2
    deliver_json(build(message), now=now, total_timeout=seconds)
    try:
        deliver_json(build(replace(message, kind=MessageKind.CLOSE)), now=now, total_timeout=seconds)
    except DeliveryError as error:
        reason = f"the test incident was created but could not be closed: {error.reason}"
        raise DeliveryError(
            reason,
            retryable=error.retryable,
            retry_after=error.retry_after,
            fault=error.fault,
            perhaps_received=error.perhaps_received,
            reached=error.reached,
        ) from error


def deliver_json(request: ServiceRequest, *, now: datetime, total_timeout: float = TOTAL_SECONDS) -> None:
    """POST the request.

    Raises:
        DeliveryError: on anything but a 2xx.
    """
    headers = {"Content-Type": "application/json", **request.headers}
    body = write_json(dict(request.document))
    deliver_over_http(request.url, body, headers, now=now, total_timeout=total_timeout)


def place(message: Message) -> str:
    """The affected target in a single line, never empty: the target, the project or the event type."""
    candidates = (message.target, message.project_name, message.event_type_name)
    return next((line for text in candidates if (line := printable(text or "", 255))), SOURCE)


def document_text(message: Message, name: str, limit: int) -> str | None:
    """A text of the document as a line of at most `limit` characters; None if missing."""
    value = message.document.get(name)
    return printable(value, limit) or None if isinstance(value, str) else None
