"""What an alert configuration would have done with recorded observations. Pure.

`DryRun` folds the observations in the order of time with `transition.step`, the function of evaluation.
`messages_of_alert` and `messages_of_event` decide each message with `delivery_policy.decide_delivery`, the
function of delivery, as if every receiver answered at once and nobody acknowledged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from heapq import heappop, heappush
from itertools import count
from typing import Any

from alerting.choices import AlertStatus
from alerting.rules.delivery_policy import (
    DeliveryStep,
    DueNotification,
    Mute,
    decide_delivery,
    drop_reason,
    repeat_due,
)
from alerting.rules.observations import Observation
from alerting.rules.transition import AlertAction, AlertView, ConfigView, step, target_of
from events.types import EVENT_TYPES, AlertEffect, EventType, Needs, Target
from integrations.choices import MessageKind


class DryRunLimit(StrEnum):
    """Why a dry run can differ from what would have happened, or why there is nothing to evaluate.

    LIMIT_WORDS says it in words.
    """

    NOT_RECORDED = "NOT_RECORDED"
    NOT_PRODUCED = "NOT_PRODUCED"
    CURRENT_FACTS = "CURRENT_FACTS"
    CURRENT_WINDOWS = "CURRENT_WINDOWS"
    DELETED_HOSTS_LEFT_OUT = "DELETED_HOSTS_LEFT_OUT"
    ENDS_NOT_RECORDED = "ENDS_NOT_RECORDED"
    EARLIER_EVENTS_LEFT_OUT = "EARLIER_EVENTS_LEFT_OUT"
    MEASUREMENTS_BEING_MOVED = "MEASUREMENTS_BEING_MOVED"


NOT_EVALUATED = frozenset({DryRunLimit.NOT_RECORDED, DryRunLimit.NOT_PRODUCED})
LIMIT_WORDS: Mapping[DryRunLimit, str] = {
    DryRunLimit.NOT_RECORDED: "The platform does not record when this condition began and ended.",
    DryRunLimit.NOT_PRODUCED: "Nothing makes events of this type.",
    DryRunLimit.CURRENT_FACTS: "Matchers and grouping use the hosts as they are now.",
    DryRunLimit.CURRENT_WINDOWS: "Maintenance windows and recipients are as they are now.",
    DryRunLimit.DELETED_HOSTS_LEFT_OUT: "Measurements of deleted hosts are not kept; alerts on these hosts "
    "are missing.",
    DryRunLimit.ENDS_NOT_RECORDED: "The record does not show when a replica set or cluster lost its last "
    "host, which cancels its alerts.",
    DryRunLimit.EARLIER_EVENTS_LEFT_OUT: "Too many events were recorded before the start; a condition that "
    "was already true then can be missing.",
    DryRunLimit.MEASUREMENTS_BEING_MOVED: "Measurements of an earlier version are still being moved and are "
    "left out.",
}
_WITHOUT_RECORD = frozenset({EventType.USERS_WITHOUT_MULTI_FACTOR_AUTH, EventType.ORG_USERS_WITHOUT_MFA})


def limits_of(config: ConfigView, *, is_grouped: bool = False) -> list[DryRunLimit]:
    """The limits that follow from the configuration alone."""
    spec = EVENT_TYPES[config.event_type]
    if not spec.produced:
        return [DryRunLimit.NOT_PRODUCED]
    if spec.needs is Needs.THRESHOLD or config.event_type in _WITHOUT_RECORD:
        return [DryRunLimit.NOT_RECORDED]
    limits = [DryRunLimit.CURRENT_WINDOWS]
    if config.matchers or is_grouped:
        limits.append(DryRunLimit.CURRENT_FACTS)
    if spec.needs is Needs.METRIC_THRESHOLD:
        limits.append(DryRunLimit.DELETED_HOSTS_LEFT_OUT)
    if spec.kind is AlertEffect.OPENING and spec.target in {Target.REPLICA_SET, Target.CLUSTER}:
        limits.append(DryRunLimit.ENDS_NOT_RECORDED)
    return limits


class DryRunCut(StrEnum):
    """Why a dry run ended early."""

    TIME = "TIME"
    ALERTS = "ALERTS"
    """It found too many alerts or events."""
    NOTIFICATIONS = "NOTIFICATIONS"
    """It found too many notifications."""


@dataclass(slots=True, kw_only=True)
class DryRunAlert:
    """An alert that the configuration would have opened; values are in the base unit of the metric.

    `opens`: when the shortest delay has passed. `ended` is None while the condition is true. `cancelled`: its
    target was deleted.
    """

    target: str
    facts: Mapping[str, Any]
    created: datetime
    opens: datetime
    start_value: float | None
    value: float | None
    ended: datetime | None = None
    cancelled: bool = False

    def ended_by(self, moment: datetime) -> datetime | None:
        """When it ended, if that was by this time."""
        return self.ended if self.ended is not None and self.ended <= moment else None

    def status(self, at: datetime) -> AlertStatus:
        """The status at a time; an alert that ends before it opens is CLOSED or CANCELLED as well."""
        if self.ended_by(at):
            return AlertStatus.CANCELLED if self.cancelled else AlertStatus.CLOSED
        return AlertStatus.OPEN if self.opens <= at else AlertStatus.TRACKING

    def has_opened(self, until: datetime) -> bool:
        """Whether it opens by `until`, and not after its end."""
        return self.opens <= (until if self.ended is None else min(self.ended, until))


@dataclass(frozen=True, slots=True)
class DryRunEvent:
    """An event that opens no alert and would have been notified."""

    id: str | None
    at: datetime
    facts: Mapping[str, Any]


class DryRun:
    """The alerts and events of one configuration, in the order of time. Observations come in that order."""

    def __init__(self, config: ConfigView, delay: timedelta) -> None:
        """`delay`: the shortest delay of its notifications."""
        self.config = config
        self.alerts: list[DryRunAlert] = []
        self.events: list[DryRunEvent] = []
        self._delay = delay
        self._metric = config.metric_threshold.metric if config.metric_threshold else None
        self._active: dict[str, DryRunAlert] = {}

    def target(self, observation: Observation) -> str:
        """The target key of an alert on the observation."""
        return target_of(observation, self._metric)

    def active(self, target: str) -> DryRunAlert | None:
        """The active alert on a target."""
        return self._active.get(target)

    def see(self, at: datetime, observation: Observation) -> None:
        """Decide as evaluation does, and keep the change."""
        if observation.event_type is not self.config.event_type:
            return
        target = self.target(observation)
        alert = self._active.get(target)
        view = AlertView(alert.value, alert.created) if alert else None
        decision = step(self.config, observation, view)
        match decision.action:
            case AlertAction.START:
                self._start(target, observation, at, decision.value)
            case AlertAction.UPDATE if alert:
                alert.value = decision.value
            case AlertAction.CLOSE if alert:
                alert.value = alert.value if decision.value is None else decision.value
                self._end(alert, at)
            case AlertAction.CANCEL if alert:
                self._end(alert, at, cancelled=True)
            case AlertAction.NOTIFY:
                self.events.append(DryRunEvent(observation.event_id, at, observation.facts))

    def remove(self, at: datetime, concerns: Callable[[Mapping[str, Any]], bool]) -> None:
        """Cancel the alerts whose facts `concerns` recognizes, because their target was deleted."""
        for alert in [alert for alert in self._active.values() if concerns(alert.facts)]:
            self._end(alert, at, cancelled=True)

    def _start(self, target: str, observation: Observation, at: datetime, value: float | None) -> None:
        alert = DryRunAlert(
            target=target,
            facts=observation.facts,
            created=at,
            opens=at + self._delay,
            start_value=value,
            value=value,
        )
        self._active[target] = alert
        self.alerts.append(alert)

    def _end(self, alert: DryRunAlert, at: datetime, *, cancelled: bool = False) -> None:
        alert.ended, alert.cancelled = max(at, alert.created), cancelled
        del self._active[alert.target]


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunReceiver:
    """A notification of the configuration and one channel.

    `recipient`: as the log shows it; None for people, because only their `count` is shown. `no_recipients`:
    the reason if there are none. `kinds`: the messages that the channel sends. `for_people`: to the current
    addresses of people.
    """

    position: int
    type_name: str
    channel: str | None
    recipient: str | None
    count: int
    delay: timedelta
    interval: timedelta | None
    kinds: frozenset[MessageKind]
    keeps_state: bool = False
    for_people: bool = False
    no_recipients: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunMessage:
    """A message that would have been due. `sent` is None if it would not have been sent by the end.

    `decided`: when it was sent or dropped, or the end if it still waits. `window_id`: the last maintenance
    window that muted it. `reason`: why it would never have been sent.
    """

    receiver: DryRunReceiver
    kind: MessageKind
    due: datetime
    decided: datetime
    sent: datetime | None = None
    window_id: str | None = None
    reason: str | None = None

    def as_of(self, moment: datetime) -> "DryRunMessage":
        """The message at an earlier time: it waits if it was decided later."""
        return self if self.decided <= moment else replace(self, decided=moment, sent=None, reason=None)


MuteAt = Callable[[datetime], Mute | None]
"""The maintenance that mutes messages about one target at a time."""


def messages_of_alert(
    alert: DryRunAlert, receiver: DryRunReceiver, mute_at: MuteAt, until: datetime
) -> Iterator[DryRunMessage]:
    """Yield the messages to one receiver about an alert, due by `until`, in the order of time.

    Reminders that are due after the end of the alert are left out.
    """
    was_notified = False
    kind, due = MessageKind.OPEN, alert.created + receiver.delay
    while due <= until and kind in receiver.kinds:
        message = _Message(receiver, kind, due, alert).decide(mute_at, until)
        if kind is MessageKind.OPEN or message.sent is not None or message.reason is None:
            yield message
        again = repeat_due(receiver.interval, message.sent) if message.sent else None
        was_notified = was_notified or message.sent is not None
        if again is None:
            break
        kind, due = MessageKind.UPDATE, again
    end = MessageKind.CANCEL if alert.cancelled else MessageKind.CLOSE
    ended = alert.ended_by(until)
    if was_notified and ended and end in receiver.kinds:
        yield _Message(receiver, end, ended, alert).decide(mute_at, until)


def messages_of_event(
    event: DryRunEvent, receiver: DryRunReceiver, mute_at: MuteAt, until: datetime
) -> Iterator[DryRunMessage]:
    """Yield the message to one receiver about an event that opens no alert, if it is due by `until`."""
    due = event.at + receiver.delay
    if due <= until and MessageKind.INFORM in receiver.kinds:
        yield _Message(receiver, MessageKind.INFORM, due).decide(mute_at, until)


Found = DryRunAlert | DryRunEvent
_Waiting = tuple[datetime, int, int, DryRunMessage, Iterator[DryRunMessage]]


def in_order(
    found: Iterable[tuple[datetime, Found]], messages_of: Callable[[Found], Iterable[Iterator[DryRunMessage]]]
) -> Iterator[tuple[datetime, int, DryRunMessage | None]]:
    """Yield alerts or events, each with its time and place, and their messages, in the order of time.

    `found` are in the order of time, and `messages_of` gives the messages of each by receiver, each in
    that order. Nothing is decided before it is due, so the caller can stop at any time.
    """
    waiting: list[_Waiting] = []
    numbers = count()
    for place, (at, each) in enumerate(found):
        yield from _due_before(waiting, at)
        yield at, place, None
        for messages in messages_of(each):
            _wait(waiting, next(numbers), place, messages)
    yield from _due_before(waiting, None)


def _due_before(
    waiting: list[_Waiting], moment: datetime | None
) -> Iterator[tuple[datetime, int, DryRunMessage]]:
    while waiting and (moment is None or waiting[0][0] < moment):
        due, number, place, message, messages = heappop(waiting)
        yield due, place, message
        _wait(waiting, number, place, messages)


def _wait(waiting: list[_Waiting], number: int, place: int, messages: Iterator[DryRunMessage]) -> None:
    """Put the next of the messages into the heap."""
    message = next(messages, None)
    if message is not None:
        heappush(waiting, (message.due, number, place, message, messages))


@dataclass(frozen=True, slots=True)
class _Message:
    receiver: DryRunReceiver
    kind: MessageKind
    due: datetime
    alert: DryRunAlert | None = None

    def decide(self, mute_at: MuteAt, until: datetime) -> DryRunMessage:
        """Decide until the message is sent or dropped, or until the end of the dry run."""
        at, muted_by = self.due, None
        while at <= until:
            notification = self._at(at, mute_at(at))
            verdict = decide_delivery(notification, at)
            if notification.mute and verdict.step is not DeliveryStep.SEND:
                muted_by = notification.mute.window_id
            if verdict.step is DeliveryStep.POSTPONE and verdict.until:
                at = verdict.until
                continue
            if verdict.step is DeliveryStep.SEND and self.receiver.no_recipients is None:
                return self._decided(muted_by, at, sent=at)
            return self._dropped(muted_by, at, verdict.reason or self.receiver.no_recipients)
        # It still waits for the end of a window. The end of its alert drops it at once.
        dropped = drop_reason(self._at(until, None), until)
        return self._dropped(muted_by, until, dropped.value if dropped else None)

    def _at(self, at: datetime, mute: Mute | None) -> DueNotification:
        return DueNotification(
            kind=self.kind,
            status=self.alert.status(at) if self.alert else None,
            keeps_state=self.receiver.keeps_state,
            mute=mute,
        )

    def _dropped(self, window_id: str | None, at: datetime, reason: str | None) -> DryRunMessage:
        ended = self.alert.ended if self.alert and reason else None
        return self._decided(window_id, max(self.due, min(at, ended or at)), reason=reason)

    def _decided(
        self, window_id: str | None, at: datetime, *, sent: datetime | None = None, reason: str | None = None
    ) -> DryRunMessage:
        return DryRunMessage(
            receiver=self.receiver,
            kind=self.kind,
            due=self.due,
            decided=at,
            sent=sent,
            window_id=window_id,
            reason=reason,
        )
