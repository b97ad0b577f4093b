"""Slack (CHAT_SERVICE): messages by chat.postMessage.

https://api.slack.com/methods/chat.postMessage: refusals come with HTTP 200 and `ok: false`.
https://docs.slack.dev/reference/block-kit/blocks/header-block: how long texts may be.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

import orjson
from django.conf import settings

from integrations.channels.base import Channel, ChannelField, DeliveryError, token
from integrations.channels.http import ServiceRequest, deliver_json, in_header, origin_of
from integrations.choices import ChannelType, DeliveryFault
from integrations.messages import Message, printable
from integrations.outcome import parse_retry_after
from opsapi.api.fields import Copied, Text
from opsapi.batches import batches
from opsapi.wire_json import JsonObject

_HEADER_LIMIT = 150
_FIELD_LIMIT = 2000
_FIELDS_LIMIT = 10
_LINK_LIMIT = 2000
_ANSWER_LIMIT = 65_536
"""In bytes; the answer repeats the message, which has a few thousand bytes."""

_REASONS: Sequence[tuple[str, bool, frozenset[str]]] = (
    ("Slack accepts no more messages at the moment", True, frozenset({"ratelimited", "rate_limited"})),
    (
        "Slack cannot post the message at the moment",
        True,
        frozenset(
            {
                "internal_error",
                "fatal_error",
                "service_unavailable",
                "request_timeout",
                "team_added_to_org",
                "org_login_required",
            }
        ),
    ),
    (
        "Slack does not accept the API token",
        False,
        frozenset({"not_authed", "invalid_auth", "account_inactive", "token_revoked", "token_expired"}),
    ),
    (
        "the API token has no permission to post messages",
        False,
        frozenset({"missing_scope", "no_permission", "not_allowed_token_type", "access_denied"}),
    ),
    ("the Slack channel does not exist", False, frozenset({"channel_not_found"})),
    ("the owner of the API token is not in the channel", False, frozenset({"not_in_channel"})),
    ("the channel is archived", False, frozenset({"is_archived"})),
    (
        "the channel does not accept messages from the owner of the API token",
        False,
        frozenset(
            {
                "restricted_action",
                "restricted_action_read_only_channel",
                "restricted_action_thread_only_channel",
                "ekm_access_denied",
            }
        ),
    ),
)
_UNKNOWN = ("Slack refused the message", False)
_KNOWN: Mapping[str, tuple[str, bool]] = {
    error: (reason, retryable) for reason, retryable, errors in _REASONS for error in errors
}


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
    if (error := read_error(response.body)) is not None:
        reason, retryable = _KNOWN.get(error, _UNKNOWN)
        wait = parse_retry_after(response.retry_after, now) if retryable else None
        fault = DeliveryFault.DESTINATION if retryable else DeliveryFault.MESSAGE
        # The answer says that nothing was posted.
        raise DeliveryError(reason, retryable=retryable, retry_after=wait, fault=fault, reached=True)


def read_error(answer: bytes) -> str | None:
    """The error of an answer; None if the message was posted.

    Raises: DeliveryError: retryable, if the answer is not from chat.postMessage.
    """
    try:
        document = orjson.loads(answer)
    except orjson.JSONDecodeError:
        document = None
    if not isinstance(document, dict) or not isinstance(document.get("ok"), bool):
        reason = "the receiver did not answer as Slack does"
        raise DeliveryError(
            reason, retryable=True, fault=DeliveryFault.DESTINATION, perhaps_received=True, reached=True
        )
    return None if document["ok"] else str(document.get("error", ""))


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
    base_url_settings=("OPSAPI_CHAT_BASE_URL",),
    place_field="channelName",
    place_mark="#",
)
