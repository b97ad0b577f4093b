"""Delivery of one message: every way it can end becomes an `Outcome`; nothing is raised."""

import logging
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from integrations.channels import CHANNELS
from integrations.channels.base import DeliveryError
from integrations.choices import ChannelType, DeliveryStatus
from integrations.messages import Message

logger = logging.getLogger(__name__)

UNFORESEEN = "an unexpected error occurred while sending"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How one attempt ended: `reason` is None only when delivered; `retry_after` is in seconds."""

    status: DeliveryStatus
    reason: str | None
    latency_ms: int
    retry_after: int | None = None


def deliver(
    channel_type: ChannelType, config: Mapping[str, str], message: Message, *, now: datetime
) -> Outcome:
    """Send one message over one channel; `now` is the time of the attempt.

    An error nobody foresaw is logged and comes again: a notification is not lost over a bug.
    """
    started = time.monotonic()
    failure = _attempt(channel_type, config, message, now)
    latency_ms = round((time.monotonic() - started) * 1000)
    if failure is None:
        return Outcome(DeliveryStatus.DELIVERED, None, latency_ms)
    status = DeliveryStatus.RETRY if failure.retryable else DeliveryStatus.FAILED
    return Outcome(status, failure.reason, latency_ms, failure.retry_after)


def _attempt(
    channel_type: ChannelType, config: Mapping[str, str], message: Message, now: datetime
) -> DeliveryError | None:
    channel = CHANNELS.get(channel_type)
    if channel is None:
        return DeliveryError(f"{channel_type} is not available in this installation", retryable=False)
    if missing := channel.missing(config):
        return DeliveryError(f"not configured: {', '.join(missing)}", retryable=False)
    try:
        channel.send(config, message, now=now)
    except DeliveryError as error:
        return error
    except Exception as error:  # whatever it is, the worker goes on and the message comes again
        _log_unforeseen(channel_type, message, error)
        return DeliveryError(UNFORESEEN, retryable=True)
    return None


def _log_unforeseen(channel_type: ChannelType, message: Message, error: Exception) -> None:
    # Not `logger.exception`: the text of an exception may quote a URL or a key. Lines of code do not.
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error(
        "%s delivery %s: unexpected %s\n%s", channel_type, message.delivery_id, type(error).__name__, frames
    )
