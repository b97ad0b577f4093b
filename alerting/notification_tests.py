"""Testing a configuration: whether its notifications arrive."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from threading import BoundedSemaphore

from django.conf import settings
from django.db import transaction

from accesslist.services.locks import actor_lock_shared
from accesslist.throttles import throttle
from alerting.messages import message_of_test
from alerting.models import AlertConfig, NotificationSetting
from alerting.rules.delivery_policy import SECRETS_UNREADABLE
from alerting.selectors.configs import config_found
from alerting.selectors.notification_settings import (
    NoCredentialsError,
    address_config,
    setting_credentials,
    type_of,
)
from alerting.selectors.recipient_addresses import addresses_of
from events.facts import EventFacts
from events.models import Event
from events.services import event_record
from events.types import EventType
from integrations.choices import ChannelType, DeliveryStatus
from integrations.delivery import deliver
from integrations.messages import Message
from integrations.outcome import Outcome
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404, rate_limited
from opsapi.api.principal import Actor
from opsapi.encryption import CannotDecryptError
from opsapi.ids import new_id

logger = logging.getLogger("opsapi.testing")

MOST_AT_ONCE = 2
"""The most tests at a time in a web process: each occupies a thread until its receivers have answered."""
FULL_RETRY_SECONDS = 10
MOST_RECEIVERS = 50
"""The most receivers of one test: as many as a configuration can have notifications."""
_places = BoundedSemaphore(MOST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class NotificationTest:
    """The result of the test of one notification."""

    setting: NotificationSetting
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class _Receiver:
    channel: ChannelType
    config: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The receivers of the test of one notification, or the reason why there are none."""

    receivers: Sequence[_Receiver]
    failure: str | None = None


def tests_throttle(*, group_id: str | None, now: datetime) -> None:
    """Count one test of a project's configurations; None for global configurations.

    Raises:
        ApiError: RATE_LIMITED, when there are more tests in a minute than the limit.
    """
    limit = settings.OPSAPI_RATE_TEST_NOTIFICATIONS
    throttle(f"test notifications {group_id or 'of global configurations'}", limit, now)


def notification_of(config: AlertConfig, notification_id: str) -> NotificationSetting:
    """One notification of a configuration.

    Raises:
        ApiError: NOTIFICATION_NOT_FOUND, when the configuration has none with this id.
    """
    setting = config.settings.filter(id=notification_id).first()
    return get_or_404(setting, ErrorCode.NOTIFICATION_NOT_FOUND, notification_id)


def alert_config_test(
    *, config: AlertConfig, only: NotificationSetting | None = None, actor: Actor, now: datetime
) -> list[NotificationTest]:
    """Send a test by each notification of a configuration, enabled or not, and return the results.

    With `only`, send a test by this notification alone.

    All tests are sent at the same time, so the whole test takes as long as one attempt (e-mail: 20 s). At
    most MOST_RECEIVERS receivers are notified. Each message is tried once; tests create no alert and are not
    in the notification log.

    Raises:
        ApiError: RATE_LIMITED, if MOST_AT_ONCE tests are running in this process; ALERT_CONFIG_NOT_FOUND or
            GLOBAL_ALERT_CONFIG_NOT_FOUND, if it was deleted in the meantime.
    """
    if not _places.acquire(blocking=False):
        raise rate_limited(FULL_RETRY_SECONDS)
    try:
        return _tested(config, [only] if only else list(config.settings.all()), actor, now)
    finally:
        _places.release()


def _tested(
    config: AlertConfig, notifications: Sequence[NotificationSetting], actor: Actor, now: datetime
) -> list[NotificationTest]:
    event = _record(config, actor, now)
    message = message_of_test(config, event_id=event.id, now=now)
    most = MOST_RECEIVERS // max(1, len(notifications)) or 1
    plans = [_plan(setting, config.group_id, most) for setting in notifications]
    # A thread for each receiver: they wait for the network, not for us.
    with ThreadPoolExecutor(max_workers=MOST_RECEIVERS) as threads:
        sending = [
            [threads.submit(_send, receiver, message, now) for receiver in plan.receivers] for plan in plans
        ]
        ended = [
            _outcome(plan, [future.result() for future in sent])
            for plan, sent in zip(plans, sending, strict=True)
        ]
    return [NotificationTest(*pair) for pair in zip(notifications, ended, strict=True)]


@transaction.atomic
def _record(config: AlertConfig, actor: Actor, now: datetime) -> Event:
    """Record the test before anything is sent, so that its author is known whatever happens."""
    actor_lock_shared(actor)
    config_found(AlertConfig.objects.filter(id=config.id, deleted=None).first(), config.id, config.group_id)
    return event_record(
        event_type=EventType.ALERT_CONFIG_TESTED_AUDIT,
        actor=actor,
        now=now,
        group_id=config.group_id,
        facts=EventFacts(alert_config_id=config.id),
    )


def _plan(setting: NotificationSetting, group_id: str | None, most: int) -> _Plan:
    """The receivers at this moment; looked up here, because the sending threads have no database."""
    kind = type_of(setting)
    try:
        if kind.for_people:
            people = addresses_of(setting, group_id=group_id)
            receivers = [
                _Receiver(address.channel, address_config(address)) for address in people.addresses[:most]
            ]
            return _Plan(receivers, people.nobody.value if people.nobody else None)
        config = setting_credentials(setting, group_id=group_id).config
    except NoCredentialsError as error:
        return _Plan([], error.reason)
    except CannotDecryptError as error:
        logger.error("the test of notification %s cannot be sent: %s", setting.id, error)
        return _Plan([], SECRETS_UNREADABLE)
    return _Plan([_Receiver(kind.channels[0], config)])


def _send(receiver: _Receiver, message: Message, now: datetime) -> Outcome:
    return deliver(receiver.channel, receiver.config, replace(message, delivery_id=new_id()), now=now)


def _outcome(plan: _Plan, outcomes: Sequence[Outcome]) -> Outcome:
    """The result of a notification's test: of its first receiver that failed, if any."""
    failed = (outcome for outcome in outcomes if outcome.status is not DeliveryStatus.DELIVERED)
    if plan.failure is not None:
        return Outcome(DeliveryStatus.FAILED, plan.failure, 0)
    return next(failed, outcomes[0])
