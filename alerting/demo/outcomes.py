"""How the demonstration's messages went: recorded as if they had been sent, and nothing is sent.

Of the way of a notification only the sending is left out: it is claimed, decided on and recorded as in a
worker, at the time at which it was due.
"""

import logging
from collections.abc import Callable
from datetime import datetime

from alerting.choices import NotificationStatus
from alerting.delivery import claim, decide, record
from alerting.demo.tables.integrations import FAILING_RECEIVER, REFUSING_RECEIVER, STUMBLING_RECEIVER
from alerting.models import Notification
from alerting.rules.destination_health import PROBE_EVERY
from integrations.choices import DeliveryStatus, Fault
from integrations.outcome import Outcome

_logger = logging.getLogger("opsapi.pipeline")
_WORKER = 0
_SLOTS = 64
_STUMBLES = 2
"""So many attempts fail before one succeeds."""


def deliver_until(moment: datetime) -> None:
    """Record what would have become of everything that is due by then; the log says nothing of it."""
    level = _logger.level
    _logger.setLevel(logging.CRITICAL)
    try:
        _deliver_until(moment)
    finally:
        _logger.setLevel(level)


def _deliver_until(moment: datetime) -> None:
    at = None
    while (due := _next_due(moment)) is not None:
        at = max(at or due, due)
        if not _deliver(at):
            # What is due first goes to a destination that fails, and was just tried.
            at += PROBE_EVERY
            if at > moment:
                return


def _next_due(moment: datetime) -> datetime | None:
    waiting = Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=moment)
    return waiting.order_by("due").values_list("due", flat=True).first()


def _deliver(at: datetime) -> bool:
    """Whether anything was claimed."""
    claims = claim(worker=_WORKER, slots=_SLOTS, now=at)
    ended = [(job, job.outcome or _outcome(job.notification)) for job in decide(claims, now=at)]
    record(ended, clock=lambda: at)
    return bool(claims)


def _outcome(notification: Notification) -> Outcome:
    for receiver, outcome in _OUTCOMES.items():
        if receiver in notification.recipient:
            return outcome(notification.attempts)
    return _delivered(notification.attempts)


def _delivered(attempt: int) -> Outcome:
    return Outcome(DeliveryStatus.DELIVERED, None, 140 + 35 * attempt)


def _stumbling(attempt: int) -> Outcome:
    if attempt > _STUMBLES:
        return _delivered(attempt)
    return Outcome(
        DeliveryStatus.RETRY, "the receiver answered 503", 420, fault=Fault.DESTINATION, perhaps_received=True
    )


def _failing(attempt: int) -> Outcome:
    return Outcome(
        DeliveryStatus.RETRY, "the receiver could not be reached", 2000 + attempt, fault=Fault.HOST
    )


def _refusing(attempt: int) -> Outcome:
    return Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 95 + attempt)


_OUTCOMES: dict[str, Callable[[int], Outcome]] = {
    STUMBLING_RECEIVER: _stumbling,
    FAILING_RECEIVER: _failing,
    REFUSING_RECEIVER: _refusing,
}
