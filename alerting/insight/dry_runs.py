"""Dry runs: the alerts and messages that a configuration would have caused. Nothing is written.

    read and fold  ─►  messages       `dry_run`
    `RecordReading`    `_Messages`

`dry_run_reading` reads recorded measurements, or events, in the order of time, and decides each observation
with the function of evaluation. Each message is decided with the function of delivery (`dry_run_incidents`).
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

from alerting.budgets import Budget, OutOfTimeError, slot_of
from alerting.configs.models import AlertConfig, NotificationSetting
from alerting.configs.recipients import addresses_of
from alerting.configs.store import (
    NoCredentialsError,
    address_config,
    config_view,
    filled,
    recipient_shown,
    setting_credentials,
    type_of,
)
from alerting.destinations.changes import destination_id
from alerting.engine.store import is_below_minimum
from alerting.incidents.fleet_units import alert_units, fleet_around, labels_of_a_part
from alerting.incidents.grouping import incident_wait
from alerting.incidents.topology import FleetUnit, UnitKind, covered_unit
from alerting.insight.dry_run_alerts import (
    NOT_EVALUATED,
    DryRun,
    DryRunAlert,
    DryRunCut,
    DryRunEvent,
    DryRunLimit,
    DryRunMessage,
    DryRunReceiver,
    DryRunSubject,
    limits_of,
    parted,
)
from alerting.insight.dry_run_incidents import DryRunTopology, IncidentRun
from alerting.insight.dry_run_mutes import DryRunMutes
from alerting.insight.dry_run_reading import MOST_FOUND, RecordReading
from alerting.insight.suggestions import (
    FEWEST_ALERTS,
    LONGEST_DELAY_MIN,
    MeasuredAlert,
    Suggestion,
    suggest_delay,
    suggest_threshold,
)
from alerting.insight.threshold_suggestions import means_of
from alerting.windows.models import MaintenanceWindow
from alerting.windows.rules import WindowRule
from alerting.windows.store import unexpired
from alerting.windows.subjects import Subjects, TargetFacts
from automation.measurements.recorded_metrics import SourceSpan, values_within
from automation.metrics import Metric
from events.types import AlertEffect, Target
from integrations.channels import CHANNELS
from integrations.choices import OPEN_KINDS, ChannelType, MessageKind
from opsapi.encryption import CannotDecryptError

SECONDS: Final = 10.0
"""The longest dry run."""
_MESSAGE_SECONDS: Final = 2.0
"""The time that is left for messages, however long reading takes."""
_READING_SECONDS: Final = SECONDS - _MESSAGE_SECONDS
MOST_MESSAGES: Final = 50_000
"""The most messages of a dry run, reminders included."""
MOST_VALUES: Final = 50_000
"""The most values of alerts that are compared with thresholds. With more, no threshold is suggested."""
_MOST_LABELS: Final = 1_000
"""The most labels that can relate the alerts of a dry run, the most frequent first."""


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """The result for `start` to `end`; it is complete before `until`, and `cut` says why not to `end`.

    If alerts are grouped, `leads` has for each alert the place of the first alert of its incident. If no time
    is left for messages, there are none, and `leads` has nothing.
    """

    start: datetime
    end: datetime
    until: datetime
    cut: DryRunCut | None = None
    limits: Sequence[DryRunLimit] = ()
    receivers: Sequence[DryRunReceiver] = ()
    alerts: Sequence[DryRunAlert] = ()
    events: Sequence[DryRunEvent] = ()
    leads: Sequence[int] = ()
    never_opened: int = 0
    suggestions: Sequence[Suggestion] = ()

    @property
    def evaluated(self) -> bool:
        """Whether the record contains what the configuration asks for."""
        return not NOT_EVALUATED & set(self.limits)

    @property
    def all_messages(self) -> list[DryRunMessage]:
        subjects: list[DryRunSubject] = [*self.alerts, *self.events]
        return [message for subject in subjects for message in subject.messages]

    @property
    def sent(self) -> int:
        """The number of messages that would have been sent."""
        return sum(message.number for message in self.all_messages if message.sent is not None)

    @property
    def merged(self) -> int:
        """The number of messages that another notification would have sent to the same address."""
        return sum(message.number for message in self.all_messages if message.merged_into is not None)

    @property
    def not_sent(self) -> int:
        """The number of messages that no receiver would have got by the end."""
        return sum(message.number for message in self.all_messages if not message.is_said)

    @property
    def muted(self) -> int:
        """The number of messages that a maintenance window would have muted, at first or for good."""
        return sum(message.number for message in self.all_messages if message.window_id is not None)


def dry_run(
    *,
    group_id: str,
    values: Mapping[str, Any],
    start: datetime,
    end: datetime,
    clock: Callable[[], float] = time.monotonic,
) -> DryRunResult:
    """Run a configuration over what is recorded from `start` to `end`, as if it was created at `start`.

    `values` are of a valid document, by column. `clock` is monotonic, in seconds.

    Raises:
        ApiError: RATE_LIMITED, when other dry runs leave no room.
    """
    begun = clock()
    with slot_of(group_id):
        config, receivers = _config_of(group_id, values)
        view = config_view(config)
        # An event that opens no alert is notified by itself.
        wait = incident_wait(config) if view.event_type.spec.kind is AlertEffect.OPENING else None
        limits = limits_of(view, wait)
        if NOT_EVALUATED & set(limits):
            return DryRunResult(start, end, end, limits=limits, receivers=receivers)
        delay = min((receiver.delay for receiver in receivers), default=timedelta())
        run = DryRun(view, delay)
        windows = _windows(group_id, view.event_type.spec.category.value, start)
        reading = RecordReading(group_id, run, start, end, Budget(begun + _READING_SECONDS, clock))
        reading.read()
        budget = Budget(max(begun + SECONDS, clock() + _MESSAGE_SECONDS), clock)
        result = _Messages(reading, receivers, windows, budget, wait).result(limits)
        return replace(result, suggestions=list(_suggestions(result, reading, delay, budget)))


# --- configuration --------------------------------------------------------------------------------


def _config_of(group_id: str, values: Mapping[str, Any]) -> tuple[AlertConfig, list[DryRunReceiver]]:
    """The configuration and its receivers, in memory only."""
    columns = (
        *("event_type", "severity", "matchers", "metric_threshold", "threshold"),
        *("grouping", "group_wait_sec"),
    )
    config = AlertConfig(group_id=group_id, **{name: values[name] for name in columns if name in values})
    receivers: list[DryRunReceiver] = []
    for place, notification in enumerate(values["notifications"]):
        setting = filled(NotificationSetting(config=config), place, notification)
        receivers += _receivers_of(setting, group_id)
    return config, receivers


def _receivers_of(setting: NotificationSetting, group_id: str) -> Iterator[DryRunReceiver]:
    """The notification by channel: people have an e-mail address, a telephone number, or both."""
    if not type_of(setting).for_people:
        recipient = recipient_shown(setting, group_id=group_id)
        channel = ChannelType(setting.type_name)
        receiver = replace(_receiver(setting, channel, 1 if recipient else 0), recipient=recipient or None)
        with suppress(NoCredentialsError, CannotDecryptError):  # delivery reports the error
            config = setting_credentials(setting, group_id=group_id).config
            receiver = replace(
                receiver,
                addresses=frozenset([_address(group_id, channel, config)]),
                keeps_state=receiver.keeps_state or CHANNELS[channel].tracks_alerts(config),
            )
        yield receiver
        return
    people = addresses_of(setting, group_id=group_id)
    if people.nobody is not None:
        yield replace(_receiver(setting, None, 0), no_recipients=people.nobody.value)
    # Without their addresses: the caller may not see the contact data of each of these people.
    by_channel: dict[ChannelType, set[str]] = {}
    for address in people.addresses:
        name = _address(group_id, address.channel, address_config(address))
        by_channel.setdefault(address.channel, set()).add(name)
    for channel, names in by_channel.items():
        receiver = _receiver(setting, channel, len(names))
        yield replace(receiver, for_people=True, addresses=frozenset(names))


def _address(group_id: str, channel: ChannelType, config: Mapping[str, str]) -> str:
    """The ID of the destination: of equal addresses the same."""
    return destination_id(group_id=group_id, channel=channel, config=config, is_global=False)


def _receiver(setting: NotificationSetting, channel: ChannelType | None, count: int) -> DryRunReceiver:
    kinds = CHANNELS[channel].kinds if channel else OPEN_KINDS | {MessageKind.INFORM}
    return DryRunReceiver(
        position=setting.position,
        type_name=setting.type_name,
        channel=channel,
        recipient=None,
        count=count,
        delay=setting.delay,
        interval=setting.interval,
        kinds=frozenset(kinds),
        keeps_state=channel is not None and CHANNELS[channel].keeps_state,
        is_below_minimum=is_below_minimum(setting, None),
    )


def _windows(group_id: str, category: str, start: datetime) -> list[WindowRule]:
    rows = MaintenanceWindow.objects.filter(
        unexpired(start), group_id=group_id, alert_types__contains=[category]
    )
    return [row.rule for row in rows.order_by("id")]


# --- messages -------------------------------------------------------------------------------------


@dataclass
class _Messages:
    """Decides the messages of what was found, in the order of time; `wait` is None without grouping."""

    reading: RecordReading
    receivers: Sequence[DryRunReceiver]
    windows: Sequence[WindowRule]
    budget: Budget
    wait: timedelta | None = None

    def result(self, limits: Sequence[DryRunLimit]) -> DryRunResult:
        reading, run = self.reading, self.reading.run
        until, cut = reading.until, reading.cut
        subjects: list[DryRunSubject] = [
            *(alert for alert in run.alerts if alert.has_opened(until)),
            *(event for event in run.events if event.created <= until),
        ]
        if len(subjects) > MOST_FOUND:
            until, cut = subjects[MOST_FOUND].opens, DryRunCut.ALERTS
        if self.wait is not None:
            # Alerts that open together join incidents in the order of their target.
            subjects.sort(key=lambda subject: (subject.opens, subject.target_key))
        del subjects[MOST_FOUND:]
        leads: Sequence[int] = ()
        stopped: DryRunCut | None = DryRunCut.TIME
        # The error comes before the first message if no time is left for messages.
        with suppress(OutOfTimeError):
            incidents = self._incidents(subjects)
            stopped = None
            for at, decides in incidents.steps(until):
                if stopped := self._stop(incidents.count, decides):
                    # The messages of this time may be incomplete.
                    until = at
                    break
            del subjects[incidents.opened :]
            leads = incidents.complete(until)
        ends = [(alert.ended_by(until), alert.opens) for alert in run.alerts]
        return DryRunResult(
            start=reading.start,
            end=reading.end,
            until=until,
            cut=stopped or cut,
            limits=[*limits, *reading.limits],
            receivers=self.receivers,
            alerts=[subject for subject in subjects if isinstance(subject, DryRunAlert)],
            events=[subject for subject in subjects if isinstance(subject, DryRunEvent)],
            leads=leads,
            never_opened=sum(ended is not None and ended < opens for ended, opens in ends),
        )

    def _incidents(self, subjects: Sequence[DryRunSubject]) -> IncidentRun:
        """Raises OutOfTimeError."""
        with self.budget.statement():
            mutes = self._mutes(subjects)
        for subject in subjects:
            subject.mutes = mutes.of_target(subject.facts)
        alerts = [subject for subject in subjects if isinstance(subject, DryRunAlert)]
        topology = self._related(alerts, self.wait) if self.wait is not None else None
        return IncidentRun(subjects, list(chain.from_iterable(parted(self.receivers))), topology)

    def _mutes(self, subjects: Sequence[DryRunSubject]) -> DryRunMutes:
        group_id = self.reading.group_id
        matched = Subjects(self.windows, (TargetFacts(group_id, subject.facts) for subject in subjects))
        return DryRunMutes(
            self.windows,
            lambda facts: matched.of(TargetFacts(group_id, facts)),
            self.reading.start,
            self.reading.end,
            self.budget.check,
        )

    def _stop(self, count: int, adds: bool) -> DryRunCut | None:
        if self.budget.left <= 0:
            return DryRunCut.TIME
        return DryRunCut.NOTIFICATIONS if adds and count >= MOST_MESSAGES else None

    def _related(self, alerts: Sequence[DryRunAlert], wait: timedelta) -> DryRunTopology:
        """Set what relates the alerts, and return the topology that groups them."""
        with self.budget.statement():
            units = alert_units(alerts)
            for alert in alerts:
                alert.units = units[alert.id]
            target = self.reading.run.config.event_type.spec.target
            return _topology(self.reading.group_id, target, [alert.units for alert in alerts], wait)


# --- suggestions ----------------------------------------------------------------------------------


def _suggestions(
    result: DryRunResult, reading: RecordReading, delay: timedelta, budget: Budget
) -> Iterator[Suggestion]:
    """Yield the changes that would have halved the alerts, without losing a long alert."""
    ends = [(alert.created, alert.ended_by(result.until)) for alert in result.alerts]
    lengths = [end - created for created, end in ends if end is not None]
    minutes = range(1, LONGEST_DELAY_MIN + 1)
    shorter = [sum(length < timedelta(minutes=minute) for length in lengths) for minute in minutes]
    if suggested_delay := suggest_delay(len(result.alerts), shorter, delay=delay):
        yield suggested_delay
    threshold = reading.run.config.metric_threshold
    if threshold is None or len(result.alerts) < FEWEST_ALERTS:
        return
    try:
        measured = _measured(result, reading.sources, threshold.metric, budget)
    except OutOfTimeError:
        return
    if suggested_threshold := suggest_threshold(threshold, measured, delay=delay):
        yield suggested_threshold


def _measured(
    result: DryRunResult, sources: Mapping[str, int], metric: Metric, budget: Budget
) -> list[MeasuredAlert]:
    """The values of each alert; none if there are too many. Raises OutOfTimeError."""
    spans = [
        SourceSpan(sources[alert.target_key], alert.created, alert.ended_by(result.until) or result.until)
        for alert in result.alerts
    ]
    with budget.statement():
        values = values_within(spans, metric, most=MOST_VALUES)
    if values is None:
        return []
    return [
        MeasuredAlert(span.since, span.until, [(span.since, alert.start_value), *means_of(reports)])
        for alert, span, reports in zip(result.alerts, spans, values, strict=True)
        if alert.start_value is not None
    ]


def _topology(
    group_id: str, target: Target, units: Sequence[frozenset[FleetUnit]], wait: timedelta
) -> DryRunTopology:
    """The fleet as it is now, as far as it decides what messages about alerts on these units say."""
    covered = {unit for of_alert in units if (unit := covered_unit(target, of_alert))}
    # Repeated alerts of a host have the same units.
    distinct = dict.fromkeys(units)
    held = Counter(unit for of_alert in distinct for unit in of_alert if unit.kind is UnitKind.LABEL)
    shared = [label for label, count in held.most_common(_MOST_LABELS) if count > 1]
    labels = labels_of_a_part(group_id, shared)
    return DryRunTopology(target, wait, fleet_around(group_id, covered), labels)
