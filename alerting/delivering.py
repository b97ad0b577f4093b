"""One claimed notification: sent or dropped, and its outcome recorded (architecture, deliver and record)."""

import logging
import random
from collections.abc import Callable
from datetime import datetime

from django.core.exceptions import ObjectDoesNotExist

from alerting.choices import AlertStatus, DropReason
from alerting.messages import channel_config, message_of
from alerting.models import Alert, Notification, NotificationSetting
from alerting.rules.sending import drop_reason
from alerting.services.delivery import (
    Claim,
    notification_drop,
    notification_give_up,
    notification_record,
)
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from integrations.delivery import Outcome, deliver
from opsapi.encryption import CannotDecryptError

logger = logging.getLogger("opsapi.pipeline")

Clock = Callable[[], datetime]


def deliver_claimed(claim: Claim, *, clock: Clock) -> None:
    """Send what was claimed, unless it is not to be sent any more, and write down how that ended."""
    notification = claim.notification
    setting = NotificationSetting.objects.select_related("config").filter(id=notification.setting_id).first()
    status = Alert.objects.filter(id=notification.alert_id).values_list("status", flat=True).first()
    reason = drop_reason(
        MessageKind(notification.kind),
        AlertStatus(status) if status else None,
        perhaps_sent=claim.perhaps_sent,
        config_counts=setting is not None and setting.config.enabled,
    )
    if reason is not None or setting is None:
        notification_drop(notification=notification, reason=reason or DropReason.CONFIG_OFF)
        return
    if claim.lapsed_for_good:
        notification_give_up(notification=notification)
        return
    outcome = _send(notification, setting, clock())
    jitter = random.uniform(-1, 1)  # noqa: S311 - spreads retries, protects nothing
    notification_record(notification=notification, outcome=outcome, jitter=jitter, now=clock())
    logger.info(
        "%s %s %s",
        notification.kind,
        setting.type_name,
        outcome.status.value,
        extra={"delivery": notification.id, "ms": outcome.latency_ms, "reason": outcome.reason or "-"},
    )


def _send(notification: Notification, setting: NotificationSetting, now: datetime) -> Outcome:
    """One attempt; a message that cannot be made counts as one that failed and comes again."""
    try:
        config = channel_config(setting)
        message = message_of(notification)
    except (CannotDecryptError, ObjectDoesNotExist) as error:
        logger.exception("notification %s cannot be sent", notification.id)
        return Outcome(DeliveryStatus.RETRY, f"the message cannot be made: {type(error).__name__}", 0)
    return deliver(ChannelType(setting.type_name), config, message, now=now)
