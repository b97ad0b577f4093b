"""Dry runs: the alerts and messages that a configuration would have caused. Nothing is written.

    read ─► fold ─► messages       `dry_run`

Read streams recorded measurements, or events, in the order of time. Fold decides each observation with the
function of evaluation, and messages decides each message with the function of delivery (`rules.dry_run`).
A day in which no value of a host can start or end an alert is not read report by report.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import islice
from threading import BoundedSemaphore
from typing import Any, Final

from django.conf import settings
from django.db import OperationalError, connection, transaction

from alerting.choices import Grouping
from alerting.models import AlertConfig, MaintenanceWindow, NotificationSetting
from alerting.rules.dry_run import (
    NOT_EVALUATED,
    DryRun,
    DryRunAlert,
    DryRunEvent,
    DryRunLimit,
    DryRunMessage,
    DryRunReceiver,
    Found,
    in_order,
    limits_of,
    messages_of_alert,
    messages_of_event,
)
from alerting.rules.dry_run_mutes import DryRunMutes
from alerting.rules.matchers import matches
from alerting.rules.observations import Condition, Observation, of_host
from alerting.rules.thresholds import (
    MetricThreshold,
    ThresholdOperator,
    ThresholdState,
    evaluate_threshold,
    limit_of,
)
from alerting.rules.windows import WindowRule
from alerting.selectors.config_views import config_view
from alerting.selectors.notification_settings import filled, recipient_shown, type_of
from alerting.selectors.recipient_addresses import addresses_of
from alerting.selectors.recorded_events import RecordedEvents
from alerting.selectors.windows import not_over
from automation.models import Host
from automation.selectors.hosts import host_state
from automation.selectors.measurements import newest_measurements
from automation.selectors.recorded_metrics import (
    ReportedValues,
    crossing_values,
    days_between,
    has_old_measurements,
    last_values,
    parts_between,
    sources_above,
    sources_below,
    sources_of_hosts,
)
from events.types import Target
from integrations.channels import CHANNELS
from integrations.choices import OPEN_KINDS, ChannelType, MessageKind
from opsapi.api.errors import ApiError, rate_limited
from opsapi.postgresql.faults import DatabaseFault, database_fault

SECONDS: Final = 10.0
"""The longest dry run."""
_MESSAGE_SECONDS: Final = 2.0
"""The time that is left for messages, however long reading takes."""
_READING_SECONDS: Final = SECONDS - _MESSAGE_SECONDS
AT_ONCE_IN_PROJECT: Final = 2
_AT_ONCE_IN_PROCESS = max(1, settings.OPSAPI_THREADS // 4)
MOST_FOUND: Final = 5_000
"""The most alerts and events of a dry run."""
MOST_MESSAGES: Final = 50_000
"""The most messages of a dry run, reminders included."""
_FOLDED_AT_ONCE = 1_000
"""The most reports between two checks of the time and of what was found."""
_LOCK_CLASS = 0x6472  # "dr": distinguishes these advisory locks from others
_MARGIN = 1e-9
"""Relative distance from a threshold within which a mean of several samples can be on either side."""
_RETRY_SECONDS = 5

_threads = BoundedSemaphore(_AT_ONCE_IN_PROCESS)


class DryRunCut(StrEnum):
    """Why a dry run ended early."""

    TIME = "TIME"
    ALERTS = "ALERTS"
    """More than MOST_FOUND alerts and events."""
    MESSAGES = "MESSAGES"
    """More than MOST_MESSAGES messages."""


@dataclass(frozen=True, slots=True)
class DryRunResult:
    """The result for `start` to `end`; it is complete before `until`, and `cut` says why not to `end`.

    `messages` are by the place of the alert in `alerts`, and after these of the event in `events`.
    """

    start: datetime
    end: datetime
    until: datetime
    cut: DryRunCut | None = None
    limits: Sequence[DryRunLimit] = ()
    receivers: Sequence[DryRunReceiver] = ()
    alerts: Sequence[DryRunAlert] = ()
    events: Sequence[DryRunEvent] = ()
    messages: Sequence[Sequence[DryRunMessage]] = ()
    never_opened: int = 0

    @property
    def evaluated(self) -> bool:
        """Whether the record contains what the configuration asks for."""
        return not NOT_EVALUATED & set(self.limits)


@dataclass(slots=True)
class _Budget:
    """The time of a dry run: statements and steps end at a monotonic time."""

    ends: float
    clock: Callable[[], float]

    @property
    def left(self) -> float:
        return self.ends - self.clock()

    def check(self) -> None:
        """Raises _OutOfTimeError when the time is over."""
        if self.left <= 0:
            raise _OutOfTimeError

    @contextmanager
    def statement(self) -> Iterator[None]:
        """Run statements in a savepoint until the time is over. Raises _OutOfTimeError."""
        self.check()
        try:
            with transaction.atomic(), connection.execute_wrapper(self._timed):
                yield
        except OperationalError as error:
            if database_fault(error) is DatabaseFault.TOO_SLOW:
                raise _OutOfTimeError from None
            raise

    def _timed(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        """Run one of several statements with the time that is left."""
        self.check()
        execute(_SET_TIMEOUT, [str(max(1, int(self.left * 1000)))], False, context)
        return execute(sql, params, many, context)


_SET_TIMEOUT = "SELECT set_config('statement_timeout', %s, true)"


class _OutOfTimeError(Exception):
    pass


def _set_timeout(milliseconds: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_SET_TIMEOUT, [milliseconds])


@contextmanager
def _one_of_few(group_id: str) -> Iterator[None]:
    """Hold one of the places of the process and of the project. Raises ApiError: RATE_LIMITED."""
    if not _threads.acquire(blocking=False):
        note = f"At most {_AT_ONCE_IN_PROCESS} dry runs run in a web process at the same time."
        raise rate_limited(_RETRY_SECONDS, note=note)
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('statement_timeout')")
            (before,) = cursor.fetchone()
            cursor.execute("SET TRANSACTION READ ONLY")
            if not any(_holds(group_id, place) for place in range(AT_ONCE_IN_PROJECT)):
                raise _all_taken()
            yield
            _set_timeout(before)
    finally:
        _threads.release()


def _holds(group_id: str, place: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_try_advisory_xact_lock(%s, hashtext(%s))", [_LOCK_CLASS, f"{group_id} {place}"]
        )
        return bool(cursor.fetchone()[0])


def _all_taken() -> ApiError:
    note = f"At most {AT_ONCE_IN_PROJECT} dry runs of a project run at the same time."
    return rate_limited(_RETRY_SECONDS, note=note)


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
    with _one_of_few(group_id):
        config, receivers = _config_of(group_id, values)
        view = config_view(config)
        limits = limits_of(view)
        if values.get("grouping") == Grouping.TOPOLOGY.value:
            limits.append(DryRunLimit.GROUPING_NOT_APPLIED)
        if NOT_EVALUATED & set(limits):
            return DryRunResult(start, end, end, limits=limits, receivers=receivers)
        delay = min((receiver.delay for receiver in receivers), default=timedelta())
        run = DryRun(view, delay)
        windows = _windows(group_id, view.event_type.spec.category.value, start)
        reading = _Reading(group_id, run, start, end, _Budget(begun + _READING_SECONDS, clock))
        reading.read()
        mutes = DryRunMutes(windows, view, start, end)
        deciding = _Messages(
            run, receivers, mutes, _Budget(max(begun + SECONDS, clock() + _MESSAGE_SECONDS), clock)
        )
        return deciding.result(reading, limits)


# --- configuration --------------------------------------------------------------------------------


def _config_of(group_id: str, values: Mapping[str, Any]) -> tuple[AlertConfig, list[DryRunReceiver]]:
    """The configuration and its receivers, in memory only."""
    columns = ("event_type", "matchers", "metric_threshold", "threshold")
    config = AlertConfig(group_id=group_id, **{name: values[name] for name in columns if name in values})
    receivers: list[DryRunReceiver] = []
    for place, notification in enumerate(values["notifications"]):
        setting = filled(NotificationSetting(config=config), place, notification)
        receivers += _receivers_of(setting, group_id)
    return config, receivers


def _receivers_of(setting: NotificationSetting, group_id: str) -> Iterator[DryRunReceiver]:
    """The notification by channel: people have an e-mail address, a telephone number, or both."""
    if not type_of(setting).for_people:
        shown = recipient_shown(setting, group_id=group_id)
        yield _receiver(setting, ChannelType(setting.type_name), 1 if shown else 0, recipient=shown or None)
        return
    found = addresses_of(setting, group_id=group_id)
    if found.nobody is not None:
        yield _receiver(setting, None, 0, nobody=found.nobody.value)
    # Without their addresses: the caller may not see the contact data of each of these people.
    for channel, count in Counter(address.channel for address in found.addresses).items():
        yield _receiver(setting, channel, count)


def _receiver(
    setting: NotificationSetting,
    channel: ChannelType | None,
    count: int,
    recipient: str | None = None,
    nobody: str | None = None,
) -> DryRunReceiver:
    kinds = CHANNELS[channel].kinds if channel else OPEN_KINDS | {MessageKind.INFORM}
    return DryRunReceiver(
        position=setting.position,
        type_name=setting.type_name,
        channel=channel,
        recipient=recipient,
        count=count,
        delay=setting.delay,
        interval=setting.interval,
        kinds=frozenset(kinds),
        keeps_state=channel is not None and CHANNELS[channel].keeps_state,
        nobody=nobody,
    )


def _windows(group_id: str, category: str, start: datetime) -> list[WindowRule]:
    rows = MaintenanceWindow.objects.filter(
        not_over(start), group_id=group_id, alert_types__contains=[category]
    )
    return [row.rule for row in rows.order_by("id")]


# --- read and fold --------------------------------------------------------------------------------


@dataclass(slots=True)
class _Reading:
    """Reads what is recorded and folds it. Complete until `until`."""

    group_id: str
    run: DryRun
    start: datetime
    end: datetime
    budget: _Budget
    until: datetime = field(init=False)
    cut: DryRunCut | None = None
    limits: list[DryRunLimit] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.until = self.start

    def read(self) -> None:
        read = self._metrics if self.run.config.metric_threshold else self._events
        try:
            for until in read():
                self.until = until
                if len(self.run.alerts) + len(self.run.events) > MOST_FOUND:
                    self.cut = DryRunCut.ALERTS
                    return
                self.budget.check()
            self.until = self.end
        except _OutOfTimeError:
            self.cut = DryRunCut.TIME

    def _events(self) -> Iterator[datetime]:
        """Fold events; yield the time until which all are folded."""
        with self.budget.statement():
            recorded = RecordedEvents(self.group_id, self.run.config.event_type)
            before = recorded.at(self.start)
        if before.cut:
            self.limits.append(DryRunLimit.EARLIER_EVENTS_LEFT_OUT)
        for observation in before.observations:
            self.run.see(self.start, observation)
        yield self.start
        pages = recorded.between(self.start, self.end)
        while True:
            with self.budget.statement():
                page = next(pages, None)
            if page is None:
                return
            for each in page:
                if each.observation:
                    self.run.see(each.at, each.observation)
                elif each.deleted:
                    self.run.remove(
                        each.at, _same_target(self.run.config.event_type.spec.target, each.deleted)
                    )
            if page:
                yield page[-1].at

    def _metrics(self) -> Iterator[datetime]:
        """Fold measurements; yield the time before which all are folded."""
        with self.budget.statement():
            measured = _Measured.read(self.group_id, self.run)
            if has_old_measurements(self.group_id, self.start, self.end):
                self.limits.append(DryRunLimit.MEASUREMENTS_BEING_MOVED)
            newest = newest_measurements(measured.host_ids, until=self.start)
        yield from measured.folded(
            ReportedValues(
                source,
                self.start,
                [number for _, number in newest[host.id].samples.get(measured.threshold.metric, ())],
            )
            for source, host in measured.hosts.items()
            if host.id in newest
        )
        after = self.end + _MICROSECOND
        metric, level = measured.threshold.metric, limit_of(measured.threshold)
        for since, until in days_between(self.start, after):
            with self.budget.statement():
                changing = measured.changing(since, until)
            for begin, finish in parts_between(since, until, len(changing)) if changing else ():
                with self.budget.statement():
                    reports = crossing_values(changing, metric, level, begin, finish)
                yield from measured.folded(reports)
                yield min(finish, self.end)
            yield min(until, self.end)
        with self.budget.statement():
            last = last_values(measured.active, metric, self.start, after)
        measured.fold(last)


_MICROSECOND = timedelta(microseconds=1)


def _same_target(target: Target, deleted: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether facts are about a deleted host or agent, as `services.purge` finds their alerts."""
    names = ("hostname", "sourceTypeName") if target is Target.AGENT else ("hostname", "port")

    def key(facts: Mapping[str, Any]) -> list[object]:
        return [str(facts.get(name, "")).lower() for name in names]

    def same(facts: Mapping[str, Any]) -> bool:
        by_id = target is not Target.AGENT and facts.get("hostId") == deleted.get("hostId", "")
        return by_id or key(facts) == key(deleted)

    return same


