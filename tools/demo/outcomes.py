"""Delivery without sending: notifications are claimed, decided and recorded when they are due."""

import logging
from datetime import datetime
from functools import partial

from alerting.choices import NotificationStatus
from alerting.delivery import decide, record
from alerting.models import Notification
from alerting.rules.destination_health import PROBE_EVERY
from alerting.services.claims import claim
from integrations.choices import DeliveryFault, DeliveryStatus
from integrations.outcome import Outcome

FAILING_RECEIVER = "hooks.brightside.example"
STUMBLING_RECEIVER = "hooks.harbour.example"
REFUSING_RECEIVER = "chat.harbour.example"
_logger = logging.getLogger("opsapi.pipeline")


def deliver_until(moment: datetime) -> None:
    """Record the outcome of all notifications that are due by that moment, without log lines."""
    level = _logger.level
    _logger.setLevel(logging.CRITICAL)
    try:
        _deliver_until(moment)
    finally:
        _logger.setLevel(level)


def _deliver_until(moment: datetime) -> None:
    at = None
    waiting = Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=moment)
    while due := waiting.order_by("due").values_list("due", flat=True).first():
        at = max(at or due, due)
        claims = claim(worker=0, slots=64, clock=partial(_same, at))
        ended = [(job, job.outcome or _outcome(job.notification)) for job in decide(claims, now=at)]
        record(ended, now=at)
        if not claims:
            # The first notification goes to a destination that fails, and was just tried.
            at += PROBE_EVERY
            if at > moment:
                return


def _same(at: datetime) -> datetime:
    return at


def _outcome(notification: Notification) -> Outcome:
    attempt, recipient = notification.attempts, notification.recipient
    if FAILING_RECEIVER in recipient:
        reason = "the receiver could not be reached"
        return Outcome(DeliveryStatus.RETRY, reason, 2000 + attempt, fault=DeliveryFault.HOST)
    if REFUSING_RECEIVER in recipient:
        return Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 95 + attempt)
    if STUMBLING_RECEIVER in recipient and attempt < 3:
        return Outcome(
            DeliveryStatus.RETRY,
            "the receiver answered 503",
            420,
            fault=DeliveryFault.DESTINATION,
            perhaps_received=True,
        )
    return Outcome(DeliveryStatus.DELIVERED, None, 140 + 35 * attempt)
