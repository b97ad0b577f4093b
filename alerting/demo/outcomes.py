"""How the demonstration's messages went: recorded as if they had been sent, and nothing is sent.

Of the way of a notification only the sending is left out: it is claimed, judged and recorded by the
services that do so in a worker, at the time at which it was due.
"""

from collections.abc import Callable
from datetime import datetime

from alerting.choices import NotificationStatus
from alerting.demo.tables.integrations import FAILING_RECEIVER, REFUSING_RECEIVER, STUMBLING_RECEIVER
from alerting.models import Notification
from alerting.models.notifications import LONGEST_RECIPIENT
from alerting.rules.receivers import PROBE_EVERY, receiver_key
from alerting.rules.sending import Step
from alerting.selectors.credentials import credentials_for, setting_of
from alerting.services.claiming import Claim, notification_claim, notification_record
from alerting.services.judging import notification_judge
from integrations.choices import ChannelType, DeliveryStatus
from integrations.delivery import Outcome

_STUMBLES = 2
"""So many attempts fail before one succeeds."""


def deliver_until(moment: datetime) -> None:
    """Record what would have become of everything that is due by then."""
    at = None
    while (due := _next_due(moment)) is not None:
        at = max(at or due, due)
        claim = notification_claim(now=at)
        if claim is not None:
            _deliver(claim, at)
            continue
        # What is due first goes to a receiver that fails, and was just tried.
        at += PROBE_EVERY
        if at > moment:
            return


def _next_due(moment: datetime) -> datetime | None:
    waiting = Notification.objects.filter(status=NotificationStatus.PENDING.value, due__lte=moment)
    return waiting.order_by("due").values_list("due", flat=True).first()


def _deliver(claim: Claim, now: datetime) -> None:
    notification, setting = claim.notification, setting_of(claim.notification)
    if notification_judge(claim=claim, setting=setting, now=now).step is not Step.SEND:
        return
    channel = ChannelType(str(notification.channel))
    notification.recipient = credentials_for(notification, setting).shown[:LONGEST_RECIPIENT]
    notification.receiver = receiver_key(channel, notification.recipient)
    notification_record(notification=notification, outcome=_outcome(notification), jitter=0, now=now)


def _outcome(notification: Notification) -> Outcome:
    for receiver, outcome in _OUTCOMES.items():
        if receiver in notification.receiver:
            return outcome(notification.attempts)
    return _delivered(notification.attempts)


def _delivered(attempt: int) -> Outcome:
    return Outcome(DeliveryStatus.DELIVERED, None, 140 + 35 * attempt)


def _stumbling(attempt: int) -> Outcome:
    if attempt > _STUMBLES:
        return _delivered(attempt)
    return Outcome(DeliveryStatus.RETRY, "the receiver answered 503", 420, unavailable=True)


def _failing(attempt: int) -> Outcome:
    return Outcome(
        DeliveryStatus.RETRY, "the receiver could not be reached", 2000 + attempt, unavailable=True
    )


def _refusing(attempt: int) -> Outcome:
    return Outcome(DeliveryStatus.FAILED, "the receiver answered 404", 95 + attempt)


_OUTCOMES: dict[str, Callable[[int], Outcome]] = {
    STUMBLING_RECEIVER: _stumbling,
    FAILING_RECEIVER: _failing,
    REFUSING_RECEIVER: _refusing,
}
