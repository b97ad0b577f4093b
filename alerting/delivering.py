"""One claimed notification: sent or not, and its outcome recorded (architecture, deliver and record)."""

import logging
import random
from collections.abc import Callable
from datetime import datetime

from django.core.exceptions import ObjectDoesNotExist

from alerting.messages import message_of
from alerting.models import Notification, NotificationSetting
from alerting.models.notifications import LONGEST_RECIPIENT
from alerting.rules.receivers import receiver_key
from alerting.rules.sending import SECRETS_SEALED, Step
from alerting.selectors.credentials import NoCredentialsError, credentials_for, setting_of
from alerting.services.claiming import Claim, notification_record
from alerting.services.judging import notification_judge
from integrations.choices import ChannelType, DeliveryStatus
from integrations.delivery import Outcome, deliver
from opsapi.encryption import CannotDecryptError

logger = logging.getLogger("opsapi.pipeline")

Clock = Callable[[], datetime]


def deliver_claimed(claim: Claim, *, clock: Clock) -> Outcome | None:
    """Send what was claimed, if it is to be sent now, and write down how that ended; None if it was not."""
    notification = claim.notification
    setting = setting_of(notification)
    verdict = notification_judge(claim=claim, setting=setting, now=clock())
    if verdict.step is not Step.SEND:
        return None
    outcome = _send(notification, setting, clock())
    jitter = random.uniform(-1, 1)  # noqa: S311 - spreads retries, protects nothing
    notification_record(notification=notification, outcome=outcome, jitter=jitter, now=clock())
    logger.info(
        "%s %s %s",
        notification.kind,
        notification.channel,
        outcome.status.value,
        extra={"delivery": notification.id, "ms": outcome.latency_ms, "reason": outcome.reason or "-"},
    )
    return outcome


def _send(notification: Notification, setting: NotificationSetting | None, now: datetime) -> Outcome:
    """One attempt; a message that cannot be made counts as one that failed and comes again."""
    notification.receiver = ""  # nobody fails who was not tried
    try:
        credentials = credentials_for(notification, setting)
        message = message_of(notification, now=now)
    except NoCredentialsError as error:
        return Outcome(DeliveryStatus.FAILED, error.reason, 0)
    except CannotDecryptError as error:
        # Again later: another machine may have the key, or this one with its next start.
        logger.error("notification %s cannot be sent: %s", notification.id, error)
        return Outcome(DeliveryStatus.RETRY, SECRETS_SEALED, 0)
    except ObjectDoesNotExist as error:
        logger.exception("notification %s cannot be sent", notification.id)
        return Outcome(DeliveryStatus.RETRY, f"the message cannot be made: {type(error).__name__}", 0)
    channel = ChannelType(str(notification.channel))
    notification.recipient = credentials.shown[:LONGEST_RECIPIENT]
    notification.receiver = receiver_key(channel, notification.recipient)
    return deliver(channel, credentials.config, message, now=now)
