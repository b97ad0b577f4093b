"""Decides which notifications are the same message to the same destination, so that only one is sent. Pure.

The notifications of an alert configuration can reach one person in several ways: by name, as a member of a
team or a project, by e-mail address. The notification that is due first sends the message. If the message was
delivered, the other notifications are merged into this notification. If it failed or was dropped, the next
notification sends the message.

Delivery sends one message at a time to a destination about a subject. So the outcome of the first
notification is known when delivery decides on the next notification.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.rules.delivery_policy import recent_since
from integrations.choices import OPEN_KINDS, MessageKind
from opsapi.clock import AHEAD


@dataclass(frozen=True, slots=True, kw_only=True)
class SameDestination:
    """A notification about an alert or event, among the notifications with the same destination.

    `created` distinguishes messages of one kind: acknowledgements, and changes of an incident. `is_change`:
    the message is about a change of an incident. `interval` is the interval of its reminders. `delivered` is
    None before delivery.
    """

    id: str
    setting_id: str
    kind: MessageKind
    created: datetime
    is_change: bool = False
    interval: timedelta | None = None
    delivered: datetime | None = None

    @property
    def is_reminder(self) -> bool:
        return self.kind is MessageKind.UPDATE and not self.is_change


def merged_into(
    waiting: SameDestination, others: Iterable[SameDestination], now: datetime
) -> SameDestination | None:
    """Return the delivered notification that has sent the message of `waiting`; None if there is none.

    Only notifications of other settings count. Notifications of the same setting are earlier messages.
    """
    same = [
        other
        for other in others
        if other.delivered is not None
        and other.setting_id != waiting.setting_id
        and _says_the_same(waiting, other, other.delivered, now)
    ]
    return max(same, key=lambda other: (other.delivered or now, other.id), default=None)


def _says_the_same(waiting: SameDestination, other: SameDestination, sent: datetime, now: datetime) -> bool:
    if waiting.is_reminder:
        # Settings can have different intervals and delays. A reminder is not sent shortly after another
        # message.
        interval = waiting.interval
        return other.kind in OPEN_KINDS and interval is not None and _is_recent(interval, sent, now)
    if waiting.kind is MessageKind.UPDATE or waiting.kind is MessageKind.ACKNOWLEDGE:
        same = other.kind, other.is_change, other.created
        return same == (waiting.kind, waiting.is_change, waiting.created)
    return other.kind is waiting.kind


def _is_recent(interval: timedelta, sent: datetime, now: datetime) -> bool:
    return recent_since(interval, now) < sent <= now + AHEAD
