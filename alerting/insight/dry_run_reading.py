"""Reads what is recorded for a dry run, and folds it with the function of evaluation, in the order of time.

A day in which no value of a host can start or end an alert is not read report by report.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from alerting.budgets import Budget, OutOfTimeError
from alerting.configs.matchers import matches
from alerting.configs.rules import (
    MetricThreshold,
    ThresholdOperator,
    ThresholdState,
)
from alerting.engine.observations import METRICS_GONE, Condition, Observation, of_samples
from alerting.insight.dry_run_alerts import DryRun, DryRunCut, DryRunLimit
from alerting.insight.recorded_events import RecordedEvents
from automation.choices import Tier
from automation.hosts.store import host_state
from automation.measurements.recorded_metrics import (
    RecordedMetric,
    ReportedValues,
    days_between,
    has_old_measurements,
    sources_of_hosts,
)
from automation.measurements.store import newest_measurements
from automation.measurements.tiers import MINUTES
from automation.metrics import Metric
from automation.models import Host
from events.types import Target

MOST_FOUND: Final = 5_000
"""The most alerts and events of a dry run."""
_FOLDED_AT_ONCE = 1_000
"""The most reports between two checks of the time and of what was found."""
_MARGIN = 1e-9
"""Relative distance from a threshold within which a mean of several samples can be on either side."""


@dataclass(slots=True)
class RecordReading:
    """Reads what is recorded and folds it. Complete until `until`."""

    group_id: str
    run: DryRun
    start: datetime
    end: datetime
    budget: Budget
    until: datetime = field(init=False)
    cut: DryRunCut | None = None
    limits: list[DryRunLimit] = field(default_factory=list)
    sources: dict[str, int] = field(default_factory=dict)
    """The sources of measurements, by target."""

    def __post_init__(self) -> None:
        self.until = self.start

    def read(self) -> None:
        read = self._metrics if self.run.config.metric else self._events
        try:
            with self.budget.statement():
                for until in read():
                    self.until = until
                    if len(self.run.alerts) + len(self.run.events) > MOST_FOUND:
                        self.cut = DryRunCut.ALERTS
                        return
                    self.budget.check()
            self.until = self.end
        except OutOfTimeError:
            self.cut = DryRunCut.TIME

    def _events(self) -> Iterator[datetime]:
        """Fold events; yield the time until which all are folded."""
        recorded = RecordedEvents(self.group_id, self.run.config.event_type)
        observations, is_cut = recorded.at(self.start)
        if is_cut:
            self.limits.append(DryRunLimit.EARLIER_EVENTS_LEFT_OUT)
        for observation in observations:
            self.budget.check()
            self.run.see(self.start, observation)
        yield self.start
        for page in recorded.between(self.start, self.end):
            for event in page:
                self.budget.check()
                if event.observation:
                    self.run.see(event.at, event.observation)
                elif event.deleted:
                    self.run.remove(
                        event.at, _same_target(self.run.config.event_type.spec.target, event.deleted)
                    )
            if page:
                yield page[-1].at

    def _metrics(self) -> Iterator[datetime]:
        """Fold measurements; yield the time before which all are folded."""
        measured = _Measured.of(sources_of_hosts(self.group_id), self.run, self.budget)
        metric, level = measured.threshold.metric, measured.threshold.limit
        after = self.end + _MICROSECOND
        recorded = RecordedMetric.held(metric, self.start, after)
        self.limits += [_MEANS[minutes] for minutes in sorted(recorded.bucket_minutes)]
        if has_old_measurements(self.group_id, self.start, self.end):
            self.limits.append(DryRunLimit.MEASUREMENTS_BEING_MOVED)
        newest = newest_measurements(
            [host.id for host in measured.hosts.values()], until=self.start, metrics=[metric]
        )
        self.sources = {target: source for source, target in measured.targets.items()}
        yield from measured.folded(
            ReportedValues(
                source,
                self.start,
                [number for _, number in newest[host.id].samples.get(metric, ())],
            )
            for source, host in measured.hosts.items()
            if host.id in newest
        )
        roles = self._role_changes(metric)
        for since, until in _cut(days_between(self.start, after), roles):
            if changes := roles.get(since):
                measured.fold(recorded.last_values(measured.active, self.start, since))
                for observation in changes:
                    self.run.see(since, observation)
            changing = measured.changing(recorded, since, until)
            for begin, finish in recorded.parts_between(since, until, len(changing)) if changing else ():
                yield from measured.folded(recorded.crossing_values(changing, level, begin, finish))
                yield min(finish, self.end)
            yield min(until, self.end)
        measured.fold(recorded.last_values(measured.active, self.start, after))

    def _role_changes(self, metric: Metric) -> Mapping[datetime, Sequence[Observation]]:
        """By time, the new roles of hosts that end alerts about the metric."""
        roles: dict[datetime, list[Observation]] = {}
        if any(metric in ended for ended in METRICS_GONE.values()):
            recorded = RecordedEvents(self.group_id, self.run.config.event_type)
            for page in recorded.between(self.start, self.end):
                for event in page:
                    if event.observation and metric.value in event.observation.samples:
                        roles.setdefault(event.at, []).append(event.observation)
        return roles


_MICROSECOND = timedelta(microseconds=1)
_MEANS: Final = {
    MINUTES[Tier.PT5M]: DryRunLimit.MEANS_OF_FIVE_MINUTES,
    MINUTES[Tier.PT1H]: DryRunLimit.MEANS_OF_AN_HOUR,
}


def _cut(
    spans: Iterable[tuple[datetime, datetime]], moments: Collection[datetime]
) -> Iterator[tuple[datetime, datetime]]:
    """Split half-open ranges at these times."""
    for since, until in spans:
        begin = since
        for moment in sorted(moment for moment in moments if since < moment < until):
            yield begin, moment
            begin = moment
        yield begin, until


def _same_target(target: Target, deleted: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether facts are about a deleted host or agent, as `engine.purge` finds their alerts."""
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
    budget: Budget
    threshold: MetricThreshold
    hosts: Mapping[int, Host]
    states: Mapping[int, Mapping[str, Any]]
    targets: Mapping[int, str]

    @classmethod
    def of(cls, sources: Mapping[int, Host], run: DryRun, budget: Budget) -> "_Measured":
        """Raises OutOfTimeError."""
        threshold = run.config.metric_threshold
        if threshold is None:
            raise ValueError(f"{run.config.event_type} has no threshold")
        hosts, states, targets = {}, {}, {}
        for source, host in sources.items():
            budget.check()
            state = host_state(host)
            observed = Observation(run.config.event_type, Condition.MEASURED, state)
            if matches(run.config.matchers, observed.subject):
                hosts[source], states[source], targets[source] = host, state, run.target(observed)
        return cls(run, budget, threshold, hosts, states, targets)

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
        """Fold the reports; a report that neither starts nor ends an alert changes only its value.

        Raises OutOfTimeError.
        """
        for report in reports:
            target, verdict = self.targets[report.source], self.threshold.verdict_on(report.values)
            alert = self.run.active(target)
            if verdict.state is (ThresholdState.OUTSIDE if alert else ThresholdState.INSIDE):
                if alert:
                    alert.value = verdict.value
                continue
            self.budget.check()
            samples = {self.threshold.metric.value: report.values}
            for observation in of_samples(self.states[report.source], samples):
                self.run.see(report.reported, observation, target)

    def changing(self, recorded: RecordedMetric, since: datetime, until: datetime) -> list[int]:
        """The sources with values that may start or end an alert, on one UTC day.

        A mean of several samples is rounded, so values close to the threshold are on both sides.
        """
        limit = self.threshold.limit
        above = self.threshold.operator is ThresholdOperator.GREATER_THAN
        margin = abs(limit) * (_MARGIN if above else -_MARGIN)
        active = self.active
        others = list(self.hosts.keys() - set(active))
        starting = recorded.sources_beyond(others, limit - margin, since, until, above=above)
        return starting + recorded.sources_beyond(active, limit + margin, since, until, above=not above)