@dataclass(frozen=True, slots=True)
class _Measured:
    """The measured hosts that match, with their states and targets, by source."""

    run: DryRun
    threshold: MetricThreshold
    hosts: Mapping[int, Host]
    states: Mapping[int, Mapping[str, Any]]
    targets: Mapping[int, str]

    @classmethod
    def read(cls, group_id: str, run: DryRun) -> "_Measured":
        threshold = run.config.metric_threshold
        if threshold is None:
            raise ValueError(f"{run.config.event_type} has no threshold")
        hosts, states, targets = {}, {}, {}
        for source, host in sources_of_hosts(group_id).items():
            state = host_state(host)
            observed = Observation(run.config.event_type, Condition.MEASURED, state)
            if matches(run.config.matchers, observed.subject).matched:
                hosts[source], states[source], targets[source] = host, state, run.target(observed)
        return cls(run, threshold, hosts, states, targets)

    @property
    def sources(self) -> AbstractSet[int]:
        return self.hosts.keys()

    @property
    def host_ids(self) -> list[str]:
        return [host.id for host in self.hosts.values()]

    @property
    def active(self) -> list[int]:
        """The sources with an active alert."""
        return [source for source, target in self.targets.items() if self.run.active(target)]

    def folded(self, reports: Iterable[ReportedValues]) -> Iterator[datetime]:
        """Fold the reports, some at a time; yield the time before which all are folded."""
        left = iter(reports)
        while some := list(islice(left, _FOLDED_AT_ONCE)):
            self.fold(some)
            yield some[-1].reported

    def fold(self, reports: Iterable[ReportedValues]) -> None:
        """Fold the reports; a report that neither starts nor ends an alert changes only its value."""
        for report in reports:
            verdict = evaluate_threshold(self.threshold, report.values)
            alert = self.run.active(self.targets[report.source])
            if verdict.state is (ThresholdState.OUTSIDE if alert else ThresholdState.INSIDE):
                if alert:
                    alert.value = verdict.value
                continue
            samples = {self.threshold.metric.value: report.values}
            for observation in of_host(self.states[report.source], samples):
                self.run.see(report.reported, observation)

    def changing(self, since: datetime, until: datetime) -> list[int]:
        """The sources with values that may start or end an alert, on one UTC day.

        A mean of several samples is rounded, so values close to the threshold are on both sides.
        """
        metric, limit = self.threshold.metric, limit_of(self.threshold)
        active = self.active
        others = list(self.sources - set(active))
        below, above = limit - abs(limit) * _MARGIN, limit + abs(limit) * _MARGIN
        if self.threshold.operator is ThresholdOperator.GREATER_THAN:
            starting = sources_above(others, metric, below, since, until)
            return starting + sources_below(active, metric, above, since, until)
        starting = sources_below(others, metric, above, since, until)
        return starting + sources_above(active, metric, below, since, until)


