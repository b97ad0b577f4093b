"""Delivery of a message: every result becomes an `Outcome`, no exception is raised."""

import json
import logging
import re
import time
import traceback
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import datetime
from urllib.parse import unquote_plus

from django.conf import settings

from integrations.channels import CHANNELS
from integrations.channels.base import DeliveryError, cannot_send
from integrations.channels.http import connections_of
from integrations.channels.outcome import Outcome, Posted
from integrations.channels.peer_text import peer_text, with_peer_text
from integrations.choices import ChannelType, DeliveryStatus, SecretKind
from integrations.messages import Message
from opsapi.metric_series import counter, histogram
from opsapi.outgoing_proxy import basic_secrets

logger = logging.getLogger(__name__)

_URL_PIECES = re.compile(r"[/?&=#:@]+")
_SECRET_PIECE = 8
"""The minimum length of a part of the path or query of a secret URL that counts as a secret."""
UNFORESEEN = "an unexpected error occurred while sending the message"
_ATTEMPTS = counter(
    "opsapi_delivery_attempts",
    "Attempts to deliver a message, including test notifications, by channel and outcome.",
    "channel",
    "outcome",
)
_SECONDS = histogram(
    "opsapi_delivery_seconds",
    "Duration of attempts to deliver a message, by channel.",
    "channel",
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 300, 1800),  # Mail servers can be slow.
)


def deliver(
    channel_type: ChannelType, config: Mapping[str, str], message: Message, *, now: datetime
) -> Outcome:
    """Send a message over a channel; `now` is the time of the attempt.

    Unexpected errors are logged and retried: a notification must not be lost because of a bug.
    """
    started = time.monotonic()
    result = _attempt(channel_type, config, message, now)
    seconds = time.monotonic() - started
    outcome = _outcome(result, round(seconds * 1000), _secrets(channel_type, config))
    _ATTEMPTS.labels(channel_type, outcome.status.value).inc()
    _SECONDS.labels(channel_type).observe(seconds)
    return outcome


def _secrets(channel_type: ChannelType, config: Mapping[str, str]) -> Sequence[str]:
    """The secrets of the configuration and of the settings. Texts of receivers must not show them."""
    fields = CHANNELS[channel_type].fields
    values = [
        config.get(field.name, "")
        for field in fields
        if field.secret not in {SecretKind.PLAIN, SecretKind.HEADERS}
    ]
    headers = [
        config[field.name] for field in fields if field.secret is SecretKind.HEADERS and field.name in config
    ]
    values += [value for text in headers for value in json.loads(text).values()]
    values += [secret for value in values for secret in basic_secrets(value)]
    # The scheme of a credential, such as Bearer, is no secret.
    values += [value.rpartition(" ")[2] for value in values if " " in value]
    urls = [config.get(field.name, "") for field in fields if field.secret is SecretKind.URL]
    pieces = [
        form
        for url in urls
        for piece in _URL_PIECES.split(url.partition("://")[2].partition("/")[2])
        for form in {piece, unquote_plus(piece)}  # A template inserts parameters without their escapes.
        if len(form) >= _SECRET_PIECE
    ]
    return [
        *values,
        *pieces,
        settings.EMAIL_HOST_PASSWORD,
        *_log_in_forms(settings.EMAIL_HOST_USER, settings.EMAIL_HOST_PASSWORD),
        *(settings.OPSAPI_OUTBOUND_PROXY.secrets if settings.OPSAPI_OUTBOUND_PROXY else ()),
        settings.OPSAPI_SMS_TOKEN,
        b64encode(f"{settings.OPSAPI_SMS_ACCOUNT}:{settings.OPSAPI_SMS_TOKEN}".encode()).decode(),
    ]


def _log_in_forms(user: str, password: str) -> list[str]:
    """The password as AUTH PLAIN and AUTH LOGIN send it; nothing without a password."""
    sent = (f"\0{user}\0{password}", password) if password else ()
    return [b64encode(text.encode()).decode() for text in sent]


def _outcome(result: DeliveryError | Posted | None, latency_ms: int, secrets: Sequence[str]) -> Outcome:
    if not isinstance(result, DeliveryError):
        return Outcome(DeliveryStatus.DELIVERED, None, latency_ms, reached=True, posted=result)
    own = with_peer_text(result.reason, peer_text(result.detail, secrets=secrets), result.joint)
    return Outcome(
        DeliveryStatus.RETRY if result.retryable else DeliveryStatus.FAILED,
        with_peer_text(own, peer_text(result.peer, secrets=secrets), result.joint),
        latency_ms,
        own_reason=own,
        retry_after=result.retry_after,
        fault=result.fault,
        perhaps_received=result.perhaps_received,
        reached=result.reached,
        busy=result.busy,
        forbidden=result.forbidden,
    )


def _attempt(
    channel_type: ChannelType, config: Mapping[str, str], message: Message, now: datetime
) -> DeliveryError | Posted | None:
    channel = CHANNELS[channel_type]
    if missing := channel.missing(config):
        return cannot_send(f"not configured: {', '.join(missing)}")
    try:
        with connections_of(channel_type, config, message):
            return channel.send(config, message, now=now)
    except DeliveryError as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever happens, the worker continues and the message is retried.
        _log_unforeseen(channel_type, message, error)
        return DeliveryError(UNFORESEEN, retryable=True, perhaps_received=True)


def _log_unforeseen(channel_type: ChannelType, message: Message, error: Exception) -> None:
    # Not `logger.exception`: the text of an exception may quote a URL or a key, lines of code do not.
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error(
        "%s delivery %s: unexpected %s\n%s", channel_type, message.delivery_id, type(error).__name__, frames
    )
