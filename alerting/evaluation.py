"""Evaluation: from signals to alerts. Read from top to bottom.

    take ─► collect ─► decide ─► apply    `evaluate_signals`: one project, or what happened without one,
                                          at a time, in one transaction
    open                                  `open_tracked`: alerts whose delay has passed

Take gets the waiting signals of the project whose turn it is (`services.turns`). Collect reads for all of
them together what they say, which configurations it may concern, and the active alerts about it. Decide holds
one signal after the other against them (`rules.transition.step`), and keeps the changes. Apply writes the
changes of many signals with as many statements as those of one.

The worker calls both functions again and again; each answers whether it found work. `delivery` goes on from
there.
"""

import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby

from django.db import connection, transaction

from alerting.choices import AlertStatus
from alerting.fan_out import fan_out, is_fanned_out
from alerting.models import Alert
from alerting.rules.config_index import ConfigIndex
from alerting.rules.observations import Observation
from alerting.rules.transition import AlertAction, AlertView, ConfigView, Decision, step, target_of
from alerting.selectors.config_views import concerned_configs, single_config
from alerting.services.alerts import (
    AlertChanges,
    AlertEnd,
    NewAlert,
    alerts_cancel,
    alerts_change,
    alerts_open,
)
from alerting.services.notifications import OneShot, schedule_one_shots
from alerting.services.purge import left_clusters_alerting_end
from alerting.services.turns import signals_delete, turn_take
from alerting.signal_observations import observations_of
from automation.metrics import Metric
from automation.services.versions import versions_weigh
from events.choices import SignalKind
from events.models import Signal
from opsapi.api.principal import SYSTEM
from opsapi.postgresql.faults import passes

logger = logging.getLogger("opsapi.pipeline")

Seen = Sequence[Observation]
"""What one signal says."""

EVALUATION_SECONDS = 0.5
"""The time after which a transaction takes no further signal: its rows stay locked until it ends."""
CHANGES_AT_ONCE = 1_000
"""The number of changes that are kept before they are written."""
OPENED_AT_ONCE = 100

_ACTIVE = """
SELECT id, config_id, target_key, current_value, created FROM alerting_alert
 WHERE group_id = %(group_id)s AND target_key = ANY(%(targets)s)
   AND status IN ('TRACKING', 'OPEN')
"""
_OPENING = """
SELECT id FROM (
    SELECT alert.id, opens, row_number() OVER (PARTITION BY alert.group_id ORDER BY opens, alert.id) AS turn
      FROM alerting_alert AS alert
     WHERE status = 'TRACKING' AND opens <= %(now)s AND NOT EXISTS (
           SELECT FROM events_signal AS unread
            WHERE unread.group_id = alert.group_id AND unread.failed IS NULL
              AND unread.created <= alert.opens)
) AS opening ORDER BY turn, opens LIMIT %(limit)s
"""


# --- take -----------------------------------------------------------------------------------------


@transaction.atomic
def evaluate_signals(*, now: datetime) -> int:
    """Evaluate the oldest signals of one project, or of no project, that no other worker holds.

    Return how many were found: 0 if none waits, and 1 at least if any did. Projects take turns: however many
    signals and configurations one has, it delays itself only.
    """
    turn = turn_take(now=now)
    if turn is None:
        return 0
    if turn.is_deleted:
        return turn.drop_signals() or 1
    signals = turn.next_signals()
    until = time.monotonic() + EVALUATION_SECONDS
    for batch in _batches(signals):
        _evaluate(batch, now=now, until=until)
        # The transaction ends early: weighing versions locks rows for which reports wait, and passing on
        # writes signals for hundreds of projects.
        is_last = turn.group_id is None or batch[0].kind == SignalKind.VERSIONS.value
        if is_last or time.monotonic() > until:
            break
    return len(signals) or 1


def _batches(signals: Iterable[Signal]) -> Iterator[list[Signal]]:
    """Yield signals that are evaluated together; a signal with effects of its own is alone."""
    for alone, run in groupby(signals, key=_has_own_effects):
        together = list(run)
        yield from [[signal] for signal in together] if alone else [together]


def _has_own_effects(signal: Signal) -> bool:
    special = signal.kind in {SignalKind.CONFIG.value, SignalKind.VERSIONS.value}
    return special or signal.group_id is None or bool(signal.payload.get("clustersLeft"))