# --- messages -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Messages:
    """Decides the messages of what was found, in the order of time."""

    run: DryRun
    receivers: Sequence[DryRunReceiver]
    mutes: DryRunMutes
    budget: _Budget

    def result(self, reading: _Reading, limits: Sequence[DryRunLimit]) -> DryRunResult:
        until, cut = reading.until, reading.cut
        found: list[tuple[datetime, Found]] = [
            *((alert.opens, alert) for alert in self.run.alerts if alert.has_opened(until)),
            *((each.at, each) for each in self.run.events if each.at <= until),
        ]
        if len(found) > MOST_FOUND:
            until, cut = found[MOST_FOUND][0], DryRunCut.ALERTS
        whole = until
        messages: list[list[DryRunMessage]] = []
        count = 0
        for at, place, message in in_order(found[:MOST_FOUND], lambda each: self._of(each, whole)):
            stop = self._stop(count, message)
            if stop:
                # What belongs to this time may be incomplete.
                until, cut = at, stop
                break
            if message is None:
                messages.append([])
            else:
                messages[place].append(message)
                count += 1
        kept = [each for _, each in found[: len(messages)]]
        return DryRunResult(
            start=reading.start,
            end=reading.end,
            until=until,
            cut=cut,
            limits=[*limits, *reading.limits],
            receivers=self.receivers,
            alerts=[each for each in kept if isinstance(each, DryRunAlert)],
            events=[each for each in kept if isinstance(each, DryRunEvent)],
            messages=[[message.as_of(until) for message in some] for some in messages],
            never_opened=sum(
                alert.ended is not None and alert.ended < alert.opens and alert.ended <= until
                for alert in self.run.alerts
            ),
        )

    def _stop(self, count: int, message: DryRunMessage | None) -> DryRunCut | None:
        if self.budget.left <= 0:
            return DryRunCut.TIME
        return DryRunCut.MESSAGES if message and count >= MOST_MESSAGES else None

    def _of(self, found: Found, until: datetime) -> Iterator[Iterator[DryRunMessage]]:
        """The messages by receiver."""
        mutes = self.mutes.of_target(found.facts)
        for receiver in self.receivers:
            if isinstance(found, DryRunAlert):
                yield messages_of_alert(found, receiver, mutes.last, until)
            else:
                yield messages_of_event(found, receiver, mutes.at, until)
