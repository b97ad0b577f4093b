"""Evaluation: from signals to alerts. Read from top to bottom.

    take ─► collect ─► decide ─► apply    `evaluate_signals`: the signals of one project, in one transaction
    open                                  `open_tracked`: the alerts whose delay has passed

Reports, timeouts and accepted writes leave signals (`events.models.Signal`). Take locks the project whose
turn it is and reads its oldest signals (`services.turns`). Collect reads the observations of these signals,
the configurations that may apply, and the active alerts on the same targets; the number of queries does not
grow with the number of signals. Configurations stay in memory until they change (`selectors.config_views`).
Decide compares one signal after the other with the configurations (`rules.transition.step`) and keeps the
changes in memory. Apply writes the changes of many signals together.

`_evaluate_batch` chooses the work by the kind of signal. A signal without a project is fanned out. A signal
of changed versions updates the marks of outdated hosts and agents. Both write new signals. A signal of a
changed configuration compares the configuration with the current fleet.

The worker calls both functions in a loop. `delivery` sends the notifications that they schedule.
"""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain, groupby

from django.db import connection, transaction

from alerting.choices import AlertStatus
from alerting.fan_out import fan_out, is_fanned_out
from alerting.models import Alert
from alerting.rules.config_index import NO_CONFIGS, ConfigIndex
from alerting.rules.observations import Observation
from alerting.rules.transition import AlertAction, AlertView, ConfigView, Decision, step, target_of
from alerting.selectors.config_views import concerned_indexes, configs_with_ids, indexes_of
from alerting.services.alerts import (
    AlertChanges,
    AlertEnd,
    NewAlert,
    alerts_cancel,
    alerts_change,
    alerts_open,
)
from alerting.services.locks import TRY_EVALUATION_OF_OPENING
from alerting.services.notifications import OneShot, schedule_one_shots
from alerting.services.purge import emptied_clusters_alerts_cancel
from alerting.services.turns import Turn, signals_delete, turn_skip, turn_take
from alerting.signal_observations import observations_of, observations_of_fleet
from automation.metrics import Metric
from automation.services.versions import version_marks_update
from events.choices import SignalKind
from events.models import Signal
from events.types import EventType
from opsapi.api.principal import SYSTEM
from opsapi.postgresql.faults import passes

logger = logging.getLogger("opsapi.evaluation")

EVALUATION_SECONDS = 0.5
"""A transaction starts no further signal after this time, because its locks last until its end."""
CHANGES_AT_ONCE = 1_000
"""Changes are written when at least this many are decided."""
OPENED_AT_ONCE = 100
"""The most alerts that one transaction opens."""


# --- evaluate -----------------------------------------------------------------------------------------


def evaluate_signals(*, now: datetime) -> int:
    """Evaluate the oldest signals of one project, or the oldest signal without a project.

    Projects take turns, so a project with many signals or configurations delays only itself. Other workers
    evaluate other projects at the same time.

    Return the number of signals that were read, evaluated or not, and at least 1 after a turn. Return 0 if no
    signal waits, if other workers have locked every waiting project, or while a global configuration is
    written.
    """
    turn = None
    try:
        with transaction.atomic():
            turn = turn_take(now=now)
            return 0 if turn is None else _evaluate_turn(turn, now)
    except Exception:
        # The rollback has undone the turn. Without a skip, the same project would be first again.
        if turn is not None:
            turn_skip(turn.group_id, now=now)
        raise


def _evaluate_turn(turn: Turn, now: datetime) -> int:
    if turn.project_is_deleted:
        return turn.drop_signals() or 1
    signals = turn.next_signals()
    deadline = time.monotonic() + EVALUATION_SECONDS
    for _, run in groupby(signals, key=_batch_key):
        batch = list(run)
        _evaluate_despite_faults(batch, now=now, deadline=deadline)
        if _ends_turn(batch[0]) or time.monotonic() > deadline:
            break
    # At least 1: if another worker has evaluated these signals in the meantime, other projects may wait.
    return len(signals) or 1


def _batch_key(signal: Signal) -> object:
    """Signals in a row with the same key are evaluated together."""
    # A signal that changes the database before the decisions of its batch are written is evaluated alone.
    if _ends_turn(signal) or signal.payload.get("clustersLeft"):
        return signal.pk
    return "configurations" if _is_config(signal) else "observations"


def _ends_turn(signal: Signal) -> bool:
    """Return whether the signal ends the turn, to keep the transaction short.

    A fan-out writes signals for up to a hundred projects. An update of version marks locks rows that reports
    need. Neither compares the signal with configurations.
    """
    return signal.group_id is None or signal.kind == SignalKind.VERSIONS.value


def _is_config(signal: Signal) -> bool:
    return signal.kind == SignalKind.CONFIG.value


