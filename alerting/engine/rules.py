"""The rules of turns and delivery: time slices, what is sent when, and the states of notifications. Pure.

What opens or ends an alert is decided in `engine.transition`; `configs.rules` compares thresholds.
"""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from alerting.engine.choices import NotificationStatus
from alerting.incidents.choices import AlertStatus
from alerting.reasons import NotificationReason, window_of
from integrations.choices import ENDS, OPEN_KINDS, MessageKind
from opsapi.clock import AHEAD

Clock = Callable[[], float]
"""A monotonic clock, in seconds."""


class Costs:
    """The seconds of work by name."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = {}

    def add(self, name: str, seconds: float) -> None:
        """Add seconds to the costs of `name`."""
        self._seconds[name] = self._seconds.get(name, 0.0) + seconds

    def of(self, name: str) -> float:
        """Return the seconds of `name`; 0 if it has none."""
        return self._seconds.get(name, 0.0)

    def total(self) -> float:
        """Return the seconds of all names together."""
        return sum(self._seconds.values())

    def dearest(self) -> str | None:
        """Return the name with the highest costs; None if there are no costs."""
        return max(self._seconds, key=self._seconds.__getitem__, default=None)


class TimeSlice:
    """The time of a turn, from now until `seconds` have passed or `rows` are to be written.

    Rows are limited as well as time: what is decided is written after the slice, which cannot measure that
    time.
    """

    def __init__(
        self, clock: Clock, seconds: float, costs: Costs | None = None, rows: float = math.inf
    ) -> None:
        """`charge` adds to `costs`, which may be older than the slice."""
        self._clock = clock
        self.began = self.last_look = self._charged = clock()
        self._end = self.began + seconds
        self._rows_left = rows
        self.costs = Costs() if costs is None else costs
        """The seconds of what `charge` was called for, by its name."""

    @classmethod
    def endless(cls) -> "TimeSlice":
        """Return a slice that is never over."""
        return cls(lambda: 0.0, 0.0)

    def now(self) -> float:
        """Return the time of the clock, in seconds."""
        return self._clock()

    def is_over(self) -> bool:
        """Return whether the time has passed or the rows are used up. Sets `last_look`."""
        self.last_look = self._clock()
        return self.last_look > self._end or self._rows_left <= 0

    def count_rows(self, rows: int) -> None:
        """Count rows that were written or are to be written."""
        self._rows_left -= rows

    def allow_as_much_as_since(self, began: float) -> None:
        """Extend the slice by the time since `began`, so that reading always leaves time to decide."""
        now = self._clock()
        self._end = max(self._end, now + now - began)

    def charge(self, name: str) -> None:
        """Add the seconds since the last call to the costs of `name`, or to nothing if it is empty."""
        before, self._charged = self._charged, self._clock()
        if name:
            self.costs.add(name, self._charged - before)

    def used(self) -> float:
        """Return the seconds since the slice began."""
        return self._clock() - self.began


class Place(NamedTuple):
    """Where the evaluation of signals continues: a signal, a configuration and the target of an alert.

    Pairs of a configuration and a target are compared in this order, so a place stays right if
    configurations or hosts come and go in between. Empty strings come first.
    """

    signal: int
    config: str = ""
    target: str = ""

    @property
    def is_inside_signal(self) -> bool:
        """Whether a part of the signal has been evaluated."""
        return bool(self.config)


@dataclass(frozen=True, slots=True)
class Progress:
    """The signals that a turn began and did not finish, and where the next turn continues.

    `hosts_after`: the fleet is compared in parts; the next part begins after the host with this id. Empty for
    the first part.
    """

    signals: tuple[int, ...]
    place: Place
    hosts_after: str = ""

    def stored(self) -> dict[str, Any]:
        """Return the JSON that `progress_of` reads."""
        return {"signals": self.signals, "place": self.place, "hostsAfter": self.hosts_after}


def progress_of(stored: Mapping[str, Any]) -> Progress:
    """Return the progress of `Progress.stored`."""
    return Progress(tuple(stored["signals"]), Place(*stored["place"]), stored["hostsAfter"])


_OF_A_RUNNING_ALERT = OPEN_KINDS | {MessageKind.ACKNOWLEDGE}


class DeliveryStep(StrEnum):
    """The steps of a due notification."""

    SEND = "SEND"
    ADDRESS = "ADDRESS"
    """Find its destination: the addresses of people, or the destination in the configuration."""
    MERGE = "MERGE"
    """Another notification has sent the same message to the same address."""
    POSTPONE = "POSTPONE"
    DROP = "DROP"
    GIVE_UP = "GIVE_UP"
    """It was sent and perhaps received, or tried too often: do not send it again."""
    REMOVE = "REMOVE"
    """The end of an alert, if the receiver got no message about it; an unimportant change of an incident."""


@dataclass(frozen=True, slots=True)
class Mute:
    """A maintenance window that mutes notifications until its end; `window_id` is its ID."""

    window_id: str
    until: datetime


def mute_of_incident(mutes: Iterable[Mute | None]) -> Mute | None:
    """Return, of the mutes of the open alerts, the mute that ends first; None if an alert is not muted."""
    first: Mute | None = None
    for mute in mutes:
        if mute is None:
            return None
        if first is None or (mute.until, mute.window_id) < (first.until, first.window_id):
            first = mute
    return first


@dataclass(frozen=True, slots=True, kw_only=True)
class DueNotification:
    """The facts of a due notification.

    `status` is the alert's, None for a one-shot notification. `config_is_enabled`: the configuration exists
    and is enabled; `setting_exists`: it still has this notification; `is_still_recipient`: the address still
    belongs to a recipient. `is_below_minimum`: the severity is lower than the minimum of the notification.
    `perhaps_received`: an attempt was sent and not definitely refused, so the notification is never dropped
    as if nothing was sent. `lapsed_too_often`: too many attempts left no outcome. `addressed`: its
    destination is decided, and its configuration still names it. `perhaps_notified`: the receiver of an end
    was, or perhaps was, notified of the alert. `keeps_state`: the service tracks the alert itself. `mute`:
    the maintenance window that mutes it now. `planned_until`: until when it is about planned effects of a
    plan. `unconfirmed_until`: until when it waits for a report, because the platform was away.
    `worth_sending`: False for an unimportant change of an incident. `merged_into`: the notification
    that has sent the same message to the same address.
    """

    kind: MessageKind
    status: AlertStatus | None
    config_is_enabled: bool = True
    setting_exists: bool = True
    is_still_recipient: bool = True
    is_below_minimum: bool = False
    perhaps_received: bool = False
    lapsed_too_often: bool = False
    addressed: bool = True
    perhaps_notified: bool = True
    keeps_state: bool = False
    acknowledged_until: datetime | None = None
    mute: Mute | None = None
    planned_until: datetime | None = None
    unconfirmed_until: datetime | None = None
    worth_sending: bool = True
    merged_into: str | None = None


_MERGED_DESPITE = frozenset({None, NotificationReason.ALERT_OVER, NotificationReason.NOT_ACKNOWLEDGED})
"""A message that another notification has sent is merged for these reasons too; None: it is still wanted."""


@dataclass(frozen=True, slots=True)
class DeliveryVerdict:
    """The step, and the reason to drop, merge, postpone or give up.

    `until` belongs to POSTPONE, `window_id` to the reason MUTED. The reason to give up says why it is not
    retried (`not_retried`); None if too many attempts left no outcome.
    """

    step: DeliveryStep
    reason: NotificationReason | None = None
    until: datetime | None = None
    window_id: str | None = None

    @property
    def sentence(self) -> str | None:
        """The reason as the log stores it."""
        return self.reason.value.format(window=self.window_id) if self.reason else None


LONGEST_REASON = 300
"""The maximum length of the reason of a notification or an attempt, in characters."""


def not_retried_words(reason: NotificationReason) -> str:
    """The end of the reason of a failed notification that is no longer retried."""
    return f"; not retried: {reason.not_retried}"


def not_retried(failure: str, reason: NotificationReason | None) -> str:
    """Return the reason of a failed notification: its last failure, and why it is not retried.

    `reason` is None if its retries have ended as they should, or it needs none.
    """
    words = not_retried_words(reason) if reason else ""
    return failure[: LONGEST_REASON - len(words)] + words


def decide_delivery(due: DueNotification, now: datetime) -> DeliveryVerdict:
    """Return the first step that applies to a due notification.

    In order: merge; remove; drop, or give up if it was perhaps received; postpone, or drop a one-shot
    notification, because of a window or a plan; postpone a reminder because of an acknowledgement; give up
    after too many lapses; else send, or find its destination first.
    """
    reason = unwanted_reason(due, now)
    if due.merged_into is not None and not due.perhaps_received and reason in _MERGED_DESPITE:
        return DeliveryVerdict(DeliveryStep.MERGE, NotificationReason.MERGED)
    if _is_needless(due):
        return DeliveryVerdict(DeliveryStep.REMOVE)
    if reason is not None:
        # A message that may have arrived is not dropped: its receiver gets the end of the alert.
        return DeliveryVerdict(DeliveryStep.GIVE_UP if due.perhaps_received else DeliveryStep.DROP, reason)
    if held_back := _held_back(due, now):
        return held_back
    if due.lapsed_too_often:
        return DeliveryVerdict(DeliveryStep.GIVE_UP)
    return DeliveryVerdict(DeliveryStep.SEND if due.addressed else DeliveryStep.ADDRESS)


def unwanted_reason(due: DueNotification, now: datetime) -> NotificationReason | None:
    """Return why the message is no longer wanted; None if it is."""
    if due.kind in _OF_A_RUNNING_ALERT and due.status is not AlertStatus.OPEN:
        return NotificationReason.ALERT_OVER
    if due.kind not in ENDS and (reason := _not_asked_for(due)):
        return reason
    if due.kind is MessageKind.ACKNOWLEDGE and not _is_acknowledged(due, now):
        return NotificationReason.NOT_ACKNOWLEDGED
    return None


def _is_needless(due: DueNotification) -> bool:
    if due.kind in ENDS:
        return not due.perhaps_notified
    return not due.worth_sending and not due.perhaps_received


def repeat_due(interval: timedelta | None, delivered: datetime) -> datetime | None:
    """When the next reminder is due: a fixed interval after the last delivery; None without reminders."""
    return None if interval is None else delivered + interval


def recent_since(interval: timedelta, now: datetime) -> datetime:
    """Return the time after which a message to people is recent: they get no reminder yet."""
    return now - interval / 2


def _not_asked_for(due: DueNotification) -> NotificationReason | None:
    """Why its configuration no longer notifies."""
    if due.kind is MessageKind.INFORM and not due.config_is_enabled:
        return NotificationReason.CONFIG_OFF
    if not due.setting_exists:
        return NotificationReason.NOTIFICATION_REMOVED
    # An acknowledgement goes to receivers of the opening.
    if due.is_below_minimum and due.kind is not MessageKind.ACKNOWLEDGE:
        return NotificationReason.BELOW_MIN_SEVERITY
    return None if due.is_still_recipient else NotificationReason.NO_LONGER_RECIPIENT


def _held_back(due: DueNotification, now: datetime) -> DeliveryVerdict | None:
    # Services that track incidents get the end at once: it cancels a call and causes none.
    if due.mute is not None and not (due.keeps_state and due.kind in ENDS):
        return _muted(due, due.mute)
    if due.planned_until is not None and due.planned_until > now and due.kind not in ENDS:
        return _planned(due, due.planned_until)
    if due.kind is MessageKind.UPDATE and _is_acknowledged(due, now):
        return DeliveryVerdict(
            DeliveryStep.POSTPONE, NotificationReason.ACKNOWLEDGED, until=due.acknowledged_until
        )
    if due.unconfirmed_until is not None:
        return DeliveryVerdict(
            DeliveryStep.POSTPONE, NotificationReason.UNCONFIRMED, until=due.unconfirmed_until
        )
    return None


def _muted(due: DueNotification, mute: Mute) -> DeliveryVerdict:
    """Messages about a running alert and its end can be sent later; one-shot notifications are not kept."""
    if due.kind is MessageKind.INFORM:
        return DeliveryVerdict(DeliveryStep.DROP, NotificationReason.MUTED, window_id=mute.window_id)
    return DeliveryVerdict(DeliveryStep.POSTPONE, NotificationReason.MUTED, mute.until, mute.window_id)


def _planned(due: DueNotification, until: datetime) -> DeliveryVerdict:
    """As `_muted`, for a message about the planned effects of a plan."""
    reason = NotificationReason.PLANNED
    if due.kind is MessageKind.INFORM:
        return DeliveryVerdict(DeliveryStep.DROP, reason)
    return DeliveryVerdict(DeliveryStep.POSTPONE, reason, until=until)


def _is_acknowledged(due: DueNotification, now: datetime) -> bool:
    return due.acknowledged_until is not None and due.acknowledged_until > now


def muted_by(silenced_by: str | None, reason: str | None) -> str | None:
    """The ID of the window that mutes or muted a notification; a dropped one has it in its reason."""
    return silenced_by or window_of(reason)


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


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages about some alerts and events that were, or perhaps were, received."""

    _notified: AbstractSet[tuple[str, str]]
    """Alert or event, and destination, of messages that are not ends; older rows name no destination."""
    _settings: Mapping[tuple[str, str], AbstractSet[str]]
    """The settings of all messages, by alert or event, and destination."""

    @classmethod
    def of(cls, rows: Collection[tuple[str, str, str, bool]]) -> "SentMessages":
        """The messages of these rows: alert or event, destination, setting, and whether it is an end."""
        settings: dict[tuple[str, str], set[str]] = {}
        for about, destination, setting_id, _ in rows:
            settings.setdefault((about, destination), set()).add(setting_id)
        return cls({row[:2] for row in rows if not row[3]}, settings)

    def has_notified(self, about: str, destination: str) -> bool:
        """Whether the destination was, or perhaps was, notified of the alert or event before its end."""
        return not self._notified.isdisjoint({(about, destination), (about, "")})

    def can_include(self, about: str, destination: str, setting_id: str) -> bool:
        """Whether a message of another setting to the destination may be the message of this setting."""
        settings = self._settings.get((about, destination), frozenset())
        return bool(destination) and not settings <= {setting_id}


class NotificationState(StrEnum):
    """The values are the words."""

    DELIVERED = "Delivered"
    FAILED = "Failed"
    DROPPED = "Dropped"
    MERGED = "Merged"
    """Another notification has sent the same message."""
    WAITING = "Waiting"
    SCHEDULED = "Scheduled"


def notification_state(
    status: NotificationStatus,
    *,
    kind: MessageKind,
    due: datetime,
    attempts: int,
    is_held: bool,
    is_merged: bool = False,
    now: datetime,
) -> NotificationState:
    """Return the state of a notification.

    A pending notification is scheduled if it is due later, was never attempted and is not held (`is_held`: it
    has a reason to wait). A reminder is scheduled even if it is held.
    """
    match status:
        case NotificationStatus.DELIVERED:
            return NotificationState.DELIVERED
        case NotificationStatus.FAILED:
            return NotificationState.FAILED
        case NotificationStatus.DROPPED:
            return NotificationState.MERGED if is_merged else NotificationState.DROPPED
        case NotificationStatus.PENDING:
            is_to_come = due > now and not attempts and (not is_held or kind is MessageKind.UPDATE)
            return NotificationState.SCHEDULED if is_to_come else NotificationState.WAITING
