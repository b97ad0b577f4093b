"""Slack (CHAT_SERVICE): messages by chat.postMessage.

https://api.slack.com/methods/chat.postMessage: refusals come with HTTP 200 and `ok: false`.
https://docs.slack.dev/reference/block-kit/blocks/header-block: how long texts may be.
"""

import re
from collections.abc import Mapping
from datetime import datetime

import orjson
from django.conf import settings

from integrations.channels.base import Channel, ChannelField, failure_at, token
from integrations.channels.http import ServiceRequest, deliver_json, in_header, origin_of
from integrations.choices import ChannelType, DeliveryStatus
from integrations.messages import Message, printable
from integrations.outcome import parse_retry_after
from integrations.stages import ANYTHING, CHAT_POST_MESSAGE, Quote, row_of
from opsapi.api.fields import Copied, Text
from opsapi.batches import batches
from opsapi.outbound.errors import OutboundReason, Stage
from opsapi.wire_json import JsonObject

_HEADER_LIMIT = 150
_FIELD_LIMIT = 2000
_FIELDS_LIMIT = 10
_LINK_LIMIT = 2000
_ANSWER_LIMIT = 65_536
"""In bytes; the answer repeats the message, which has a few thousand bytes."""

_ERRORS = frozenset(error for row in CHAT_POST_MESSAGE if row.quote is Quote.PEER for error in row.answers)
_POSTED = re.compile(rb'\s*\{\s*"ok"\s*:\s*true\b')
"""The beginning of an incomplete answer. Slack writes `ok` first."""


def build_request(config: Mapping[str, str], message: Message) -> ServiceRequest:
    """The request to post a message.

    Host names and the like are escaped plain text, so that they mention nobody and become no links.

    Raises: DeliveryError: the token cannot be sent in a header.
    """
    document = {
        "channel": config["channelName"],
        "text": _escape(message.title),
        "blocks": _blocks(message),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    headers = {
        "Authorization": f"Bearer {in_header(config['apiToken'])}",
        "Content-Type": "application/json; charset=utf-8",
    }
    return ServiceRequest(f"{settings.OPSAPI_CHAT_BASE_URL}/api/chat.postMessage", document, headers)


def send(config: Mapping[str, str], message: Message, *, now: datetime) -> None:
    """Post the message to `config["channelName"]` with `config["apiToken"]`.

    Raises: DeliveryError: on anything but a 2xx with `ok`.
    """
    response = deliver_json(build_request(config, message), now=now, body_limit=_ANSWER_LIMIT)
    answer, name = read_answer(response.body)
    row = row_of(CHAT_POST_MESSAGE, Stage.BODY, answer)
    if row.status is not DeliveryStatus.DELIVERED:
        raise failure_at(row, peer=name, retry_after=parse_retry_after(response.retry_after, now))


def read_answer(answer: bytes) -> tuple[str, str]:
    """The answer in the table of stages, and the name of the error as Slack sent it."""
    try:
        document = orjson.loads(answer)
    except orjson.JSONDecodeError:
        document = {"ok": True} if _POSTED.match(answer) else None
    match document:
        case {"ok": True}:
            return "ok", ""
        case {"ok": False}:
            error = document.get("error")
            name = error if isinstance(error, str) else ""
            return name if name in _ERRORS else ANYTHING, name
    return OutboundReason.BAD_RESPONSE, ""


def _blocks(message: Message) -> list[JsonObject]:
    facts = [_plain_text(f"{label}: {value}") for label, value in message.facts.items()]
    blocks: list[JsonObject] = [{"type": "header", "text": _plain_text(message.title, _HEADER_LIMIT)}]
    blocks += [{"type": "section", "fields": list(fields)} for fields in batches(facts, _FIELDS_LIMIT)]
    links = [{"type": "mrkdwn", "text": f"<{_escape(url)}|{label}>"} for label, url in message.links.items()]
    # A link cannot be shortened.
    if links := [link for link in links if len(link["text"]) <= _LINK_LIMIT]:
        blocks.append({"type": "context", "elements": links})
    return blocks


def _plain_text(text: str, limit: int = _FIELD_LIMIT) -> JsonObject:
    return {"type": "plain_text", "text": _fitted(text, limit), "emoji": False}


def _fitted(text: str, limit: int) -> str:
    """The escaped text in at most `limit` characters.

    Escaping adds characters, and no escape sequence is cut.
    """
    escaped = (_escape(printable(text, size)) for size in range(limit, 0, -1))
    return next(candidate for candidate in escaped if len(candidate) <= limit)


def _escape(text: str) -> str:
    # Only these three: https://docs.slack.dev/messaging/formatting-message-text#escaping
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _identity(config: Mapping[str, str]) -> Mapping[str, str]:
    """The token, and the channel without the leading `#`."""
    named = {name: value for name, value in config.items() if name != "teamName"}
    return {**named, "channelName": named.get("channelName", "").lstrip("#")}


SLACK = Channel(
    ChannelType("CHAT_SERVICE"),
    "Slack",
    fields=(
        token("apiToken", "API token", example="token-0123456789"),
        ChannelField(
            "channelName",
            "Channel",
            Copied(what="name or ID of the channel", max_length=200),
            example="oncall",
        ),
        # For people only; no message needs it.
        ChannelField(
            "teamName",
            "Team name",
            Text(max_length=200, required=False),
            example="operations",
            in_notification=False,
        ),
    ),
    send=send,
    origin=lambda _: origin_of(settings.OPSAPI_CHAT_BASE_URL),
    identity=_identity,
    base_url_settings=("OPSAPI_CHAT_BASE_URL",),
    place_field="channelName",
    place_mark="#",
)
