"""Messages that a user sends at once: tests of configurations, and reports to the services of a project."""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain
from threading import BoundedSemaphore
from typing import Any, NamedTuple

from django.conf import settings as django_settings
from django.db import Error

from accesslist.changes import acting
from accesslist.locks import scope_lock_shared
from accesslist.throttles import throttle
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.notification_settings import setting_built
from alerting.configs.recipients import addresses_of
from alerting.configs.setup import channel_tested
from alerting.configs.store import (
    NoCredentialsError,
    address_config,
    alert_config,
    config_found,
    own_credentials,
    setting_credentials,
    type_of,
)
from alerting.destinations.changes import destination_id
from alerting.engine.messages import message_of_test
from alerting.reasons import AttemptFailure
from events.facts import EventFacts
from events.log.changes import event_record
from events.models import Event
from events.types import EventType
from integrations.channels.delivery import deliver
from integrations.channels.outcome import Outcome
from integrations.choices import ChannelType, DeliveryStatus
from integrations.credentials.changes import integrations_tested
from integrations.messages import Message
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import get_or_404, rate_limited
from opsapi.api.principal import Actor
from opsapi.encryption import CannotDecryptError
from opsapi.ids import new_id
from opsapi.outbound.mail import REQUEST_SECONDS, mails_within
from opsapi.roles import Scope

logger = logging.getLogger("opsapi.testing")

MOST_AT_ONCE = 2
"""The most tests at a time in a web process: each occupies a thread until its receivers have answered."""
FULL_RETRY_SECONDS = 10
MOST_RECEIVERS = 50
"""The most receivers of one test: as many as a configuration can have notifications."""
_places = BoundedSemaphore(MOST_AT_ONCE)


@dataclass(frozen=True, slots=True)
class NotificationTest:
    """The result of the test of one notification.

    `merged_into`: the settings that sent the message to addresses of this notification, in their order.
    `is_partly_merged`: whether the notification also sent the message to addresses of its own.
    """

    setting: NotificationSetting
    outcome: Outcome
    merged_into: tuple[NotificationSetting, ...] = ()
    is_partly_merged: bool = False

    @property
    def is_delivered(self) -> bool:
        """Whether all its receivers accepted the message."""
        return self.outcome.status is DeliveryStatus.DELIVERED


class _Receiver(NamedTuple):
    """A channel and its configuration; `id` is the same for the same address (`destination_id`)."""

    id: str
    channel: ChannelType
    config: Mapping[str, str]


