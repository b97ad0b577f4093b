"""Testing a configuration: whether its notifications arrive (decisions 5 "endpoints")."""

import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from threading import BoundedSemaphore

from django.db import transaction

from alerting.messages import channel_config, message_of_test
from alerting.models import AlertConfig, NotificationSetting
from events.facts import EventFacts
from events.models import Event
from events.services import event_record
from events.types import EventType
from integrations.choices import ChannelType, DeliveryStatus
from integrations.delivery import Outcome, deliver
from integrations.messages import Message
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor
from opsapi.encryption import CannotDecryptError
from opsapi.ids import new_id

logger = logging.getLogger("opsapi.testing")

MOST_AT_ONCE = 2
"""So many tests run at a time in one web process: each holds a thread for as long as its receivers take."""
FULL_RETRY_SECONDS = 10
_places = BoundedSemaphore(MOST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class NotificationTest:
    """How the test of one notification ended."""

    setting: NotificationSetting
    outcome: Outcome


def alert_config_test(*, config: AlertConfig, actor: Actor, now: datetime) -> list[NotificationTest]:
    """Send a test by each notification of a configuration, enabled or not, and answer how each ended.

    They are sent at the same time, so that all of it ends with the channels' time limit for one (e-mail:
    20 s). Each is tried once; there is neither an alert nor an entry in the log of notifications.

    Raises:
        ApiError: RATE_LIMITED, when this process has MOST_AT_ONCE of them in hand already;
            ALERT_CONFIG_NOT_FOUND, when it was deleted in the meantime.
    """
    if not _places.acquire(blocking=False):
        wait = str(FULL_RETRY_SECONDS)
        raise ApiError(ErrorCode.RATE_LIMITED, wait, headers={"Retry-After": wait})
    try:
        return _tested(config, actor, now)
    finally:
        _places.release()


def _tested(config: AlertConfig, actor: Actor, now: datetime) -> list[NotificationTest]:
    event = _record(config, actor, now)
    message = message_of_test(config, event_id=event.id, now=now)
    notifications = list(config.settings.all())
    # A thread each: a configuration has 50 at the most, and they wait for the network, not for us.
    with ThreadPoolExecutor(max_workers=max(1, len(notifications))) as threads:
        outcomes = threads.map(lambda setting: _send(setting, message, now), notifications)
        return [NotificationTest(*ended) for ended in zip(notifications, outcomes, strict=True)]


@transaction.atomic
def _record(config: AlertConfig, actor: Actor, now: datetime) -> Event:
    """Written down before anything is sent: whatever happens then, it is known who made it happen."""
    if not AlertConfig.objects.filter(id=config.id, deleted=None).exists():
        raise ApiError(ErrorCode.ALERT_CONFIG_NOT_FOUND, config.id, config.group_id)
    return event_record(
        event_type=EventType.ALERT_CONFIG_TESTED_AUDIT,
        actor=actor,
        now=now,
        group_id=config.group_id,
        facts=EventFacts(alert_config_id=config.id),
    )


def _send(setting: NotificationSetting, message: Message, now: datetime) -> Outcome:
    """One attempt, as the worker makes it; in a thread of its own, so without the database."""
    try:
        channel = channel_config(setting)
    except CannotDecryptError as error:
        logger.exception("the test of notification %s cannot be sent", setting.id)
        return Outcome(DeliveryStatus.FAILED, f"the message cannot be made: {type(error).__name__}", 0)
    told = replace(message, delivery_id=new_id())
    return deliver(ChannelType(setting.type_name), channel, told, now=now)