def _evaluate_despite_faults(signals: Sequence[Signal], *, now: datetime, deadline: float) -> None:
    """Evaluate signals until the monotonic time `deadline`, at least the first, and delete them.

    A database fault that passes is raised. After any other error, each half is evaluated separately, the
    second half only while time is left. A single signal that fails is marked as failed: it blocks no other
    signal, and the console lists it.
    """
    try:
        with transaction.atomic():
            signals_delete(_evaluate_batch(signals, now, deadline))
    except Exception as error:  # whatever the error is, the other signals must be evaluated
        if passes(error):
            raise
        if len(signals) > 1:
            logger.warning("%d signals failed together, halves are tried", len(signals), exc_info=True)
            middle = len(signals) // 2
            _evaluate_despite_faults(signals[:middle], now=now, deadline=deadline)
            if time.monotonic() <= deadline:
                _evaluate_despite_faults(signals[middle:], now=now, deadline=deadline)
            return
        logger.exception("signal %s cannot be evaluated and was set aside", signals[0].pk)
        Signal.objects.filter(pk=signals[0].pk).update(failed=now)


def _evaluate_batch(signals: Sequence[Signal], now: datetime, deadline: float) -> list[int]:
    """Evaluate signals of one `_batch_key`, at least the first, and return the ids of evaluated signals."""
    first = signals[0]
    if first.group_id is None:
        fan_out(first)
        return [first.pk]
    if first.kind == SignalKind.VERSIONS.value:
        version_marks_update(group_id=first.group_id, now=now)
        return [first.pk]
    if _is_config(first):
        return _evaluate_configs(signals, first.group_id, now, deadline)
    return _evaluate_observations(signals, first.group_id, now, deadline)


def _evaluate_observations(
    signals: Sequence[Signal], group_id: str, now: datetime, deadline: float
) -> list[int]:
    """Compare the observations of signals with the configurations, and return the ids of evaluated signals.

    A signal has the time at which its event happened, so delays start then.
    """
    # Hosts have left these clusters, perhaps the last hosts. The signal is alone in its batch (`_batch_key`).
    if clusters := signals[0].payload.get("clustersLeft"):
        emptied_clusters_alerts_cancel(cluster_ids=clusters, at=signals[0].created)
    observations = observations_of(signals, group_id=group_id)
    seen = list(chain.from_iterable(observations.values()))
    indexes = concerned_indexes(group_id, {observation.event_type for observation in seen})
    evaluation = _Evaluation(group_id, now)
    evaluation.collect(seen, indexes)
    for signal in signals:
        evaluation.decide(signal, observations[signal.pk], indexes)
        if time.monotonic() > deadline:
            break
    evaluation.apply()
    return evaluation.evaluated


def _evaluate_configs(signals: Sequence[Signal], group_id: str, now: datetime, deadline: float) -> list[int]:
    """Compare changed configurations with the current fleet, and return the ids of evaluated signals.

    The fleet is read once. Configurations are compared until the deadline, and at least for as long as
    reading took. The remaining signals stay; a later turn compares them with the fleet of that time. The
    signal of a configuration that is deleted or disabled by now decides nothing.
    """
    begin = time.monotonic()
    configs = {
        config.id: config
        for config in configs_with_ids({_config_id(signal) for signal in signals}, group_id=group_id)
    }
    fleet = observations_of_fleet(group_id, {config.event_type for config in configs.values()})
    evaluation = _Evaluation(group_id, now)
    evaluation.collect(fleet, indexes_of(configs.values()))
    read = time.monotonic()
    deadline = max(deadline, read + (read - begin))
    for signal in signals:
        changed = configs.get(_config_id(signal))
        evaluation.decide(signal, fleet, indexes_of([changed] if changed else ()))
        if time.monotonic() > deadline:
            break
    evaluation.apply()
    return evaluation.evaluated


def _config_id(signal: Signal) -> str:
    return str(signal.payload["alertConfigId"])


# --- collect, decide, apply -----------------------------------------------------------------------


_Indexes = Mapping[EventType, ConfigIndex]
"""The configurations that may apply, by event type."""


@dataclass(slots=True)
class _ActiveAlert:
    """An active alert, including the changes that were decided but not written yet."""

    id: str
    view: AlertView


@dataclass(slots=True)
class _Changes:
    """Decided changes. `add` leaves out `cancelled`, because `decide` writes it at once."""

    alerts: AlertChanges = field(default_factory=AlertChanges)
    one_shots: list[OneShot] = field(default_factory=list)
    ended_targets: set[str] = field(default_factory=set)
    cancelled: dict[str, datetime] = field(default_factory=dict)

    @property
    def count(self) -> int:
        alerts = self.alerts
        return len(alerts.starts) + len(alerts.values) + len(alerts.ends) + len(self.one_shots)

    def add(self, later: "_Changes") -> None:
        self.alerts.starts += later.alerts.starts
        self.alerts.values |= later.alerts.values
        self.alerts.ends |= later.alerts.ends
        self.one_shots += later.one_shots
        self.ended_targets |= later.ended_targets


