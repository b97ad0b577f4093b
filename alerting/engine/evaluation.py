"""Evaluation: from signals to alerts.

    evaluate_signals            the turn of one project (`group_id`), in one transaction
      _evaluate_turn            read its oldest signals; consecutive signals with the same work are a batch
        _evaluate_or_set_aside  evaluate each batch in a savepoint; divide a batch that fails into halves
          _compare_…            collect everything that the batch needs
            _Evaluation.run     decide signal by signal in memory, and apply the changes of many together
    open_tracked                open the alerts whose delay has passed
    close_over                  close the alerts that ended according to late reports

A turn ends when its time is over or it has many rows to write, also within a signal. What was decided is
written, and in the same transaction the place at which the next turn continues
(`engine.rules.Progress`). So a crash neither loses nor repeats anything, and other projects have turns
in between. Later signals of the project wait. A signal is divided between configurations, because alerts of
one configuration can form an incident; only a configuration that takes a whole turn is divided between
targets.

Reports, timeouts and changes by users write signals (`events.models.Signal`). `turn_take` locks the project
that has waited longest (`engine.turns`). `_compare_…` reads observations, configurations and active alerts;
the number of queries does not grow with the number of signals. Configurations stay in memory until they
change (`configs.store`). `engine.transition.step` decides each pair of an observation and a
configuration.

The worker calls these three functions in a loop. `delivery` sends the notifications that they schedule.
"""

import logging
import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum, auto
from itertools import chain, groupby
from operator import attrgetter
from typing import Any, NamedTuple

from django.db import transaction

from alerting.configs.coverage import configs_evaluate_after, configs_evaluate_later
from alerting.configs.locks import try_lock
from alerting.configs.store import (
    OpeningSize,
    concerned_indexes,
    configs_with_ids,
    indexes_of,
    opening_sizes,
)
from alerting.engine.absence import LONGEST_PAUSE
from alerting.engine.config_index import NO_CONFIGS, ConfigIndex
from alerting.engine.confirmation import (
    IS_CONFIRMED,
    IS_OF_AGENT,
    LATE_BY_AGENT,
    confirmed_since,
    oldest_signal,
)
from alerting.engine.fan_out import comes_from_organization, fan_out
from alerting.engine.observations import Observation
from alerting.engine.postgresql import POSTGRESQL
from alerting.engine.purge import emptied_clusters_alerts_cancel
from alerting.engine.queues import PROJECTS_WITH_OVER, PROJECTS_WITH_TRACKED
from alerting.engine.rules import Clock, Place, Progress, TimeSlice
from alerting.engine.schedule import OneShot, schedule_one_shots
from alerting.engine.share_counts import usage_add
from alerting.engine.signal_observations import (
    TooManyWaitError,
    UnevaluatedSignals,
    observations_of,
    observations_of_fleet,
)
from alerting.engine.transition import (
    AlertAction,
    AlertView,
    ConfigView,
    Decision,
    step,
    target_of,
)
from alerting.engine.turns import Turn, signals_delete, turn_skip, turn_take
from alerting.engine.usage_rules import LEAST_COUNTED_SECONDS
from alerting.incidents.changes import (
    INCIDENTS,
    AlertChanges,
    AlertEnd,
    NewAlert,
    alerts_cancel,
    alerts_change,
    alerts_close_over,
    alerts_open,
    cancelled_incidents_end,
)
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import Alert
from alerting.reasons import AlertReason
from automation.hosts.versions import version_marks_update
from automation.metrics import Metric
from events.choices import SignalKind
from events.models import Signal
from events.outbox.changes import LATE
from events.types import EventType
from opsapi.api.principal import SYSTEM
from opsapi.postgresql.faults import is_transient
from opsapi.sql import fetch_rows

logger = logging.getLogger("opsapi.evaluation")

EVALUATION_SECONDS = 0.5
"""After this time a turn decides nothing more, because its locks last until the turn ends.

Deciding may take as long as reading, if that is longer.
"""
ROWS_AT_ONCE = 500
"""Changes are written when they are at least this many alerts and notifications."""
ROWS_IN_TURN = 500
"""After a configuration with which a turn has to write this many alerts and notifications, it decides nothing
more. ROWS_AT_ONCE rows of a configuration can follow."""
ACTIVE_AT_ONCE = 20_000
"""The most active alerts that are read together."""
PAIRS_AT_ONCE = 20_000
"""The most pairs of a changed configuration and a part of the fleet that are compared together."""
ROWS_OF_GROUPING = 25
"""Alerts of a configuration that join incidents together count as this many rows more: all open incidents of
the configuration are compared with them."""
OPENED_AT_ONCE = 100
"""The most alerts that one call of `open_tracked` opens."""


# --- take and dispatch ----------------------------------------------------------------------------


class _Work(Enum):
    """The work for a signal. Consecutive signals with the same work are evaluated together, except _ALONE."""

    FAN_OUT = auto()
    """Notify of an event without a project under the global configurations, and copy it to projects."""
    VERSIONS = auto()
    """Mark again which hosts and agents are outdated, because the newest versions have changed."""
    CLUSTERS_LEFT = auto()
    """Hosts have left clusters: cancel the alerts of empty clusters, then continue as for OBSERVATIONS."""
    OBSERVATIONS = auto()
    """Compare the observations of an event or a report with the configurations."""
    CONFIGS = auto()
    """Compare a changed configuration with the current fleet."""
    CANCELLED = auto()
    """End the incidents of cancelled alerts."""


