"""Testing a configuration: whether its notifications arrive."""

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import datetime
from threading import BoundedSemaphore
from typing import Any

from django.conf import settings as django_settings
from django.db import Error, transaction

from accesslist.services.locks import actor_lock_shared, project_lock_shared
from accesslist.throttles import throttle
from alerting.messages import message_of_test
from alerting.models import AlertConfig, NotificationSetting
from alerting.rules.delivery_policy import SECRETS_UNREADABLE
from alerting.selectors.configs import alert_config, config_found
from alerting.selectors.notification_settings import (
    NoCredentialsError,
    address_config,
    setting_credentials,
    type_of,
)
from alerting.selectors.recipient_addresses import addresses_of
from alerting.services.notification_settings import setting_built
from alerting.services.setup import channel_tested
from events.facts import EventFacts
from events.models import Event
from events.services import event_record
from events.types import EventType
from integrations.choices import ChannelType, DeliveryStatus
from integrations.delivery import deliver
from integrations.messages import Message
from integrations.outcome import Outcome
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404, rate_limited
from opsapi.api.principal import Actor
from opsapi.encryption import CannotDecryptError
from opsapi.ids import new_id
from opsapi.outbound.mail import REQUEST_SECONDS, mails_within

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

    @property
    def is_delivered(self) -> bool:
        """Whether all its receivers accepted the message."""
        return self.outcome.status is DeliveryStatus.DELIVERED


_Receiver = tuple[ChannelType, Mapping[str, str]]
"""A channel, and its configuration."""


def alert_config_test(
    *, config: AlertConfig, notification_id: str | None, actor: Actor, now: datetime
) -> list[NotificationTest]:
    """Send a test by each notification of a configuration, enabled or not, and return the results.

    With `notification_id`, send a test by this notification alone.

    All tests are sent at the same time, so the whole test takes as long as one attempt (e-mail: 20 s). At
    most MOST_RECEIVERS receivers are notified. Each message is tried once; tests create no alert and are not
    in the notification log.

    Raises:
        ApiError: NOTIFICATION_NOT_FOUND, if the configuration has none with this id; RATE_LIMITED, after
            OPSAPI_RATE_TEST_NOTIFICATIONS tests in a minute of the project, or of global configurations, or
            if MOST_AT_ONCE tests are running in this process; ALERT_CONFIG_NOT_FOUND or
            GLOBAL_ALERT_CONFIG_NOT_FOUND, if it was deleted in the meantime.
    """
    settings = list(config.settings.all())
    if notification_id:
        settings = [setting for setting in settings if setting.id == notification_id]
        get_or_404(settings or None, ErrorCode.NOTIFICATION_NOT_FOUND, notification_id)
    return _tested_in_turn(config, settings, actor, now)


def notification_test(
    *, group_id: str, notification: Mapping[str, Any], actor: Actor, now: datetime
) -> NotificationTest:
    """Send a test by a notification that is not stored yet, as if it belonged to a HOST_DOWN configuration.

    `notification`: a validated setting. As `alert_config_test`, with the same limits.

    Raises:
        ApiError: RATE_LIMITED, as there; GROUP_NOT_FOUND, if the project was deleted in the meantime.
    """
    config = AlertConfig(group_id=group_id, event_type=EventType.HOST_DOWN.value, created=now, updated=now)
    setting = setting_built(config=config, values=notification)
    (test,) = _tested_in_turn(config, [setting], actor, now)
    return test


def _tested_in_turn(
    config: AlertConfig, settings: Sequence[NotificationSetting], actor: Actor, now: datetime
) -> list[NotificationTest]:
    limit = django_settings.OPSAPI_RATE_TEST_NOTIFICATIONS
    throttle(f"test notifications {config.group_id or 'of global configurations'}", limit, now)
    if not _places.acquire(blocking=False):
        raise rate_limited(FULL_RETRY_SECONDS)
    try:
        return _tested(config, settings, actor, now)
    finally:
        _places.release()


def _tested(
    config: AlertConfig, settings: Sequence[NotificationSetting], actor: Actor, now: datetime
) -> list[NotificationTest]:
    event = _record(config, actor, now)
    message = message_of_test(config, event_id=event.id, now=now)
    most = MOST_RECEIVERS // max(1, len(settings)) or 1
    plans = [_plan(setting, config.group_id, most) for setting in settings]
    # A thread for each receiver: they wait for the network, not for us.
    with ThreadPoolExecutor(max_workers=MOST_RECEIVERS) as threads:
        sending = [
            [threads.submit(_send, *receiver, message, now) for receiver in plan]
            for plan in plans
            if not isinstance(plan, str)
        ]
        sent = iter([[future.result() for future in futures] for futures in sending])
    ended = [
        Outcome(DeliveryStatus.FAILED, plan, 0) if isinstance(plan, str) else _worst(next(sent))
        for plan in plans
    ]
    tests = [NotificationTest(*pair) for pair in zip(settings, ended, strict=True)]
    if any(test.is_delivered for test in tests):
        _remember(config.group_id, actor, now)
    return tests


def _remember(group_id: str | None, actor: Actor, now: datetime) -> None:
    """Remember that a test was delivered. An error must not hide the results of messages that are sent."""
    try:
        channel_tested(group_id=group_id, actor=actor, now=now)
    except (Error, ApiError) as error:
        logger.warning("a test was delivered, which is not stored: %s", type(error).__name__)


@transaction.atomic
def _record(config: AlertConfig, actor: Actor, now: datetime) -> Event:
    """Record the test before anything is sent, so that its author is known whatever happens."""
    actor_lock_shared(actor)
    is_stored = not config._state.adding
    if is_stored:
        config_found(alert_config(config.id), config.id, config.group_id)
    elif config.group_id is not None:
        project_lock_shared(group_id=config.group_id)
    return event_record(
        event_type=EventType.ALERT_CONFIG_TESTED_AUDIT,
        actor=actor,
        now=now,
        group_id=config.group_id,
        facts=EventFacts(alert_config_id=config.id) if is_stored else None,
    )


def _plan(setting: NotificationSetting, group_id: str | None, most: int) -> Sequence[_Receiver] | str:
    """The receivers at this moment, at least one, or the reason why there are none.

    They are looked up here, because the sending threads have no database.
    """
    kind = type_of(setting)
    try:
        if not kind.for_people:
            return [(kind.channels[0], setting_credentials(setting, group_id=group_id).config)]
        people = addresses_of(setting, group_id=group_id)
    except NoCredentialsError as error:
        return error.reason
    except CannotDecryptError as error:
        logger.error("the test of notification %s cannot be sent: %s", setting.id, error)
        return SECRETS_UNREADABLE
    if people.nobody:
        return people.nobody.value
    return [(address.channel, address_config(address)) for address in people.addresses[:most]]


def _send(channel: ChannelType, config: Mapping[str, str], message: Message, now: datetime) -> Outcome:
    with mails_within(REQUEST_SECONDS):  # a user waits for the result
        return deliver(channel, config, replace(message, delivery_id=new_id()), now=now)


def _worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The first failure; the first outcome if there is none."""
    failed = (outcome for outcome in outcomes if outcome.status is not DeliveryStatus.DELIVERED)
    return next(failed, outcomes[0])
