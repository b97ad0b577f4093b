"""Addresses of notifications: where the alert configuration sends each of them now."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from alerting.choices import NotificationStatus
from alerting.engine.ledger import DestinationConfigs, Ledger, NamedDestination
from alerting.models import Alert, Notification, NotificationSetting
from alerting.models.notifications import LONGEST_RECIPIENT
from alerting.reasons import AttemptFailure, NotificationReason
from alerting.selectors.notification_settings import NoCredentialsError, credentials_for
from alerting.services.destinations import destination_id
from alerting.services.notifications import redirected_row
from integrations.channels.outcome import Outcome
from integrations.choices import ENDS, FOLLOWING, ChannelType, DeliveryStatus
from opsapi.encryption import CannotDecryptError
from opsapi.outbound.errors import NO_ANSWER

logger = logging.getLogger("opsapi.delivery")


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationAddress:
    """Where a notification goes. There are four cases:

    - settled: it is sent to the destination that it has
    - settled, with `failure`: the attempt fails with this outcome
    - not settled, with `destination`: it is addressed to this destination
    - not settled, without `destination`: it is for people, whose addresses are looked up
    """

    is_settled: bool = True
    destination: NamedDestination | None = None
    failure: Outcome | None = None


class AddressLookup:
    """Finds the addresses of notifications that are decided together, and looks up equal ones once."""

    def __init__(self, stored: DestinationConfigs) -> None:
        self._stored = stored
        self._named: dict[tuple[object, ...], NamedDestination | Outcome] = {}

    def address_of(
        self, notification: Notification, alert: Alert | None, setting: NotificationSetting | None
    ) -> NotificationAddress:
        """Return where a notification goes. Ends and acknowledgements go where the opening went."""
        if notification.channel is None:
            return NotificationAddress(is_settled=False)
        if notification.kind in FOLLOWING and notification.destination:
            if notification.destination in self._stored:
                return NotificationAddress()
            return NotificationAddress(
                failure=Outcome(DeliveryStatus.FAILED, NotificationReason.SECRETS_GONE.value, 0)
            )
        named = self._named_destination(notification, alert, setting)
        if isinstance(named, Outcome):
            return NotificationAddress(failure=named)
        # Addressing replaces stored fields that cannot be decrypted by the fields in the configuration.
        is_readable = isinstance(self._stored.get(notification.destination), Mapping)
        if named.id == notification.destination and is_readable:
            return NotificationAddress()
        return NotificationAddress(is_settled=False, destination=named)

    def _named_destination(
        self, notification: Notification, alert: Alert | None, setting: NotificationSetting | None
    ) -> NamedDestination | Outcome:
        # `alert.is_global` is not in the key, because it is the same for all alerts of a setting.
        key = (
            notification.setting_id,
            notification.type_name,
            notification.channel,
            notification.group_id,
            notification.recipient,
            notification.kind in ENDS,
        )
        if key not in self._named:
            self._named[key] = _look_up(notification, alert, setting)
        return self._named[key]


def _look_up(
    notification: Notification, alert: Alert | None, setting: NotificationSetting | None
) -> NamedDestination | Outcome:
    """Return the destination that the configuration names, or the outcome of a failed attempt."""
    try:
        credentials = credentials_for(notification, setting)
    except NoCredentialsError as error:
        return Outcome(DeliveryStatus.FAILED, error.reason, 0)
    except CannotDecryptError as error:
        # Retried, because another machine may have the key, or this machine after a restart.
        logger.error("notification %s cannot be sent: %s", notification.id, error)
        return Outcome(DeliveryStatus.RETRY, AttemptFailure.SECRETS_UNREADABLE.value, 0)
    group_id, channel = notification.group_id, ChannelType(str(notification.channel))
    of_global_config = setting is not None and setting.config.group_id is None
    is_global = alert.is_global if alert else of_global_config
    key = destination_id(group_id=group_id, channel=channel, config=credentials.config, is_global=is_global)
    return NamedDestination(key, group_id, channel, credentials, is_global)


class _Values(NamedTuple):
    """The values that one statement writes; `moved` if the notifications had another destination."""

    destination: str
    recipient: str
    reason: str | None
    moved: bool


def addresses_write(
    to_address: Sequence[tuple[Notification, NamedDestination]], *, now: datetime, ledger: Ledger
) -> None:
    """Address notifications, and release them: the next claim sends them. The caller locks destinations."""
    ledger.destinations_keep((destination for _, destination in to_address), now=now)
    # One statement for all notifications that get the same values.
    addressed: dict[_Values, list[Notification]] = defaultdict(list)
    for notification, destination in to_address:
        recipient = destination.credentials.shown[:LONGEST_RECIPIENT]
        moved = notification.destination not in {"", destination.id}
        if moved and notification.perhaps_received:
            _redirect(notification, destination.id, recipient, now, ledger)
        else:
            values = _Values(destination.id, recipient, last_failure(notification), moved)
            addressed[values].append(notification)
    for values, rows in addressed.items():
        # The hour of retries begins again with a new destination.
        restarted = {"first_attempt": None} if values.moved else {}
        ledger.release_with(
            rows,
            destination=values.destination,
            recipient=values.recipient,
            reason=values.reason,
            **restarted,
        )


def _redirect(
    notification: Notification, destination: str, recipient: str, now: datetime, ledger: Ledger
) -> None:
    """Fail the notification, and insert the same message for another destination.

    The earlier destination perhaps received the message. The failed notification stays in the log, so that
    the earlier destination gets the end of the alert too.
    """
    failed, reason = NotificationStatus.FAILED.value, last_failure(notification) or NO_ANSWER
    if ledger.release_with([notification], status=failed, reason=reason):
        ledger.insert([redirected_row(notification, destination, recipient, now)])


def last_failure(notification: Notification) -> str | None:
    """Return the reason of the last failed attempt; None if no attempt failed, or it was held back later.

    `_MARK_BEGUN` in `engine.postgresql`, `_TO_DROP` in `services.notifications` and HELD_BACK state the same
    rule in SQL.
    """
    was_held_back = notification.silenced_by or notification.reason == NotificationReason.ACKNOWLEDGED.value
    return None if was_held_back else notification.reason