_ENDS_TURN = frozenset({_Work.FAN_OUT, _Work.VERSIONS})
"""Work after which the turn ends, because it writes many signals or locks many rows."""
_ALONE = _ENDS_TURN | {_Work.CLUSTERS_LEFT, _Work.CANCELLED}
"""Work that is done for one signal at a time. CLUSTERS_LEFT changes alerts in the database, so the active
alerts for later signals are read after it."""
INCIDENTS_AT_ONCE = 10
"""The cancelled incidents that end together: each can have dozens of messages."""


def _work_of(signal: Signal) -> _Work:
    if signal.group_id is None:
        return _Work.FAN_OUT
    if signal.kind == SignalKind.VERSIONS.value:
        return _Work.VERSIONS
    if signal.kind == SignalKind.CONFIG.value:
        return _Work.CONFIGS
    if signal.kind == SignalKind.CANCELLED.value:
        return _Work.CANCELLED
    return _Work.CLUSTERS_LEFT if signal.payload.get("clustersLeft") else _Work.OBSERVATIONS


def evaluate_signals(
    *, now: datetime, absent_since: datetime | None = None, clock: Clock = time.monotonic
) -> int:
    """Evaluate the oldest signals of one project, or the oldest signal without a project.

    Projects take turns: the project that used least of the workers' time comes first. So a project with many
    signals or configurations delays only itself. A turn ends after EVALUATION_SECONDS by the monotonic
    `clock` or after ROWS_IN_TURN rows, also within a signal.

    While the platform waits for reports because it was away (`absent_since`), an alert from a signal that has
    waited longer than LONGEST_PAUSE opens only if neither later signals nor reports end it (`open_tracked`).

    Return 0 if there is no turn: no signal waits, other workers have locked every waiting project, or a
    global configuration is being written, which may apply to every project. Otherwise return the number of
    signals that were read or dropped, at least 1.

    Raises:
        DatabaseError, InterfaceError: the database has a transient fault. The turn is undone, and other
            projects come first.
    """
    turn, began = None, clock()
    try:
        with transaction.atomic():
            turn = turn_take(now=now)
            old_before = now - LONGEST_PAUSE if absent_since else None
            return 0 if turn is None else _evaluate_turn(turn, now, old_before, clock)
    except Exception:
        # The rollback has undone the turn. Without a skip, the same project would be first again.
        if turn is not None:
            turn_skip(turn.group_id, now=now)
            _count_usage(turn, clock() - began, None, now)
        raise


def _evaluate_turn(turn: Turn, now: datetime, old_before: datetime | None, clock: Clock) -> int:
    # The receivers that were notified of the alerts of a deleted project are notified of their end.
    if turn.project_is_deleted and (dropped := turn.drop_signals()):
        return dropped
    time_slice = TimeSlice(clock, EVALUATION_SECONDS, rows=ROWS_IN_TURN)
    signals, progress = turn.next_signals(), None
    for (work, _), batch in groupby(signals, key=_batch_key):
        given = _Batch(work, list(batch), turn.progress, old_before)
        done = _evaluate_or_set_aside(given, now, time_slice)
        progress = done.progress
        if not done.is_whole or work in _ENDS_TURN or time_slice.is_over():
            break
    turn.keep(progress)
    _count_usage(turn, time_slice.used(), time_slice.costs.dearest(), now)
    # Not 0, which means that no project waits: another worker may have evaluated all signals of this project
    # before this transaction locked it.
    return len(signals) or 1


def _count_usage(turn: Turn, seconds: float, config_id: str | None, now: datetime) -> None:
    if turn.group_id and seconds >= LEAST_COUNTED_SECONDS:
        usage_add(group_id=turn.group_id, seconds=seconds, config_id=config_id, now=now)


def _batch_key(signal: Signal) -> tuple[_Work, int | None]:
    work = _work_of(signal)
    return work, signal.pk if work in _ALONE else None


class _Batch(NamedTuple):
    """Consecutive signals with the same work. `progress`: what earlier turns have done of it.

    Alerts from observations before `old_before` do not open at once. None if there are none so old.
    """

    work: _Work
    signals: Sequence[Signal]
    progress: Progress | None
    old_before: datetime | None

    @property
    def group_id(self) -> str:
        """The project; empty for a fan-out."""
        return self.signals[0].group_id or ""


class _Done(NamedTuple):
    """What was done of a batch. `progress`: where the next turn continues, if it is within a signal."""

    is_whole: bool
    progress: Progress | None = None


