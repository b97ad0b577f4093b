"""What an alert configuration would have done with recorded observations. Pure.

`DryRun` folds the observations in the order of time with `transition.step`, the function of evaluation.
`dry_run_incidents` decides the messages.
"""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from alerting.engine.observations import Observation
from alerting.engine.rules import SameDestination
from alerting.engine.transition import AlertAction, AlertView, ConfigView, step, target_of
from alerting.incidents.choices import AlertStatus
from alerting.incidents.topology import FleetUnit
from alerting.insight.dry_run_mutes import TargetMutes
from events.types import EVENT_TYPES, AlertEffect, EventType, Needs, Target
from integrations.choices import MessageKind


class DryRunLimit(StrEnum):
    """Why a dry run can differ from what would have happened, or why there is nothing to evaluate.

    The name is its code in the API, the value its sentence.
    """

    NOT_RECORDED = "The platform does not record when this condition began and ended."
    NOT_PRODUCED = "Nothing makes events of this type."
    CURRENT_FACTS = "Matchers and grouping use the hosts as they are now."
    CURRENT_WINDOWS = "Maintenance windows and recipients are as they are now."
    DELETED_HOSTS_LEFT_OUT = "Measurements of deleted hosts are not kept; alerts on these hosts are missing."
    ENDS_NOT_RECORDED = (
        "The record does not show when a replica set or cluster lost its last host, which cancels its alerts."
    )
    EARLIER_EVENTS_LEFT_OUT = (
        "Too many events were recorded before the start; a condition that was already true then can be "
        "missing."
    )
    MEANS_OF_FIVE_MINUTES = (
        "Older days are kept as means of five minutes: alerts about shorter peaks are missing, and an alert "
        "opens and ends up to five minutes later."
    )
    MEANS_OF_AN_HOUR = (
        "Older days are kept as means of an hour: alerts about shorter peaks are missing, and an alert opens "
        "and ends up to an hour later."
    )
    MEASUREMENTS_BEING_MOVED = "Measurements of an earlier version are still being moved and are left out."


NOT_EVALUATED = frozenset({DryRunLimit.NOT_RECORDED, DryRunLimit.NOT_PRODUCED})
_WITHOUT_RECORD = frozenset({EventType.USERS_WITHOUT_MULTI_FACTOR_AUTH, EventType.ORG_USERS_WITHOUT_MFA})


def limits_of(config: ConfigView, wait: timedelta | None = None) -> list[DryRunLimit]:
    """The limits that follow from the configuration alone.

    `wait` is how long messages wait for more alerts of their incident; None if no other alert can join it.
    """
    spec = EVENT_TYPES[config.event_type]
    if not spec.produced:
        return [DryRunLimit.NOT_PRODUCED]
    if spec.needs is Needs.THRESHOLD or config.event_type in _WITHOUT_RECORD:
        return [DryRunLimit.NOT_RECORDED]
    limits = [DryRunLimit.CURRENT_WINDOWS]
    if config.matchers or wait is not None:
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


NEVER_MUTED = TargetMutes((), datetime.max.replace(tzinfo=UTC))


@dataclass(slots=True, kw_only=True, eq=False)
class DryRunAlert:
    """An alert that the configuration would have opened; values are in the base unit of the metric.

    `opens`: when the shortest delay has passed. `ended` is None while the condition is true. `cancelled`: its
    target was deleted. `mutes`: when its target is muted. `messages`: if it is the first of its incident.
    `units`: the units that it concerns, if alerts are grouped. `follows`: when it began, the alert before it
    on the same target ended.

    It is an alert of the ledger: `incident_id`, `status` and `resolved` are the state at the time of the run.
    """

    id: str
    target_key: str
    facts: Mapping[str, Any]
    created: datetime
    opens: datetime
    start_value: float | None
    value: float | None
    ended: datetime | None = None
    cancelled: bool = False
    mutes: TargetMutes = NEVER_MUTED
    messages: list["DryRunMessage"] = field(default_factory=list)
    units: frozenset[FleetUnit] = frozenset()
    follows: bool = False
    incident_id: str | None = None
    status: str = AlertStatus.TRACKING.value
    resolved: datetime | None = None
    group_id: str = ""
    config_id: str = ""

    @property
    def updated(self) -> datetime:
        """When the ledger reads it: its opening."""
        return self.opens

    @property
    def opens_before_ends(self) -> bool:
        """Whether it joins its incident before the alerts that end at this time leave, as in evaluation."""
        return self.ended == self.opens if self.opens > self.created else not self.follows

    def ended_by(self, moment: datetime) -> datetime | None:
        """When it ended, if that was by this time."""
        return self.ended if self.ended is not None and self.ended <= moment else None

    def status_at(self, at: datetime) -> AlertStatus:
        """The status at a time; an alert that ends before it opens is CLOSED or CANCELLED as well."""
        if self.ended_by(at):
            return self.end_status
        return AlertStatus.OPEN if self.opens <= at else AlertStatus.TRACKING

    @property
    def end_status(self) -> AlertStatus:
        return AlertStatus.CANCELLED if self.cancelled else AlertStatus.CLOSED

    def has_opened(self, until: datetime) -> bool:
        """Whether it opens by `until`, and not after its end."""
        return self.opens <= (until if self.ended is None else min(self.ended, until))


