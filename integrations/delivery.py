"""Delivery of a message: every result becomes an `Outcome`, no exception is raised."""

import logging
import time
import traceback
from collections.abc import Mapping
from datetime import datetime

from integrations.channels import CHANNELS
from integrations.channels.base import DeliveryError
from integrations.channels.http import connections_of
from integrations.choices import ChannelType, DeliveryStatus
from integrations.messages import Message
from integrations.outcome import Outcome
from opsapi.metric_series import counter, histogram

logger = logging.getLogger(__name__)

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
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30),  # No attempt takes longer (decisions 7).
)


def deliver(
    channel_type: ChannelType, config: Mapping[str, str], message: Message, *, now: datetime
) -> Outcome:
    """Send a message over a channel; `now` is the time of the attempt.

    Unexpected errors are logged and retried: a notification must not be lost because of a bug.
    """
    started = time.monotonic()
    failure = _attempt(channel_type, config, message, now)
    seconds = time.monotonic() - started
    outcome = _outcome(failure, round(seconds * 1000))
    _ATTEMPTS.labels(channel_type, outcome.status.value).inc()
    _SECONDS.labels(channel_type).observe(seconds)
    return outcome


def _outcome(failure: DeliveryError | None, latency_ms: int) -> Outcome:
    if failure is None:
        return Outcome(DeliveryStatus.DELIVERED, None, latency_ms, reached=True)
    return Outcome(
        DeliveryStatus.RETRY if failure.retryable else DeliveryStatus.FAILED,
        failure.reason,
        latency_ms,
        retry_after=failure.retry_after,
        fault=failure.fault,
        perhaps_received=failure.perhaps_received,
        reached=failure.reached,
    )


def _attempt(
    channel_type: ChannelType, config: Mapping[str, str], message: Message, now: datetime
) -> DeliveryError | None:
    channel = CHANNELS[channel_type]
    if missing := channel.missing(config):
        return DeliveryError(f"not configured: {', '.join(missing)}", retryable=False)
    try:
        with connections_of(channel_type, config, message):
            channel.send(config, message, now=now)
    except DeliveryError as error:
        return error
    except Exception as error:  # noqa: BLE001 - whatever happens, the worker continues and the message is retried.
        _log_unforeseen(channel_type, message, error)
        return DeliveryError(UNFORESEEN, retryable=True, perhaps_received=True)
    return None


def _log_unforeseen(channel_type: ChannelType, message: Message, error: Exception) -> None:
    # Not `logger.exception`: the text of an exception may quote a URL or a key, lines of code do not.
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error(
        "%s delivery %s: unexpected %s\n%s", channel_type, message.delivery_id, type(error).__name__, frames
    )