def _evaluate_or_set_aside(batch: _Batch, now: datetime, time_slice: TimeSlice) -> _Done:
    """Evaluate signals until the time is over, and delete the evaluated signals.

    A transient fault of the database is raised. After any other error, each half is evaluated separately, the
    second half only if the first is done. A single signal that fails is set aside: it blocks no other signal,
    and the console lists it.
    """
    signals = batch.signals
    try:
        with transaction.atomic():
            evaluated, progress = _evaluate_batch(batch, now, time_slice)
            signals_delete(evaluated)
            return _Done(len(evaluated) == len(signals), progress)
    except Exception as error:
        if is_transient(error):
            raise
        if len(signals) > 1:
            logger.warning(
                "%d signals failed together; each half is evaluated separately", len(signals), exc_info=True
            )
            middle = len(signals) // 2
            # The halves start from the beginning. Pairs that earlier turns decided change nothing again,
            # because their alerts are stored.
            first, second = (
                batch._replace(signals=half, progress=None) for half in (signals[:middle], signals[middle:])
            )
            done = _evaluate_or_set_aside(first, now, time_slice)
            if not done.is_whole or time_slice.is_over():
                return _Done(is_whole=False, progress=done.progress)
            return _evaluate_or_set_aside(second, now, time_slice)
        logger.exception("signal %s cannot be evaluated and was set aside", signals[0].pk)
        Signal.objects.filter(pk=signals[0].pk).update(failed=now)
        return _Done(is_whole=True)


_Evaluated = tuple[Sequence[int], Progress | None]
"""The ids of signals that are done, in order from the first, and the progress within the next."""


def _evaluate_batch(batch: _Batch, now: datetime, time_slice: TimeSlice) -> _Evaluated:
    first = batch.signals[0]
    match batch.work:
        case _Work.FAN_OUT:
            fan_out(first)
            return [first.pk], None
        case _Work.VERSIONS:
            version_marks_update(group_id=batch.group_id, now=now, observed=first.observed)
            return [first.pk], None
        case _Work.CONFIGS:
            return _compare_configs(batch, now, time_slice)
        case _Work.CANCELLED:
            return _end_cancelled(first, time_slice)
        case _Work.CLUSTERS_LEFT if batch.progress is None and not emptied_clusters_alerts_cancel(
            cluster_ids=first.payload["clustersLeft"], at=first.created, limit=ROWS_IN_TURN
        ):
            return [], None  # The next turn cancels more.
        case _Work.CLUSTERS_LEFT | _Work.OBSERVATIONS:
            return _compare_observations(batch, now, time_slice)


def _end_cancelled(signal: Signal, time_slice: TimeSlice) -> _Evaluated:
    """End incidents of cancelled alerts until the time is over. The next turn ends the others."""
    left: list[str] = signal.payload[INCIDENTS]
    while left:
        ending, left = left[:INCIDENTS_AT_ONCE], left[INCIDENTS_AT_ONCE:]
        cancelled_incidents_end(incidents=ending, at=signal.created)
        if left and time_slice.is_over():
            Signal.objects.filter(pk=signal.pk).update(payload={**signal.payload, INCIDENTS: left})
            return [], None
    return [signal.pk], None


# --- collect --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Observed:
    """An observation, and the target keys of the alerts on it, each computed once.

    A target key depends on the metric of the alert, which is None without a metric threshold.
    """

    observation: Observation
    _targets: dict[Metric | None, str] = field(default_factory=dict, init=False)

    def target(self, metric: Metric | None) -> str:
        if metric not in self._targets:
            self._targets[metric] = target_of(self.observation, metric)
        return self._targets[metric]


_ConfigsByType = Mapping[EventType, ConfigIndex]


class _Comparison(NamedTuple):
    """A signal, its observations, and the configurations that may apply. Its changes get the time `at`.

    `unevaluated`: signals that decide about their targets instead, because they are evaluated later.
    """

    signal: Signal
    at: datetime
    seen: Sequence[_Observed]
    configs: _ConfigsByType
    unevaluated: UnevaluatedSignals | None = None