@dataclass(slots=True, eq=False)
class DryRunEvent:
    """An event that opens no alert and would have been notified; it is as if an alert opened and never ended.

    `mutes`: when its target is muted. `messages`: about the event.
    """

    id: str | None
    created: datetime
    facts: Mapping[str, Any]
    mutes: TargetMutes = NEVER_MUTED
    messages: list["DryRunMessage"] = field(default_factory=list)
    target_key = ""
    ended = None
    opens_before_ends = True

    @property
    def opens(self) -> datetime:
        return self.created


DryRunSubject = DryRunAlert | DryRunEvent
"""An alert or event that messages are about."""


class DryRun:
    """The alerts and events of one configuration, in the order of time. Observations come in that order."""

    def __init__(self, config: ConfigView, delay: timedelta) -> None:
        """`delay`: the shortest delay of its notifications."""
        self.config = config
        self.alerts: list[DryRunAlert] = []
        self.events: list[DryRunEvent] = []
        self._delay = delay
        self._metric = config.metric
        self._active: dict[str, DryRunAlert] = {}
        self._ended: dict[str, datetime] = {}
        """When the last alert ended, by target."""

    def target(self, observation: Observation) -> str:
        """The target key of an alert on the observation."""
        return target_of(observation, self._metric)

    def active(self, target: str) -> DryRunAlert | None:
        """The active alert on a target."""
        return self._active.get(target)

    def see(self, at: datetime, observation: Observation, target: str = "") -> None:
        """Decide as evaluation does, and keep the change. `target` is the target key, if it is known."""
        if observation.event_type is not self.config.event_type:
            return
        target = target or self.target(observation)
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
            id=f"{len(self.alerts):024x}",
            target_key=target,
            facts=observation.facts,
            created=at,
            opens=at + self._delay,
            start_value=value,
            value=value,
            follows=self._ended.get(target) == at,
        )
        self._active[target] = alert
        self.alerts.append(alert)

    def _end(self, alert: DryRunAlert, at: datetime, *, cancelled: bool = False) -> None:
        self._ended[alert.target_key] = alert.ended = max(at, alert.created)
        alert.cancelled = cancelled
        del self._active[alert.target_key]


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRunReceiver:
    """A notification of the configuration and one channel.

    `recipient`: as the log shows it; None for people, because only their `count` is shown. `no_recipients`:
    the reason if there are none. `kinds`: the messages that the channel sends. `for_people`: to the current
    addresses of people. `addresses`: the IDs of their destinations; messages to receivers with the same
    addresses are merged (`parted`). `is_below_minimum`: the severity of the configuration is lower than the
    minimum of the notification.
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
    addresses: frozenset[str] = frozenset()
    is_below_minimum: bool = False


def parted(receivers: Sequence[DryRunReceiver]) -> list[list[DryRunReceiver]]:
    """Part receivers by address: the parts in a list have the same addresses, and no others have these.

    The lists, and the parts in each, are in the order of the receivers. A receiver without addresses is
    alone.
    """
    reached: dict[str, list[int]] = {}
    for place, receiver in enumerate(receivers):
        for address in sorted(receiver.addresses):
            reached.setdefault(address, []).append(place)
    parts: dict[tuple[int, ...], set[str]] = {
        (place,): set() for place, receiver in enumerate(receivers) if not receiver.addresses
    }
    for address, places in reached.items():
        parts.setdefault(tuple(places), set()).add(address)
    return [
        [_part(receivers[place], addresses) for place in places]
        for places, addresses in sorted(parts.items())
    ]


def _part(receiver: DryRunReceiver, addresses: AbstractSet[str]) -> DryRunReceiver:
    if receiver.addresses == addresses:
        return receiver
    return replace(receiver, addresses=frozenset(addresses), count=len(addresses))


@dataclass(slots=True, eq=False)
class DryRunMessage:
    """A message that would have been due. `sent` is None if it would not have been sent by the end.

    `at`: when it is decided; `order`: the order of creation; `changed`: the time of the change of its
    incident that it is about. `window_id`: the last maintenance window that muted it. `reason`: why it would
    never have been sent. `merged_into`: the position of the notification that sent the same message to the
    same addresses.
    """

    receiver: DryRunReceiver
    kind: MessageKind
    due: datetime
    at: datetime
    order: int
    changed: datetime | None = None
    sent: datetime | None = None
    window_id: str | None = None
    reason: str | None = None
    merged_into: int | None = None

    @property
    def is_said(self) -> bool:
        """Whether its receiver got the message, by this or another notification."""
        return self.sent is not None or self.merged_into is not None

    @property
    def is_reminder(self) -> bool:
        return self.kind is MessageKind.UPDATE and self.changed is None

    @property
    def number(self) -> int:
        """How many messages this is: one for each address."""
        return max(1, self.receiver.count)

    @property
    def same(self) -> SameDestination:
        """The message as the rule of merging takes it."""
        return SameDestination(
            id=str(self.order),
            setting_id=str(self.receiver.position),
            kind=self.kind,
            created=self.changed or self.due,
            is_change=self.changed is not None,
            interval=self.receiver.interval,
            delivered=self.sent,
        )