@dataclass(frozen=True, slots=True)
class _Pair:
    """An observation to compare with a configuration, and the target key of an alert on it."""

    config: ConfigView
    observation: Observation
    target: str


def _index(observation: Observation, indexes: _Indexes) -> ConfigIndex:
    return indexes.get(observation.event_type, NO_CONFIGS)


def _decide_pair(pair: _Pair, alert: _ActiveAlert | None, signal: Signal) -> Decision | None:
    """Return the decision; None if the configuration is faulty, because others must still be evaluated."""
    try:
        decision = step(pair.config, pair.observation, alert.view if alert else None)
    except (ValueError, ArithmeticError):
        logger.exception("configuration %s cannot be compared with signal %s", pair.config.id, signal.pk)
        return None
    logger.debug("%s for configuration %s: %s", decision.action.value, pair.config.id, decision.reason.value)
    return decision


_ACTIVE = """
SELECT id, config_id, target_key, current_value, created FROM alerting_alert
 WHERE group_id = %(group_id)s AND target_key = ANY(%(targets)s)
   AND status IN ('TRACKING', 'OPEN')
"""


class _Evaluation:
    """The evaluation of one project's signals: call `collect`, `decide` for each signal, and `apply`.

    `evaluated` are the ids of the signals that were decided on.
    """

    def __init__(self, group_id: str, now: datetime) -> None:
        self.evaluated: list[int] = []
        self._group_id, self._now = group_id, now
        self._active: dict[str, dict[str, _ActiveAlert]] = {}
        """The active alerts by target key and configuration id."""
        self._observations: Sequence[Observation] = ()
        self._targets: dict[tuple[int, Metric | None], str] = {}
        self._unwritten = _Changes()

    # --- collect ----------------------------------------------------------------------------------

    def collect(self, observations: Sequence[Observation], indexes: _Indexes) -> None:
        """Read the active alerts on the targets of the observations."""
        self._observations = observations  # kept in memory: Python reuses the id of a freed object
        targets = {
            self._target(observation, metric)
            for observation in observations
            for metric in _index(observation, indexes).metrics(observation)
        }
        if not targets:
            return
        with connection.cursor() as cursor:
            cursor.execute(_ACTIVE, {"group_id": self._group_id, "targets": list(targets)})
            for alert_id, config_id, target, value, created in cursor.fetchall():
                alert = _ActiveAlert(alert_id, AlertView(value, created))
                self._active.setdefault(target, {})[config_id] = alert

    def _target(self, observation: Observation, metric: Metric | None) -> str:
        """Return the target key of an alert on the observation; cached, as configurations share targets."""
        key = id(observation), metric
        if key not in self._targets:
            self._targets[key] = target_of(observation, metric)
        return self._targets[key]

    # --- decide -----------------------------------------------------------------------------------

    def decide(self, signal: Signal, observations: Sequence[Observation], indexes: _Indexes) -> None:
        """Add the changes by the observations to the unwritten changes; write cancellations at once."""
        at = self._now if _is_config(signal) else signal.created
        changes = _Changes()
        fanned_out = is_fanned_out(signal)
        for pair in self._pairs(observations, indexes):
            # Global configurations were notified of this event when the signal was fanned out to projects.
            if fanned_out and pair.config.is_global:
                continue
            if decision := _decide_pair(pair, self._alert(pair), signal):
                self._add(decision, pair, signal, at, changes)
        if self._must_write_before(changes):
            self.apply()
        if changes.cancelled:
            cancelled = Alert.objects.filter(id__in=changes.cancelled)
            alerts_cancel(alerts=cancelled, actor=SYSTEM, now=max(changes.cancelled.values()))
        self._unwritten.add(changes)
        self.evaluated.append(signal.pk)

    def _must_write_before(self, changes: _Changes) -> bool:
        """Return whether the changes of earlier signals are written before `changes`, or are enough to write.

        One write starts alerts before it ends alerts. So an earlier end is written first if `changes` start
        an alert on the same target: a configuration has at most one active alert on a target, and the
        receiver gets the end first. `decide` cancels alerts at once, so earlier changes are written before.
        """
        ended = self._unwritten.ended_targets
        starts_again = any(start.target in ended for start in changes.alerts.starts)
        return starts_again or bool(changes.cancelled) or self._unwritten.count >= CHANGES_AT_ONCE

    def _pairs(self, observations: Sequence[Observation], indexes: _Indexes) -> list[_Pair]:
        """Return the pairs that can start an alert, have an active alert, or notify of an event.

        They are sorted by configuration id, then by the position of the observation.
        """
        found: set[tuple[str, int]] = set()
        for number, observation in enumerate(observations):
            index = _index(observation, indexes)
            found.update((config.id, number) for config in index.candidates(observation))
            for metric in index.metrics(observation):
                active = self._active.get(self._target(observation, metric), {})
                found.update((config_id, number) for config_id in active.keys() & index.configs.keys())
        pairs = []
        for config_id, number in sorted(found):
            observation = observations[number]
            config = _index(observation, indexes).configs[config_id]
            # An alert under a configuration without a metric threshold is about no metric.
            metric = config.metric_threshold.metric if config.metric_threshold else None
            pairs.append(_Pair(config, observation, self._target(observation, metric)))
        return pairs

    def _alert(self, pair: _Pair) -> _ActiveAlert | None:
        """Return the active alert of a pair, after the changes by earlier signals and pairs."""
        return self._active.get(pair.target, {}).get(pair.config.id)

    def _add(
        self,
        decision: Decision,
        pair: _Pair,
        signal: Signal,
        at: datetime,
        changes: _Changes,
    ) -> None:
        """Add the decision to `changes` and to the active alerts, which later signals are compared with."""
        alert, config, target = self._alert(pair), pair.config, pair.target
        if alert and alert.view.created:
            # A changed configuration starts alerts at the time of evaluation, so the signal may be older.
            at = max(at, alert.view.created)
        active = self._active.setdefault(target, {})
        match decision.action:
            case AlertAction.START:
                start = NewAlert(
                    signal=signal,
                    config=config,
                    target=target,
                    facts=pair.observation.facts,
                    at=at,
                    value=decision.value,
                )
                changes.alerts.starts.append(start)
                active[config.id] = _ActiveAlert(start.id, AlertView(decision.value, at))
            case AlertAction.UPDATE if alert:
                changes.alerts.values[alert.id] = decision.value, at
                alert.view = AlertView(decision.value, alert.view.created)
            case AlertAction.CLOSE if alert:
                end = AlertEnd(signal=signal, at=at, value=decision.value, evaluated=tuple(self.evaluated))
                changes.alerts.ends[alert.id] = end
                changes.ended_targets.add(target)
                del active[config.id]
            case AlertAction.CANCEL if alert:
                changes.cancelled[alert.id] = at
                del active[config.id]
            case AlertAction.NOTIFY if event_id := pair.observation.event_id:
                changes.one_shots.append(OneShot(config.id, event_id, self._group_id, at))

    # --- apply ------------------------------------------------------------------------------------

    def apply(self) -> None:
        """Write the decided changes."""
        schedule_one_shots(self._unwritten.one_shots)
        alerts_change(changes=self._unwritten.alerts, group_id=self._group_id, now=self._now)
        self._unwritten = _Changes()


