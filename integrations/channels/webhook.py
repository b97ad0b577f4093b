"""Webhook (WEBHOOK): POSTs the document to a URL, signed if there is a secret."""

import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from integrations.channels.base import EVERY_KIND, Channel, ChannelField
from integrations.channels.http import deliver_over_http, origin_of, same_url
from integrations.choices import ChannelType, SecretKind
from integrations.messages import Message
from opsapi.api.catalogue import ErrorCode
from opsapi.api.fields import Secret, WebUrl
from opsapi.api.links import link
from opsapi.wire_json import write_json


def build_request(
    config: Mapping[str, str], message: Message, *, now: datetime
) -> tuple[bytes, dict[str, str]]:
    """The body and headers of an attempt; the signature contains the time of the attempt."""
    body = write_json(_document(message))
    headers = {
        "Content-Type": "application/json",
        "X-Ops-Event": message.kind.value,
        "X-Ops-Delivery": message.delivery_id,
    }
    if secret := config.get("secret"):
        headers["X-Ops-Signature"] = sign(body, secret, now=now)
    return body, headers


def _document(message: Message) -> dict[str, object]:
    """The document as in the API, with a link to the console."""
    if message.link is None:
        return dict(message.document)
    links = cast("list[dict[str, str]]", message.document.get("links", []))
    return {**message.document, "links": [*links, link("console", message.link)]}


def sign(body: bytes, secret: str, *, now: datetime) -> str:
    """`t=<unix>,v1=<hex HMAC-SHA256 of "t.body">`, keyed with the secret's UTF-8 bytes."""
    timestamp = int(now.timestamp())
    signed = f"{timestamp}.".encode() + body
    return f"t={timestamp},v1={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def send(config: Mapping[str, str], message: Message, *, now: datetime) -> None:
    """POST the document to `config["url"]`. Reads only the status.

    Raises:
        DeliveryError: on anything but a 2xx.
    """
    body, headers = build_request(config, message, now=now)
    deliver_over_http(config["url"], body, headers, now=now)


WEBHOOK = Channel(
    ChannelType("WEBHOOK"),
    "Webhook",
    fields=(
        ChannelField(
            "url",
            "URL",
            WebUrl(),
            example="https://hooks.example.com/in/0123456789",
            secret=SecretKind.URL,
            notification_name="webhookUrl",
        ),
        ChannelField(
            "secret",
            "Secret for signing",
            Secret(required=False),
            example="a long enough secret",
            secret=SecretKind.SECRET,
            goes_with="url",
            notification_name="webhookSecret",
        ),
    ),
    send=send,
    origin=lambda config: origin_of(config["url"]),
    identity=lambda config: {**config, "url": same_url(config.get("url", ""))},
    kinds=EVERY_KIND,
    missing_code=ErrorCode.WEBHOOK_URL_NOT_SET,
)
