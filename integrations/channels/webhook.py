"""Webhook (WEBHOOK): sends the document of the alert, or a document with placeholders, to a URL.

The request is signed if there is a secret.
"""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import datetime
from typing import cast

from integrations.channels.base import EVERY_KIND, Channel, ChannelField, cannot_send
from integrations.channels.http import TOTAL_SECONDS, deliver_over_http, deliver_test, origin_of, same_url
from integrations.channels.webhook_fields import HeaderValue, HeaderValues, WebhookBody, webhook_faults
from integrations.choices import ChannelType, SecretKind
from integrations.messages import Message
from integrations.webhooks.templates import (
    TEMPLATES,
    Template,
    WebhookRequest,
    own_template,
    request_of,
    shows_report,
)
from opsapi.api.catalogue import ErrorCode
from opsapi.api.fields import OneOf, Secret, WebUrl
from opsapi.api.links import link
from opsapi.wire_json import write_json

_CONTENT_TYPE = "Content-Type"
_REPORT_LIMIT = 65_536
"""In bytes: the size of a document with a report; documents of alerts are far smaller."""
_SPELLED = {name.lower(): name for name in (_CONTENT_TYPE, "User-Agent")}
"""The header fields that the platform sends, and that a configuration can replace."""


def build_request(
    config: Mapping[str, str], message: Message, *, now: datetime
) -> tuple[WebhookRequest, dict[str, str]]:
    """The request and the header fields of an attempt; the signature contains the time of the attempt.

    Raises: DeliveryError: the template does not exist.
    """
    template, url = _template(config), config.get("url", "")
    if template is None:
        request = WebhookRequest("POST", url, write_json(_document(message)))
    else:
        request = request_of(template, url, message)
    own: dict[str, str] = json.loads(config.get("headers", "{}"))
    headers = {
        _CONTENT_TYPE: "application/json",
        **{_SPELLED.get(name.lower(), name): value for name, value in own.items()},
        "X-Ops-Event": message.kind.value,
        "X-Ops-Delivery": message.delivery_id,
    }
    if authorization := config.get("authorization"):
        headers["Authorization"] = authorization
    if secret := config.get("secret"):
        headers["X-Ops-Signature"] = sign(request.body, secret, now=now)
    return request, headers


def _template(config: Mapping[str, str]) -> Template | None:
    """The template of the configuration; None to send the document of the alert."""
    if body := config.get("body"):
        return own_template(json.loads(body))
    name = config.get("template")
    if name is not None and name not in TEMPLATES:
        raise cannot_send(f"the template {name} does not exist")
    return TEMPLATES[name] if name else None


def _tracks_alerts(config: Mapping[str, str]) -> bool:
    """Whether the service of the ready template tracks alerts."""
    template = _ready_template(config)
    return template is not None and template.tracks_alerts


def _shows_report(config: Mapping[str, str], message: Message) -> bool:
    template = _template(config)
    if template is None:
        return len(write_json(_document(message))) <= _REPORT_LIMIT
    return shows_report(template, message)


def _ready_template(config: Mapping[str, str]) -> Template | None:
    """The ready template of the configuration; None without one."""
    return None if config.get("body") else TEMPLATES.get(config.get("template", ""))


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
    """Send the request to `config["url"]`. Reads the status, and the pause that a refusal asks for.

    The alert of a test is closed at once, if the service of the template tracks alerts.

    Raises:
        DeliveryError: on anything but a 2xx.
    """

    template = _ready_template(config)

    def deliver(part: Message, seconds: float = TOTAL_SECONDS) -> None:
        request, headers = build_request(config, part, now=now)
        deliver_over_http(
            request.url,
            request.body,
            headers,
            now=now,
            total_timeout=seconds,
            method=request.method,
            pause_at=template.retry_after if template else (),
        )

    if message.is_test and _tracks_alerts(config):
        deliver_test(message, deliver)
    else:
        deliver(message)


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
        ChannelField(
            "authorization",
            "Authorization",
            HeaderValue(required=False),
            help="The value of the header Authorization, such as Bearer 0123.",
            secret=SecretKind.SECRET,
            goes_with="url",
            notification_name="webhookAuthorization",
        ),
        ChannelField(
            "headers",
            "Header fields",
            HeaderValues(required=False),
            help="One header field per line, such as X-Key: 0123.",
            secret=SecretKind.HEADERS,
            goes_with="url",
            notification_name="webhookHeaders",
        ),
        ChannelField(
            "template",
            "Template",
            OneOf(
                [*TEMPLATES],
                labels={name: template.label for name, template in TEMPLATES.items()},
                required=False,
            ),
            help="The body that a service expects. Without a template and a body, the webhook gets the "
            "document of the alert.",
            goes_with="url",
            notification_name="webhookTemplate",
        ),
        ChannelField(
            "body",
            "Body",
            WebhookBody(required=False),
            help="A JSON document. Its strings can have placeholders, such as {{title}}.",
            goes_with="url",
            notification_name="webhookBody",
        ),
    ),
    faults=webhook_faults,
    send=send,
    origin=lambda config: origin_of(config["url"]),
    identity=lambda config: {**config, "url": same_url(config.get("url", ""))},
    kinds=EVERY_KIND,
    tracks_alerts=_tracks_alerts,
    shows_report=_shows_report,
    missing_code=ErrorCode.WEBHOOK_URL_NOT_SET,
)