def alert_config_test(
    *, config: AlertConfig, notification_id: str | None, actor: Actor, now: datetime
) -> list[NotificationTest]:
    """Send a test by each notification of a configuration, enabled or not, and return the results.

    With `notification_id`, send a test by this notification alone.

    All tests are sent at the same time, so the whole test takes as long as one attempt (e-mail: 20 s). At
    most MOST_RECEIVERS receivers are notified. If several notifications have the same address, the first
    sends the message, and all of them have its outcome. Each message is tried once; tests create no alert
    and are not in the notification log.

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
    """Send a test by a single notification, as `notifications_test` does."""
    (test,) = notifications_test(group_id=group_id, notifications=[notification], actor=actor, now=now)
    return test


def notifications_test(
    *, group_id: str, notifications: Sequence[Mapping[str, Any]], actor: Actor, now: datetime
) -> list[NotificationTest]:
    """Send a test by notifications that are not stored, as if they belonged to a HOST_DOWN configuration.

    `notifications`: validated settings, at most MOST_RECEIVERS. As `alert_config_test`, with the same limits.

    Raises:
        ApiError: RATE_LIMITED, as there; GROUP_NOT_FOUND, if the project was deleted in the meantime.
    """
    config = AlertConfig(group_id=group_id, event_type=EventType.HOST_DOWN.value, created=now, updated=now)
    settings = [setting_built(config=config, values=values) for values in notifications]
    return _tested_in_turn(config, settings, actor, now)


def _tested_in_turn(
    config: AlertConfig, settings: Sequence[NotificationSetting], actor: Actor, now: datetime
) -> list[NotificationTest]:
    with _in_turn(config.group_id, now):
        return _tested(config, settings, actor, now)


@contextmanager
def _in_turn(group_id: str | None, now: datetime) -> Iterator[None]:
    """Occupy one of the places of tests.

    Raises:
        ApiError: RATE_LIMITED.
    """
    limit = django_settings.OPSAPI_RATE_TEST_NOTIFICATIONS
    throttle(f"test notifications {group_id or 'of global configurations'}", limit, now)
    if not _places.acquire(blocking=False):
        raise rate_limited(FULL_RETRY_SECONDS)
    try:
        yield
    finally:
        _places.release()


ReportMessage = Callable[[Event, Mapping[str, str]], Message]
"""Builds the message of a report, from the event of its sending and the configuration of a channel."""


def report_send(
    *, group_id: str, channel: ChannelType, message_of: ReportMessage, actor: Actor, now: datetime
) -> Outcome:
    """Send a report once, by the integration of a project, and return the outcome.

    It has the limits of tests, and its result counts as a test of the integration.

    Raises:
        ApiError: RATE_LIMITED, as `alert_config_test`; GROUP_NOT_FOUND, if the project was deleted in the
            meantime.
    """
    config = AlertConfig(group_id=group_id, event_type=EventType.HOST_DOWN.value, created=now, updated=now)
    setting = setting_built(config=config, values={"typeName": channel, "delayMin": 0})
    with _in_turn(group_id, now):
        event = _record(config, EventType.SHIFT_REPORT_SENT_AUDIT, actor, now)
        plan = _plan(setting, group_id, most=1)
        if isinstance(plan, str):
            return Outcome(DeliveryStatus.FAILED, plan, 0)
        [receiver] = plan
        outcome = _send(receiver, message_of(event, receiver.config), now)
    _remember(group_id, [NotificationTest(setting, outcome)], actor, now)
    return outcome


def _tested(
    config: AlertConfig, settings: Sequence[NotificationSetting], actor: Actor, now: datetime
) -> list[NotificationTest]:
    event = _record(config, EventType.ALERT_CONFIG_TESTED_AUDIT, actor, now)
    message = message_of_test(config, event_id=event.id, now=now)
    most = MOST_RECEIVERS // max(1, len(settings)) or 1
    plans = [_plan(setting, config.group_id, most) for setting in settings]
    outcomes = _sent([plan for plan in plans if not isinstance(plan, str)], message, now)
    senders: dict[str, NotificationSetting] = {}
    tests = [
        NotificationTest(setting, Outcome(DeliveryStatus.FAILED, plan, 0))
        if isinstance(plan, str)
        else _test(setting, plan, outcomes, senders)
        for setting, plan in zip(settings, plans, strict=True)
    ]
    _remember(config.group_id, tests, actor, now)
    return tests


def _sent(plans: Iterable[Sequence[_Receiver]], message: Message, now: datetime) -> Mapping[str, Outcome]:
    """Send the message once to each receiver, and return the outcomes by the ids of the receivers."""
    once: dict[str, _Receiver] = {}
    for receiver in chain.from_iterable(plans):
        once.setdefault(receiver.id, receiver)
    # A thread for each receiver: they wait for the network, not for us.
    with ThreadPoolExecutor(max_workers=MOST_RECEIVERS) as threads:
        sending = {name: threads.submit(_send, receiver, message, now) for name, receiver in once.items()}
    return {name: future.result() for name, future in sending.items()}


def _test(
    setting: NotificationSetting,
    receivers: Sequence[_Receiver],
    outcomes: Mapping[str, Outcome],
    senders: dict[str, NotificationSetting],
) -> NotificationTest:
    """The result of a notification; `senders`: the settings that sent the messages, which it adds to."""
    sent_by = [senders.setdefault(receiver.id, setting) for receiver in receivers]
    merged_into = {sender.id: sender for sender in sent_by if sender is not setting}
    return NotificationTest(
        setting,
        _worst([outcomes[receiver.id] for receiver in receivers]),
        tuple(merged_into.values()),
        is_partly_merged=bool(merged_into) and setting in sent_by,
    )


def _remember(group_id: str | None, tests: Sequence[NotificationTest], actor: Actor, now: datetime) -> None:
    """Remember the results of tests. An error must not hide the results of messages that are sent."""
    errors = {
        test.setting.type_name: None if test.is_delivered else test.outcome.reason or "not accepted"
        for test in tests
        if not own_credentials(test.setting)
    }
    try:
        if any(test.is_delivered for test in tests):
            channel_tested(group_id=group_id, actor=actor, now=now)
        if group_id is not None:
            integrations_tested(group_id=group_id, errors=errors, now=now)
    except Error as error:
        logger.warning("the result of a test is not stored: %s", type(error).__name__)


def _record(config: AlertConfig, event_type: EventType, actor: Actor, now: datetime) -> Event:
    """Record the message before anything is sent, so that its author is known whatever happens."""
    is_stored = not config._state.adding
    locks = () if is_stored else (scope_lock_shared,)
    with acting(actor, now, here=Scope(group_id=config.group_id), locks=locks):
        if is_stored:
            config_found(alert_config(config.id), config.id, config.group_id)
        return event_record(
            event_type=event_type,
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
            credentials = setting_credentials(setting, group_id=group_id)
            return [_receiver(group_id, kind.channels[0], credentials.config)]
        people = addresses_of(setting, group_id=group_id)
    except NoCredentialsError as error:
        return error.reason
    except CannotDecryptError as error:
        logger.error("the test of notification %s cannot be sent: %s", setting.id, error)
        return AttemptFailure.SECRETS_UNREADABLE.value
    if people.nobody:
        return people.nobody.value
    return [
        _receiver(group_id, address.channel, address_config(address)) for address in people.addresses[:most]
    ]


def _receiver(group_id: str | None, channel: ChannelType, config: Mapping[str, str]) -> _Receiver:
    is_global = group_id is None
    name = destination_id(group_id=group_id, channel=channel, config=config, is_global=is_global)
    return _Receiver(name, channel, config)


def _send(receiver: _Receiver, message: Message, now: datetime) -> Outcome:
    with mails_within(REQUEST_SECONDS):  # a user waits for the result
        outcome = deliver(receiver.channel, receiver.config, replace(message, delivery_id=new_id()), now=now)
    if outcome.status is not DeliveryStatus.DELIVERED:
        logger.warning("%s was not delivered: %s", receiver.channel, outcome.reason)
    return outcome


def _worst(outcomes: Sequence[Outcome]) -> Outcome:
    """The first failure; the first outcome if there is none."""
    failed = (outcome for outcome in outcomes if outcome.status is not DeliveryStatus.DELIVERED)
    return next(failed, outcomes[0])
