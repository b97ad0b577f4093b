"""Slack (CHAT_SERVICE): messages by chat.postMessage, changed by chat.update.

https://api.slack.com/methods/chat.postMessage: refusals come with HTTP 200 and `ok: false`.
https://api.slack.com/methods/chat.update: which messages can be changed; it notifies nobody.
https://docs.slack.dev/reference/block-kit/blocks/header-block: how long texts may be.
https://docs.slack.dev/legacy/legacy-messaging/legacy-secondary-message-attachments: colours.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson
from django.conf import settings

from events.types import Severity
from integrations.channels.base import Channel, ChannelField, DeliveryError, failure_at, token
from integrations.channels.http import TOTAL_SECONDS, ServiceRequest, deliver_json, in_header, origin_of
from integrations.channels.outcome import Posted, parse_retry_after
from integrations.channels.stages import ANYTHING, CHAT_POST_MESSAGE, CHAT_UPDATE, Quote, StageRow, row_of
from integrations.choices import OPEN_KINDS, ChannelType, DeliveryStatus, MessageKind
from integrations.messages import Message, printable
from opsapi.api.fields import Copied, Option, Text
from opsapi.batches import batches
from opsapi.outbound.errors import OutboundReason, Stage
from opsapi.wire_json import JsonObject

_HEADER_LIMIT = 150
_FIELD_LIMIT = 2000
_FIELDS_LIMIT = 10
_LINK_LIMIT = 2000
_SECTION_LIMIT = 3000
_REPORT_LIMIT = 12_000
"""Slack refuses messages whose blocks are too long together (`msg_blocks_too_long`), and names no number."""
_ANSWER_LIMIT = 65_536
"""In bytes; the answer repeats the message, which has a few thousand bytes."""

_POST, _UPDATE = "chat.postMessage", "chat.update"
_COLOURS: Mapping[Severity, str] = {
    Severity.CRITICAL: "danger",
    Severity.WARNING: "warning",
    Severity.INFO: "#1565c0",
}
_NO_COLOUR = "#808080"
_NAME = re.compile(r"[!-~]{1,60}")
"""The ID of a channel or the `ts` of a message: no spaces, and short enough to be kept."""
_POSTED = re.compile(rb'\s*\{\s*"ok"\s*:\s*true\b')
"""The beginning of an incomplete answer. Slack writes `ok` first."""


def build_request(config: Mapping[str, str], message: Message) -> ServiceRequest:
    """The request to post a message.

    Host names and the like are escaped plain text, so that they become neither mentions nor links.

    Raises: DeliveryError: the token cannot be sent in a header.
    """
    document = {
        "channel": config["channelName"],
        **_content(config, message),
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return _request(config, _POST, document)


def _request(config: Mapping[str, str], method: str, document: JsonObject) -> ServiceRequest:
    headers = {
        "Authorization": f"Bearer {in_header(config['apiToken'])}",
        "Content-Type": "application/json; charset=utf-8",
    }
    return ServiceRequest(f"{settings.OPSAPI_CHAT_BASE_URL}/api/{method}", document, headers)


def send(config: Mapping[str, str], message: Message, *, now: datetime) -> Posted | None:
    """Post the message to `config["channelName"]` with `config["apiToken"]`, or change an earlier message.

    Raises: DeliveryError: on anything but a 2xx with `ok`.
    """
    if not _changes_messages(config):
        _post(build_request(config, message), now)
        return None
    place = _place_of(message.handle)
    if place is None:
        return Posted(_handle(_post(build_request(config, message), now)))
    # Both requests share the time of one request.
    seconds = TOTAL_SECONDS / 2
    if not _changed(build_update(config, message, place), now, seconds):
        return Posted(_handle(_post(build_request(config, message), now, seconds)))
    if message.kind in OPEN_KINDS:
        _post(build_reply(config, message, place), now, seconds)
    return Posted(str(message.handle), in_place=True)


class _MessagePlace(NamedTuple):
    """Where a message is: the ID of its channel, and the time that identifies it there."""

    channel: str
    ts: str


def build_update(config: Mapping[str, str], message: Message, place: _MessagePlace) -> ServiceRequest:
    """The request to change the message at a place.

    Raises: DeliveryError: the token cannot be sent in a header.
    """
    return _request(config, _UPDATE, {**place._asdict(), **_content(config, message)})


def build_reply(config: Mapping[str, str], message: Message, place: _MessagePlace) -> ServiceRequest:
    """The request to say in the thread of a changed message, and in the channel, that the alert is open.

    A change notifies nobody, so a reminder without a reply would remind nobody.

    Raises: DeliveryError: the token cannot be sent in a header.
    """
    document = {
        "channel": place.channel,
        "thread_ts": place.ts,
        "reply_broadcast": True,
        "text": _escape(message.title),
        "blocks": [{"type": "section", "text": _plain_text(message.title)}],
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return _request(config, _POST, document)


def _post(request: ServiceRequest, now: datetime, seconds: float = TOTAL_SECONDS) -> bytes:
    """Post a message, and return the answer.

    Raises: DeliveryError: the message was not posted.
    """
    row, failure, body = _answered(request, CHAT_POST_MESSAGE, now, seconds)
    if row.status is not DeliveryStatus.DELIVERED:
        raise failure
    return body


def _changed(request: ServiceRequest, now: datetime, seconds: float) -> bool:
    """Change a message. Return False if Slack does not change it, so that it must be posted again.

    Raises: DeliveryError: the message was not changed, and would not be posted either.
    """
    row, failure, _ = _answered(request, CHAT_UPDATE, now, seconds)
    if row.status is not DeliveryStatus.DELIVERED and not row.posts_again:
        raise failure
    return not row.posts_again


def _answered(
    request: ServiceRequest, rows: Sequence[StageRow], now: datetime, seconds: float
) -> tuple[StageRow, DeliveryError, bytes]:
    """Send the request. Return the row of its answer, the failure that it describes, and the answer.

    Raises: DeliveryError: on anything but a 2xx.
    """
    response = deliver_json(request, now=now, body_limit=_ANSWER_LIMIT, total_timeout=seconds)
    answer, name = read_answer(response.body, rows)
    row = row_of(rows, Stage.BODY, answer)
    failure = failure_at(row, peer=name, retry_after=parse_retry_after(response.retry_after, now))
    return row, failure, response.body


def read_answer(answer: bytes, rows: Sequence[StageRow] = CHAT_POST_MESSAGE) -> tuple[str, str]:
    """The answer in a table of stages, and the name of the error as Slack sent it."""
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
            errors = {known for row in rows if row.quote is Quote.PEER for known in row.answers}
            return name if name in errors else ANYTHING, name
    return OutboundReason.BAD_RESPONSE, ""


def _handle(answer: bytes) -> str:
    """The name of a posted message; empty if the answer does not have it."""
    try:
        document = orjson.loads(answer)
    except orjson.JSONDecodeError:
        return ""
    match document:
        case {"channel": str(channel), "ts": str(ts)} if _NAME.fullmatch(channel) and _NAME.fullmatch(ts):
            return f"{channel} {ts}"
    return ""


def _place_of(handle: str | None) -> _MessagePlace | None:
    channel, _, ts = (handle or "").partition(" ")
    return _MessagePlace(channel, ts) if ts else None


def _changes_messages(config: Mapping[str, str]) -> bool:
    return config.get("updateInPlace") == str(True)


def _content(config: Mapping[str, str], message: Message) -> JsonObject:
    """What a message shows. Only the parts of an attachment can have a colour."""
    title, *rest = _blocks(message)
    content: JsonObject = {"text": _escape(message.title), "blocks": [title, *rest]}
    if not _changes_messages(config):
        return content
    return {**content, "blocks": [title], "attachments": [{"color": _colour(message), "blocks": rest}]}


def _colour(message: Message) -> str:
    """Return the colour of the severity while an alert is open, and grey for a test and a cancelled alert."""
    if message.is_test:
        return _NO_COLOUR
    if message.kind is MessageKind.CLOSE:
        return "good"
    if message.kind is MessageKind.ACKNOWLEDGE:
        return "warning"
    return _COLOURS[message.severity] if message.kind in OPEN_KINDS else _NO_COLOUR


def _blocks(message: Message) -> list[JsonObject]:
    blocks: list[JsonObject] = [{"type": "header", "text": _plain_text(message.title, _HEADER_LIMIT)}]
    if message.report:
        blocks += [
            {"type": "section", "text": {"type": "plain_text", "text": text, "emoji": False}}
            for text in _report_texts(message)
        ]
    else:
        facts = [_plain_text(f"{label}: {value}") for label, value in message.facts.items()]
        blocks += [{"type": "section", "fields": list(fields)} for fields in batches(facts, _FIELDS_LIMIT)]
    links = [
        # A bar would end the URL.
        {"type": "mrkdwn", "text": f"<{_escape(url.replace('|', '%7C'))}|{label}>"}
        for label, url in message.links.items()
    ]
    # A link cannot be shortened.
    if links := [link for link in links if len(link["text"]) <= _LINK_LIMIT]:
        blocks.append({"type": "context", "elements": links})
    return blocks


def _report_texts(message: Message) -> list[str]:
    return [_escape("\n".join([title, *lines])) for title, lines in message.report.items()]


def _shows_report(_config: Mapping[str, str], message: Message) -> bool:
    lengths = [len(text) for text in _report_texts(message)]
    return max(lengths) <= _SECTION_LIMIT and sum(lengths) <= _REPORT_LIMIT


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
    """The token, and the channel without the leading `#`; whether messages are changed, if they are.

    With the option, a channel is another destination: its configuration says so until the alert ends.
    """
    without = {"teamName"} if _changes_messages(config) else {"teamName", "updateInPlace"}
    named = {name: value for name, value in config.items() if name not in without}
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
        ChannelField(
            "updateInPlace",
            "Change the message of an alert instead of posting new messages",
            Option(
                required=False,
                help_text="Whether later messages about an alert change its message. By default, each is a "
                "new message.",
            ),
        ),
    ),
    send=send,
    origin=lambda _: origin_of(settings.OPSAPI_CHAT_BASE_URL),
    identity=_identity,
    base_url_settings=("OPSAPI_CHAT_BASE_URL",),
    place_field="channelName",
    place_mark="#",
    changes_messages=_changes_messages,
    shows_report=_shows_report,
)