def _compare_observations(batch: _Batch, now: datetime, time_slice: TimeSlice) -> _Evaluated:
    """Compare the observations of signals with the configurations.

    Changes get the time of their signal: when its event happened or its report arrived. Delays start then.
    """
    began, group_id, signals = time_slice.last_look, batch.group_id, batch.signals
    begin = batch.progress.place if batch.progress else None
    seen = {
        signal_id: [_Observed(observation) for observation in observations]
        for signal_id, observations in observations_of(signals, group_id=group_id).items()
    }
    configs = concerned_indexes(
        group_id, {observed.observation.event_type for observed in chain.from_iterable(seen.values())}
    )
    while True:
        all_seen = chain.from_iterable(seen[signal.pk] for signal in signals)
        active = _read_active(group_id, all_seen, configs, begin.config if begin else "")
        if active.until is None or len(signals) == 1:
            break
        signals = signals[: len(signals) // 2]  # fewer have fewer active alerts
    time_slice.allow_as_much_as_since(began)
    evaluation = _Evaluation(group_id, now, active, time_slice, batch.old_before)
    comparisons = (_Comparison(signal, signal.seen, seen[signal.pk], configs) for signal in signals)
    place = evaluation.run(comparisons, begin)
    is_inside = place is not None and place.is_inside_signal
    return evaluation.evaluated, Progress((place.signal,), place) if place and is_inside else None


def _compare_configs(batch: _Batch, now: datetime, time_slice: TimeSlice) -> _Evaluated:
    """Compare changed configurations with the current fleet, one part of the fleet after another.

    Each part is read once for all configurations, and counts as seen now. If a signal that is not evaluated
    yet contains a target, that signal decides about it and not this comparison: it is older, and the last
    such signal has the current state. While other reports of an agent wait, its hosts are compared later. If
    too many hosts wait in signals, all is compared after these signals. The signal of a configuration that is
    deleted or disabled by now changes nothing: `configs.changes` has cancelled its alerts.
    """
    began, group_id, signals, progress = time_slice.last_look, batch.group_id, batch.signals, batch.progress
    changed = configs_with_ids({_config_id(signal) for signal in signals}, group_id=group_id)
    indexes = {config.id: indexes_of([config]) for config in changed}
    event_types = {config.event_type for config in changed}
    place, after = (progress.place, progress.hosts_after) if progress else (Place(signals[0].pk), "")
    while True:
        part = observations_of_fleet(group_id, event_types, after=after, now=now)
        fleet = [_Observed(observation) for observation in part.observations]
        if progress is None and not after:
            signals = signals[: max(1, PAIRS_AT_ONCE // max(1, len(fleet)))]
        rest = [signal for signal in signals if signal.pk >= place.signal]
        of_rest = indexes_of([config for config in changed if config.id in set(map(_config_id, rest))])
        active = _read_active(group_id, fleet, of_rest, of_configs={_config_id(signal) for signal in rest})
        time_slice.allow_as_much_as_since(began)
        evaluation = _Evaluation(group_id, now, active, time_slice)
        # Read after the part of the fleet: what was committed in between waits.
        try:
            unevaluated = UnevaluatedSignals(group_id, event_types, now)
        except TooManyWaitError as error:
            ids = tuple(signal.pk for signal in signals)
            postponed = {_config_id(signal) for signal in signals} & indexes.keys()
            configs_evaluate_after(
                error.holder, group_id=group_id, configs=postponed, instead_of=ids, now=now
            )
            return ids, None
        comparisons = (
            _Comparison(signal, now, fleet, indexes.get(_config_id(signal), {}), unevaluated)
            for signal in rest
        )
        ids = tuple(signal.pk for signal in signals)
        stopped = evaluation.run(comparisons, place)
        configs_evaluate_later(group_id=group_id, configs=evaluation.awaiting, now=now)
        if stopped:
            return [], Progress(ids, stopped, after)
        if part.last_host is None:
            return ids, None
        place, after, began = Place(signals[0].pk), part.last_host, time_slice.last_look
        if time_slice.is_over():
            return [], Progress(ids, place, after)


def _config_id(signal: Signal) -> str:
    return str(signal.payload["alertConfigId"])


@dataclass(frozen=True, slots=True)
class _ActiveAlert(AlertView):
    """An active alert, as it is after the changes that were decided but not written yet."""

    id: str = ""
    began_late: bool = False
    over: datetime | None = None


@dataclass(slots=True)
class _ActiveAlerts:
    """By target key and configuration id: a configuration has at most one active alert on a target.

    `until`: alerts of this configuration and of later configurations were not read; None if all were read.
    """

    by_target: dict[str, dict[str, _ActiveAlert]] = field(default_factory=dict)
    until: str | None = None


_READ_ACTIVE = """
SELECT id, config_id, target_key, current_value, created, late AND status = 'TRACKING', over
  FROM alerting_alert
 WHERE group_id = %(group_id)s AND target_key = ANY(%(targets)s)
   AND status IN ('TRACKING', 'OPEN')
"""
_READ_ACTIVE_OF_CONFIGS = _READ_ACTIVE + " AND config_id = ANY(%(configs)s)"
# OFFSET 0: the targets choose the index, not the order.
_READ_ACTIVE_FROM = f"""
SELECT * FROM ({_READ_ACTIVE} AND config_id >= %(first)s OFFSET 0) AS active
 ORDER BY config_id LIMIT %(limit)s
"""  # noqa: S608 - built from constants


def _read_active(
    group_id: str,
    all_seen: Iterable[_Observed],
    configs: _ConfigsByType,
    first: str = "",
    *,
    of_configs: Collection[str] = (),
) -> _ActiveAlerts:
    """Read the active alerts on the targets of the observations.

    Read them only of the configurations `of_configs`, or of the configuration `first` and later ones, up to
    ACTIVE_AT_ONCE.
    """
    active = _ActiveAlerts()
    targets = {
        seen.target(metric)
        for seen in all_seen
        for metric in _configs_for(seen, configs).alert_metrics(seen.observation)
    }
    if not targets:
        return active
    statement = _READ_ACTIVE_OF_CONFIGS if of_configs else _READ_ACTIVE_FROM
    values: Mapping[str, Any] = {
        "group_id": group_id,
        "targets": list(targets),
        "configs": list(of_configs),
        "first": first,
        "limit": ACTIVE_AT_ONCE + 1,
    }
    rows = fetch_rows(statement, values)
    if not of_configs and len(rows) > ACTIVE_AT_ONCE:
        active.until = rows[-1][1]
    for alert_id, config_id, target, value, created, began_late, over in rows:
        active.by_target.setdefault(target, {})[config_id] = _ActiveAlert(
            current_value=value, created=created, id=alert_id, began_late=began_late, over=over
        )
    return active


def _configs_for(seen: _Observed, configs: _ConfigsByType) -> ConfigIndex:
    return configs.get(seen.observation.event_type, NO_CONFIGS)


# --- decide and apply -----------------------------------------------------------------------------


class _Pair(NamedTuple):
    """An observation to compare with a configuration, and the target key of an alert on it."""

    config: ConfigView
    observation: Observation
    target: str


@dataclass(slots=True)
class _Changes:
    """Decided changes. `cancelled`: the time by alert id.

    Changes are written in a fixed order (`_apply`). It is right for the changes of one signal: at most one of
    its observations changes the alert of a configuration on a target, because addresses, agents and replica
    sets are unique in a project, and an event has one observation for each event type that it ends. The
    order of different configurations within one signal has no meaning.
    """

    alerts: AlertChanges = field(default_factory=AlertChanges)
    one_shots: list[OneShot] = field(default_factory=list)
    cancelled: dict[str, datetime] = field(default_factory=dict)
    ended_targets: set[str] = field(default_factory=set)
    rows: int = 0
    """About the number of alerts and notifications that they write."""

    def extend(self, later: "_Changes") -> None:
        self.alerts.extend(later.alerts)
        self.one_shots += later.one_shots
        self.cancelled |= later.cancelled
        self.ended_targets |= later.ended_targets
        self.rows += later.rows


@dataclass(slots=True)
class _Units:
    """The changes that were decided for a signal: of its complete units, and of the unit in progress.

    A unit is a configuration, or changes of ROWS_AT_ONCE rows. `begin`: the place of the unit in progress.
    """

    begin: Place
    complete: _Changes = field(default_factory=_Changes)
    unit: _Changes = field(default_factory=_Changes)

    def ends_before(self, pair: _Pair) -> bool:
        """Whether the unit in progress is complete, so that this pair begins the next."""
        return pair.config.id != self.begin.config or self.unit.rows >= ROWS_AT_ONCE


class _Evaluation:
    """The evaluation of signals of one project. `active` are the alerts on the targets of the signals."""

    def __init__(
        self,
        group_id: str,
        now: datetime,
        active: _ActiveAlerts,
        time_slice: TimeSlice,
        old_before: datetime | None = None,
    ) -> None:
        self._group_id, self._now, self._active, self._slice = group_id, now, active, time_slice
        self._old_before = old_before
        self.evaluated: list[int] = []
        """The ids of the signals that are done."""
        self.awaiting: set[tuple[str, str]] = set()
        """Agents whose other reports wait, with configurations to compare with their hosts after these."""
        self._unwritten = _Changes()
        self._decided = self._units = 0
        """The number of pairs that were decided, and of units that were completed (`_Units`)."""

    def run(self, comparisons: Iterable[_Comparison], begin: Place | None) -> Place | None:
        """Evaluate signals from the place `begin` until the time is over, at least one pair.

        Return the place of the first pair that is not evaluated; None if all are.
        """
        for comparison in comparisons:
            if self._decided and self._slice.is_over():
                stopped: Place | None = Place(comparison.signal.pk)
            else:
                here = begin if begin and begin.signal == comparison.signal.pk else None
                stopped = self._decide_signal(comparison, here or Place(comparison.signal.pk))
            if stopped:
                self._apply()
                return stopped
            self.evaluated.append(comparison.signal.pk)
        self._apply()
        return None

    def _decide_signal(self, comparison: _Comparison, begin: Place) -> Place | None:
        """Decide on the pairs of a signal from a place on, unit by unit.

        Return the place of the first pair that is not decided; None if all are.
        """
        units = _Units(begin)
        self._slice.charge("")
        for pair in self._pairs(comparison, begin):
            here = Place(comparison.signal.pk, pair.config.id, pair.target)
            if units.ends_before(pair):
                self._units += units.begin.is_inside_signal
                self._complete(units, next_begin=here)
            if self._active.until is not None and pair.config.id >= self._active.until:
                self._take(units.complete)
                return Place(comparison.signal.pk, self._active.until)
            if self._decided and self._slice.is_over():
                return self._stop(units, here)
            self._decided += 1
            if decision := self._decide_pair(pair, comparison):
                self._set_alert(pair, self._add_change(decision, pair, comparison, units.unit))
        self._units += 1
        self._complete(units, next_begin=begin)
        self._take(units.complete)
        return None

    def _complete(self, units: _Units, *, next_begin: Place) -> None:
        """Count the unit in progress as complete, and begin the next."""
        self._slice.charge(units.begin.config)
        self._slice.count_rows(units.unit.rows)
        units.complete.extend(units.unit)
        units.begin, units.unit = next_begin, _Changes()
        if units.complete.rows >= ROWS_AT_ONCE:
            self._take(units.complete)
            units.complete = _Changes()

    def _stop(self, units: _Units, here: Place) -> Place:
        """End the turn because its time is over; return the place where the next turn continues.

        Changes of an incomplete unit are dropped, except of the first unit of a turn.
        """
        if self._units:
            self._slice.charge(units.begin.config)
        else:
            self._complete(units, next_begin=here)
        self._take(units.complete)
        return units.begin

    def _take(self, changes: _Changes) -> None:
        """Add decided changes to the unwritten changes, and write them if they are many."""
        # The fixed order is wrong for two signals if the later cancels an alert, or starts an alert on a
        # target on which the earlier ends an alert. Then the changes of earlier signals come first.
        if changes.cancelled or self._starts_on_ended_target(changes):
            self._apply()
        self._unwritten.extend(changes)
        if self._unwritten.rows >= ROWS_AT_ONCE:
            self._apply()

    def _starts_on_ended_target(self, changes: _Changes) -> bool:
        """Return whether an alert starts on a target on which the end of an earlier alert is unwritten.

        A configuration has at most one active alert on a target, and a receiver gets the end first.
        """
        return any(start.target in self._unwritten.ended_targets for start in changes.alerts.starts)

    def _pairs(self, comparison: _Comparison, begin: Place) -> Iterator[_Pair]:
        """Yield the pairs whose decision can change something, each once, by configuration and target."""
        positions: dict[str, dict[int, None]] = {}
        for position, seen in enumerate(comparison.seen):
            index = _configs_for(seen, comparison.configs)
            for config in chain(index.candidates(seen.observation), self._configs_with_alert(seen, index)):
                positions.setdefault(config.id, {})[position] = None
        for config_id in sorted(positions):
            if config_id >= begin.config:
                of_config = [comparison.seen[position] for position in positions[config_id]]
                config = _configs_for(of_config[0], comparison.configs).configs[config_id]
                # `fan_out` has already notified of an event without a project for global configurations.
                if config.is_global and comes_from_organization(comparison.signal):
                    continue
                # Without a metric threshold, an alert has no metric.
                metric = config.metric
                for seen in sorted(of_config, key=lambda observed: observed.target(metric)):
                    target = seen.target(metric)
                    if config_id > begin.config or target >= begin.target:
                        yield _Pair(config, seen.observation, target)

    def _configs_with_alert(self, seen: _Observed, index: ConfigIndex) -> Iterator[ConfigView]:
        """Yield the configurations with an active alert on the observation."""
        for metric in index.alert_metrics(seen.observation):
            for config_id in self._active.by_target.get(seen.target(metric), {}):
                if config_id in index.configs:
                    yield index.configs[config_id]

    def _alert(self, pair: _Pair) -> _ActiveAlert | None:
        return self._active.by_target.get(pair.target, {}).get(pair.config.id)

    def _set_alert(self, pair: _Pair, alert: _ActiveAlert | None) -> None:
        """Change the alert in memory, with which later signals are compared."""
        of_target = self._active.by_target.setdefault(pair.target, {})
        if alert is None:
            of_target.pop(pair.config.id, None)
        else:
            of_target[pair.config.id] = alert

    def _decide_pair(self, pair: _Pair, comparison: _Comparison) -> Decision | None:
        """Return the decision; None if the pair is left as it is.

        It is left if the configuration is faulty (others must still be compared), if a signal that is not
        evaluated yet decides, or if other reports of the agent wait: then `awaiting` notes the pair.
        """
        alert, signal = self._alert(pair), comparison.signal
        try:
            decision = step(pair.config, pair.observation, alert)
        except (ValueError, ArithmeticError):
            logger.exception("configuration %s cannot be compared with signal %s", pair.config.id, signal.pk)
            return None
        is_change = decision.action is not AlertAction.NOTHING or (alert and alert.over)
        if is_change and comparison.unevaluated:
            if comparison.unevaluated.decide(pair.observation):
                return None
            if agent := comparison.unevaluated.awaited(pair.observation):
                self.awaiting.add((agent, pair.config.id))
                return None
        logger.debug(
            "%s for configuration %s: %s", decision.action.value, pair.config.id, decision.reason.name
        )
        return decision

    def _add_change(
        self, decision: Decision, pair: _Pair, comparison: _Comparison, changes: _Changes
    ) -> _ActiveAlert | None:
        """Add the decision to `changes`, and return the active alert as it is afterwards."""
        signal, alert, at = comparison.signal, self._alert(pair), comparison.at
        if alert and alert.created:
            # A changed configuration starts alerts at the time of evaluation, so a later signal in the queue
            # may be older than the alert.
            at = max(at, alert.created)
        is_late = LATE in signal.payload
        is_old = self._old_before is not None and signal.created < self._old_before
        if alert:
            over = _over_after(decision, alert, at if is_late else None)
            if over != alert.over:
                changes.alerts.over[alert.id] = over, self._known(signal)
                alert = replace(alert, over=over)
        if decision.action is not AlertAction.NOTHING:
            changes.rows += _rows_of(decision.action, pair.config, changes)
        match decision.action:
            case AlertAction.START:
                start = NewAlert(
                    signal=signal,
                    config=pair.config,
                    target=pair.target,
                    facts=pair.observation.facts,
                    at=at,
                    value=decision.value,
                    opens_from=self._known(signal) if is_late or is_old else None,
                    is_late=is_late,
                )
                changes.alerts.starts.append(start)
                return _ActiveAlert(decision.value, at, start.id, began_late=is_late)
            case AlertAction.UPDATE if alert:
                changes.alerts.values[alert.id] = decision.value, at
                return replace(alert, current_value=decision.value)
            case AlertAction.CLOSE if alert and not (is_late and alert.over):
                # A tracked alert whose delay has passed opens before it ends, unless a waiting signal may
                # have ended its condition earlier. Evaluated signals are not waiting: they are deleted later.
                changes.alerts.ends[alert.id] = AlertEnd(
                    signal=signal,
                    at=alert.over or at,
                    value=decision.value,
                    signals_done=tuple(self.evaluated),
                )
                changes.ended_targets.add(pair.target)
                return None
            case AlertAction.CANCEL if alert:
                changes.cancelled[alert.id] = at
                return None
            case AlertAction.NOTIFY if event_id := pair.observation.event_id:
                known = max(at, min(signal.created, self._now))
                changes.one_shots.append(OneShot(pair.config.id, event_id, self._group_id, known))
        return alert

    def _known(self, signal: Signal) -> datetime:
        """The time of evaluation of a held or old signal, at the earliest its release."""
        return max(self._now, signal.created)

    def _apply(self) -> None:
        """Write the decided changes: cancellations, one-shot notifications, starts, values, ends."""
        changes, self._unwritten = self._unwritten, _Changes()
        # Nearly always a single time: an alert that was created later than its signal has its own.
        for at in sorted(set(changes.cancelled.values())):
            ids = [alert_id for alert_id, moment in changes.cancelled.items() if moment == at]
            alerts_cancel(alerts=Alert.objects.filter(id__in=ids), actor=SYSTEM, now=at)
        schedule_one_shots(changes.one_shots, ledger=POSTGRESQL)
        alerts_change(changes=changes.alerts, group_id=self._group_id, now=self._now)


def _rows_of(action: AlertAction, config: ConfigView, unit: _Changes) -> int:
    """About the number of rows that a change of an alert writes, after the other changes of its unit."""
    if action is AlertAction.UPDATE:
        return 1
    joins_first = action is AlertAction.START and config.is_grouped and not unit.alerts.starts
    return 1 + config.messages + (ROWS_OF_GROUPING if joins_first else 0)


def _over_after(decision: Decision, alert: _ActiveAlert, late_at: datetime | None) -> datetime | None:
    """Return when the condition of an alert ended according to a late report; None if it has not ended.

    `late_at`: the time of a late report; None if the report is not late. The alert stays open for the moment,
    because a newer report may show that the condition is met again. `close_over` closes it. An alert that
    also began in a late report is closed at once, because users have not seen it.
    """
    if decision.reason is AlertReason.STILL_HOLDS:
        return None
    if decision.action is AlertAction.CLOSE and late_at and not alert.began_late:
        return alert.over or late_at
    return alert.over


# --- open -----------------------------------------------------------------------------------------

# An alert does not open while an unevaluated signal from before the end of the delay may end its condition: a
# signal of its project, or a late signal of the agent of its host.
_DUE = f"""
           SELECT alert.id, alert.group_id, alert.opens, alert.created, alert.facts
             FROM alerting_alert AS alert
            WHERE alert.status = 'TRACKING' AND alert.group_id = project.group_id
              AND alert.opens <= %(now)s AND alert.over IS NULL
              AND alert.opens < coalesce(project.oldest, 'infinity')
              AND NOT EXISTS (SELECT FROM late WHERE late.oldest <= alert.opens AND {IS_OF_AGENT})
            ORDER BY alert.opens"""  # noqa: S608 - built from constants
MOST_COMPARED = 1_000
"""The most due alerts of a project that a search compares with reports after the platform was away."""
_CONFIRMED = f"""
           SELECT alert.id, alert.group_id, alert.opens FROM ({_DUE} LIMIT {MOST_COMPARED}) AS alert
            WHERE {IS_CONFIRMED} ORDER BY alert.opens"""  # noqa: S608 - built from constants


def _opening(alerts_of_project: str) -> str:
    """Return the search for alerts to open among these alerts.

    Projects take turns: the first alert of each, then the second of each, and so on. Only the first alerts,
    and the oldest signal of each project and agent, are read, so the number of alerts and signals does not
    matter. The lock of the project is needed because opening an alert may change an incident of the project.
    """
    return f"""
{PROJECTS_WITH_TRACKED}, {LATE_BY_AGENT}
SELECT opening.id FROM (
  SELECT due.id, due.group_id, due.position FROM (
    SELECT first.id, first.group_id, first.opens,
           row_number() OVER (PARTITION BY first.group_id ORDER BY first.opens, first.id) AS position
      FROM (SELECT group_id, {oldest_signal("tracking.group_id")} AS oldest
              FROM tracking WHERE group_id IS NOT NULL) AS project
     CROSS JOIN LATERAL ({alerts_of_project} LIMIT %(limit)s) AS first
  ) AS due ORDER BY position, opens LIMIT %(limit)s
) AS opening WHERE {try_lock("opening.group_id")} ORDER BY position
"""  # noqa: S608 - built from constants


_OPENING = _opening(_DUE)
_CONFIRMED_OPENING = _opening(_CONFIRMED)


def open_tracked(
    *, now: datetime, absent_since: datetime | None = None, clock: Clock = time.monotonic
) -> int:
    """Open up to OPENED_AT_ONCE alerts whose delay has passed, and return their number.

    The delay is the shortest of the configuration's notifications. Projects that another worker evaluates,
    and alerts that another worker has locked, are skipped. While the platform waits for reports because it
    was away (`confirmed_since`), only alerts that a report has confirmed open. Of a project, alerts open that
    write up to ROWS_AT_ONCE rows, at least one. The time counts for the projects.
    """
    began = clock()
    with transaction.atomic():
        alerts, rows = _within_rows(_alerts_due(now, absent_since))
        alerts_open(alerts=alerts, now=now)
    seconds, all_rows = clock() - began, sum(of_configs.total() for of_configs in rows.values())
    for group_id, of_configs in sorted(rows.items()):
        part = seconds * of_configs.total() / all_rows
        if part >= LEAST_COUNTED_SECONDS:
            [(dearest, _)] = of_configs.most_common(1)
            usage_add(group_id=group_id, seconds=part, config_id=dearest, now=now)
    return len(alerts)


def _alerts_due(now: datetime, absent_since: datetime | None) -> list[Alert]:
    """Lock up to OPENED_AT_ONCE alerts to open, with their projects. Return them, projects in turn."""
    parameters: dict[str, Any] = {"now": now, "limit": OPENED_AT_ONCE}
    ids = [alert_id for (alert_id,) in fetch_rows(_OPENING, parameters)]
    if ids and (since := confirmed_since(now, absent_since=absent_since)):
        confirmed = fetch_rows(_CONFIRMED_OPENING, {**parameters, "since": since})
        ids = [alert_id for (alert_id,) in confirmed]
    if not ids:
        return []
    # Filtered again: meanwhile another worker may have opened or ended them. Locked by id, as everywhere.
    due = Alert.objects.filter(id__in=ids, status=AlertStatus.TRACKING.value, opens__lte=now)
    locked = {alert.id: alert for alert in due.order_by("id").select_for_update(skip_locked=True)}
    return [locked[alert_id] for alert_id in ids if alert_id in locked]


# Whether a search for alerts to open leaves out an alert whose delay has passed.
_LEFT_OUT = f"""
WITH {LATE_BY_AGENT}
SELECT NOT EXISTS (
  SELECT FROM (SELECT %(group_id)s AS group_id, {oldest_signal("%(group_id)s")} AS oldest) AS project
   CROSS JOIN LATERAL ({_DUE}) AS alert
   WHERE alert.id = %(id)s AND (%(since)s::timestamptz IS NULL OR {IS_CONFIRMED}))
"""  # noqa: S608 - built from constants


def waits_for_reports(alert: Alert, *, now: datetime) -> bool:
    """Return whether the alert does not open, although its delay has passed, because reports may end it.

    A pause of all workers of less than a minute is known only to them, and does not count here.
    """
    if alert.status != AlertStatus.TRACKING.value or alert.opens > now:
        return False
    since = confirmed_since(now, absent_since=None)
    parameters = {"id": alert.id, "group_id": alert.group_id, "now": now, "since": since}
    [(is_left_out,)] = fetch_rows(_LEFT_OUT, parameters)
    return bool(is_left_out)


_NO_SIZE = OpeningSize(messages=0, is_grouped=False)


def _within_rows(alerts: Sequence[Alert]) -> tuple[list[Alert], dict[str, Counter[str]]]:
    """Return the alerts that open now, in the order of ids.

    Also return about how many rows they write, by project and configuration.
    """
    sizes = opening_sizes({alert.config_id for alert in alerts}) if alerts else {}
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    full, opening = set[str](), []
    for alert in alerts:
        of_configs, size = rows[alert.group_id], sizes.get(alert.config_id, _NO_SIZE)
        more = 1 + size.messages
        if size.is_grouped and alert.config_id not in of_configs:
            more += ROWS_OF_GROUPING
        if of_configs and of_configs.total() + more > ROWS_AT_ONCE:
            full.add(alert.group_id)
        if alert.group_id not in full:
            of_configs[alert.config_id] += more
            opening.append(alert)
    return sorted(opening, key=attrgetter("id")), rows


# Alerts whose condition ended according to a late report. They close when all signals of the same release are
# evaluated, because a later signal may show that the condition is met again. A release gives signals a new
# time, so the earliest is searched among all. Projects take turns, as they do with alerts that open.
_OVER = f"""
{PROJECTS_WITH_OVER}
SELECT closing.id FROM (
  SELECT ended.id, ended.group_id FROM (
    SELECT first.id, first.group_id, first.updated,
           row_number() OVER (PARTITION BY first.group_id ORDER BY first.updated, first.id) AS position
      FROM (SELECT group_id,
                   (SELECT min(waiting.created) FROM events_signal AS waiting
                     WHERE waiting.group_id = ending.group_id AND waiting.failed IS NULL
                       AND waiting.held_by IS NULL) AS oldest
              FROM ending WHERE group_id IS NOT NULL) AS project
     CROSS JOIN LATERAL (
           SELECT alert.id, alert.group_id, alert.updated FROM alerting_alert AS alert
            WHERE alert.over IS NOT NULL AND alert.status IN ('TRACKING', 'OPEN')
              AND alert.group_id = project.group_id
              AND alert.updated < coalesce(project.oldest, 'infinity')
            ORDER BY alert.updated LIMIT %(limit)s) AS first
  ) AS ended ORDER BY position, updated LIMIT %(limit)s
) AS closing WHERE {try_lock("closing.group_id")}
"""  # noqa: S608 - built from constants


@transaction.atomic
def close_over(*, now: datetime) -> int:
    """Close up to OPENED_AT_ONCE alerts that ended according to late reports, and return their number."""
    ids = [alert_id for (alert_id,) in fetch_rows(_OVER, {"limit": OPENED_AT_ONCE})]
    if not ids:
        return 0
    over = Alert.objects.filter(id__in=ids, status__in=ACTIVE, over__isnull=False)
    alerts = list(over.order_by("id").select_for_update(skip_locked=True))
    for group_id, of_group in groupby(sorted(alerts, key=_group_of), key=_group_of):
        alerts_close_over(alerts=list(of_group), group_id=group_id, now=now)
    return len(alerts)


def _group_of(alert: Alert) -> str:
    return alert.group_id