# --- open -----------------------------------------------------------------------------------------

# Projects take turns. An alert waits while a signal created until `opens` waits, which may end its condition.
# A grouped alert also waits while its project is evaluated, because it joins an incident.
_OPENING = f"""
SELECT opening.id FROM (
  SELECT id, config_id, group_id FROM (
    SELECT alert.id, alert.config_id, alert.group_id, opens,
           row_number() OVER (PARTITION BY alert.group_id ORDER BY opens, alert.id) AS place
      FROM alerting_alert AS alert
     WHERE status = 'TRACKING' AND opens <= %(now)s AND NOT EXISTS (
           SELECT FROM events_signal AS unread
            WHERE unread.group_id = alert.group_id AND unread.failed IS NULL
              AND unread.created <= alert.opens)
  ) AS waiting ORDER BY place, opens LIMIT %(limit)s
) AS opening LEFT JOIN alerting_alertconfig AS config ON config.id = opening.config_id
 WHERE coalesce(config.grouping, 'NONE') = 'NONE' OR ({TRY_EVALUATION_OF_OPENING})
"""  # noqa: S608 - built from constants


@transaction.atomic
def open_tracked(*, now: datetime) -> int:
    """Open up to OPENED_AT_ONCE alerts whose shortest delay has passed, and return their number.

    Alerts that another worker has locked are skipped.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OPENING, {"now": now, "limit": OPENED_AT_ONCE})
        ids = [alert_id for (alert_id,) in cursor.fetchall()]
    if not ids:
        return 0
    due = Alert.objects.filter(id__in=ids, status=AlertStatus.TRACKING.value, opens__lte=now)
    alerts = list(due.order_by("id").select_for_update(skip_locked=True))
    alerts_open(alerts=alerts, now=now)
    return len(alerts)