def _evaluate(signals: Sequence[Signal], *, now: datetime, until: float) -> None:
    """Evaluate signals, the first at least, and delete them.

    A signal that cannot be evaluated is set aside: it neither stops the others nor vanishes.
    """
    try:
        with transaction.atomic():
            done = _evaluate_all(signals, now, until)
            signals_delete(done)
    except Exception as error:  # whatever it is, the other signals of the project still count
        if passes(error):
            raise
        if len(signals) > 1:
            logger.warning("%d signals failed together, halves are tried", len(signals), exc_info=True)
            middle = len(signals) // 2
            _evaluate(signals[:middle], now=now, until=until)
            if time.monotonic() <= until:
                _evaluate(signals[middle:], now=now, until=until)
            return
        logger.exception("signal %s cannot be evaluated and was set aside", signals[0].pk)
        Signal.objects.filter(pk=signals[0].pk).update(failed=now)


def _evaluate_all(signals: Sequence[Signal], now: datetime, until: float) -> list[int]:
    """Evaluate signals that are taken together, and answer which; `until` ends it after the first.

    A signal counts from the time at which it was written, so that delays are those of what happened; a
    changed configuration is held against the fleet as it is now.
    """
    first = signals[0]
    if first.group_id is None:
        fan_out(first)
        return [first.pk]
    if first.kind == SignalKind.VERSIONS.value:
        versions_weigh(group_id=first.group_id, now=now)
        return [first.pk]
    if clusters := first.payload.get("clustersLeft"):
        left_clusters_alerting_end(cluster_ids=clusters, now=first.created)
    evaluation = _Evaluation(first.group_id, now, _collect(signals, first.group_id))
    for signal in signals:
        evaluation.hold(signal)
        if time.monotonic() > until:
            break
    evaluation.apply()
    return evaluation.done


# --- collect --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Active:
    """An active alert, as it is after the signals held so far."""

    id: str
    value: float | None
    created: datetime

    def view(self) -> AlertView:
        return AlertView(self.value, self.created)


@dataclass(slots=True)
class _Collected:
    """What signals are held against: what each says, by its id, configurations, and active alerts.

    `active`: the alerts about what the signals name, by target and configuration; however many others.
    """

    seen: Mapping[int, Seen]
    index: ConfigIndex
    active: dict[str, dict[str, _Active]] = field(default_factory=dict)
    _targets: dict[tuple[int, Metric | None], str] = field(default_factory=dict)

    def target(self, observation: Observation, metric: Metric | None) -> str:
        """What an alert about the observation is about; many configurations look at the same few targets."""
        key = id(observation), metric
        if key not in self._targets:
            self._targets[key] = target_of(observation, metric)
        return self._targets[key]

    def targets(self) -> set[str]:
        """All of them."""
        observations = [one for seen in self.seen.values() for one in seen]
        return {self.target(one, metric) for one in observations for metric in self.index.metrics(one)}


def _collect(signals: Sequence[Signal], group_id: str) -> _Collected:
    """Read it, with as many statements for many signals as for one."""
    observations = observations_of(signals, group_id=group_id)
    seen = {signal.pk: said for signal, said in zip(signals, observations, strict=True)}
    if signals[0].kind == SignalKind.CONFIG.value:
        configs = single_config(signals[0].payload["alertConfigId"], group_id=group_id)
    else:
        configs = concerned_configs(group_id, {one.event_type for said in observations for one in said})
    collected = _Collected(seen, ConfigIndex(configs))
    if targets := collected.targets():
        with connection.cursor() as cursor:
            cursor.execute(_ACTIVE, {"group_id": group_id, "targets": list(targets)})
            for alert_id, config_id, target, value, created in cursor.fetchall():
                collected.active.setdefault(target, {})[config_id] = _Active(alert_id, value, created)
    return collected


# --- decide ---------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Changes:
    """Decisions that are not yet written; alerts that are cancelled are those of one signal alone."""

    alerts: AlertChanges = field(default_factory=AlertChanges)
    one_shots: list[OneShot] = field(default_factory=list)
    ended_targets: set[str] = field(default_factory=set)
    cancelled: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        alerts = self.alerts
        return len(alerts.starts) + len(alerts.values) + len(alerts.ends) + len(self.one_shots)

    def add(self, later: "_Changes") -> None:
        self.alerts.starts += later.alerts.starts
        self.alerts.values |= later.alerts.values
        self.alerts.ends |= later.alerts.ends
        self.one_shots += later.one_shots
        self.ended_targets |= later.ended_targets


@dataclass(frozen=True, slots=True)
class _Case:
    """An observation held against a configuration, the target it sees there, and the alert about it."""

    signal: Signal
    since: datetime
    evaluated: Collection[int]
    config: ConfigView
    observation: Observation
    target: str
    alert: _Active | None

    def start(self, value: float | None) -> NewAlert:
        facts = self.observation.facts
        return NewAlert(
            signal=self.signal,
            config=self.config,
            target=self.target,
            facts=facts,
            at=self.since,
            value=value,
        )


def _decision(
    signal: Signal, config: ConfigView, observation: Observation, alert: _Active | None
) -> Decision | None:
    """What is to be done; None if it cannot be told: such a configuration does not silence the others."""
    try:
        decision = step(config, observation, alert.view() if alert else None)
    except (ValueError, ArithmeticError):
        logger.exception("configuration %s cannot be held against signal %s", config.id, signal.pk)
        return None
    logger.debug("%s for configuration %s: %s", decision.action.value, config.id, decision.reason.value)
    return decision


class _Evaluation:
    """Signals of one project held against its configurations, one after the other."""

    def __init__(self, group_id: str, now: datetime, collected: _Collected) -> None:
        self.done: list[int] = []
        self._group_id, self._now = group_id, now
        self._collected = collected
        self._waiting = _Changes()

    def hold(self, signal: Signal) -> None:
        """Decide what the signal changes; what waits is written first where the order needs it."""
        since = self._now if signal.kind == SignalKind.CONFIG.value else signal.created
        changes, evaluated = _Changes(), tuple(self.done)
        for config, observation, target in self._cases(signal):
            alert = self._collected.active.get(target, {}).get(config.id)
            if decision := _decision(signal, config, observation, alert):
                case = _Case(signal, since, evaluated, config, observation, target, alert)
                self._note(decision, case, changes)
        # Within a signal alerts begin before others end. Where one has ended and one begins about the same
        # target, receivers have to hear it in this order, and a configuration has one active alert at a time.
        begins_again = any(start.target in self._waiting.ended_targets for start in changes.alerts.starts)
        if begins_again or changes.cancelled or len(self._waiting) >= CHANGES_AT_ONCE:
            self.apply()
        if changes.cancelled:
            alerts = Alert.objects.filter(id__in=changes.cancelled)
            alerts_cancel(alerts=alerts, actor=SYSTEM, now=since)
        self._waiting.add(changes)
        self.done.append(signal.pk)

    def _cases(self, signal: Signal) -> Iterator[tuple[ConfigView, Observation, str]]:
        """Where there may be something to do: an alert may begin, or there is one; by configuration."""
        observations, index = self._collected.seen[signal.pk], self._collected.index
        found: set[tuple[int, int]] = set()
        for number, observation in enumerate(observations):
            found.update((place, number) for place in index.beginning(observation))
            for metric in index.metrics(observation):
                for config_id in self._collected.active.get(self._collected.target(observation, metric), ()):
                    place = index.place(config_id, observation.event_type)
                    if place is not None:
                        found.add((place, number))
        fanned_out = is_fanned_out(signal)
        for place, number in sorted(found):
            config, observation = index.configs[place], observations[number]
            if not (fanned_out and config.is_global):
                metric = config.metric_threshold.metric if config.metric_threshold else None
                yield config, observation, self._collected.target(observation, metric)

    def _note(self, decision: Decision, case: "_Case", changes: _Changes) -> None:
        alert, config, since = case.alert, case.config, case.since
        of_target = self._collected.active.setdefault(case.target, {})
        match decision.action:
            case AlertAction.START:
                start = case.start(decision.value)
                changes.alerts.starts.append(start)
                of_target[config.id] = _Active(start.id, decision.value, since)
            case AlertAction.UPDATE if alert:
                changes.alerts.values[alert.id] = decision.value, since
                alert.value = decision.value
            case AlertAction.CLOSE if alert:
                end = AlertEnd(signal=case.signal, at=since, value=decision.value, evaluated=case.evaluated)
                changes.alerts.ends[alert.id] = end
                changes.ended_targets.add(case.target)
                del of_target[config.id]
            case AlertAction.CANCEL if alert:
                changes.cancelled.append(alert.id)
                del of_target[config.id]
            case AlertAction.NOTIFY if event_id := case.observation.event_id:
                changes.one_shots.append(OneShot(config.id, event_id, self._group_id, since))

    # --- apply ------------------------------------------------------------------------------------

    def apply(self) -> None:
        """Write what waits."""
        schedule_one_shots(self._waiting.one_shots)
        alerts_change(changes=self._waiting.alerts, group_id=self._group_id, now=self._now)
        self._waiting = _Changes()


# --- open -----------------------------------------------------------------------------------------


@transaction.atomic
def open_tracked(*, now: datetime) -> int:
    """Open alerts whose smallest delay has passed, and return how many.

    Those another worker has in hand are left to it.
    Where signals from before that moment wait to be evaluated, the condition may have ended: they go first.
    """
    with connection.cursor() as cursor:
        cursor.execute(_OPENING, {"now": now, "limit": OPENED_AT_ONCE})
        ids = [name for (name,) in cursor.fetchall()]
    if not ids:
        return 0
    due = Alert.objects.filter(id__in=ids, status=AlertStatus.TRACKING.value, opens__lte=now)
    alerts = list(due.order_by("id").select_for_update(skip_locked=True))
    alerts_open(alerts=alerts, now=now)
    return len(alerts)
