"""One signal held against the configurations it concerns, and what follows from it applied."""

import logging
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from alerting.models import Alert
from alerting.observing import observations_of
from alerting.passing_on import is_passed_on, pass_on
from alerting.rules.observations import Observation
from alerting.rules.transition import Action, AlertView, ConfigView, Decision, step, target_of
from alerting.selectors.config_views import concerned_configs, single_config
from alerting.services.alerts import (
    NewAlert,
    alert_update_value,
    alerts_cancel,
    alerts_close,
    alerts_start,
)
from alerting.services.notifications import schedule_once
from alerting.services.purge import left_clusters_alerting_end
from automation.metrics import Metric
from automation.services.versions import versions_weigh
from events.choices import SignalKind
from events.models import Signal
from events.types import EventType
from opsapi.api.principal import SYSTEM

logger = logging.getLogger("opsapi.pipeline")

Alerts = dict[tuple[str, str], Alert]

_ACTIVE = """
SELECT * FROM alerting_alert
 WHERE group_id = %(group_id)s AND target_key = ANY(%(targets)s)
   AND status IN ('TRACKING', 'OPEN')
"""


def evaluate(signal: Signal, *, now: datetime) -> None:
    """What the signal says, held against the configurations it can concern.

    It counts from the time it was written, so that delays are those of what happened; a changed
    configuration is held against the fleet as it is now.
    """
    if signal.group_id is None:
        pass_on(signal)
        return
    if signal.kind == SignalKind.VERSIONS.value:
        versions_weigh(group_id=signal.group_id, now=now)
        return
    since = signal.created
    if signal.kind == SignalKind.HOSTS.value:
        # Signals written by an older version have none.
        left_clusters_alerting_end(cluster_ids=signal.payload.get("clustersLeft", ()), now=since)
    if signal.kind == SignalKind.CONFIG.value:
        since = now
        configs = single_config(signal.payload["alertConfigId"], group_id=signal.group_id)
        observations = observations_of(signal, group_id=signal.group_id) if configs else []
    else:
        observations = observations_of(signal, group_id=signal.group_id)
        configs = concerned_configs(signal.group_id, {one.event_type for one in observations})
        if is_passed_on(signal):
            configs = [config for config in configs if not config.is_global]
    cases = _cases(configs, observations)
    alerts = _active_alerts(signal.group_id, {case.target for case in cases})
    evaluation = _Evaluation(signal, since, alerts)
    for case in cases:
        _decide(evaluation, case)
    alerts_start(starts=evaluation.starts, signal=signal, group_id=signal.group_id, now=since)
    alerts_close(values=evaluation.ended, group_id=signal.group_id, now=since)


@dataclass(frozen=True, slots=True)
class _Case:
    """One observation that concerns one configuration, and the target it sees there."""

    config: ConfigView
    observation: Observation
    target: str

    @property
    def key(self) -> tuple[str, str]:
        """Of its active alert."""
        return self.config.id, self.target


def _cases(configs: Iterable[ConfigView], observations: Iterable[Observation]) -> list[_Case]:
    by_type: dict[EventType, list[Observation]] = {}
    for observation in observations:
        by_type.setdefault(observation.event_type, []).append(observation)
    # Many configurations look at the same few targets.
    targets: dict[tuple[int, Metric | None], str] = {}
    cases = []
    for config in configs:
        metric = config.metric_threshold.metric if config.metric_threshold else None
        for observation in by_type.get(config.event_type, ()):
            target = targets.get((id(observation), metric))
            if target is None:
                target = targets[id(observation), metric] = target_of(config, observation)
            cases.append(_Case(config, observation, target))
    return cases


def _active_alerts(group_id: str, targets: Collection[str]) -> Alerts:
    """By configuration and target; their number does not matter, they are found by their targets."""
    active = Alert.objects.raw(_ACTIVE, {"group_id": group_id, "targets": list(targets)})
    return {(alert.config_id, alert.target_key): alert for alert in active}


@dataclass(frozen=True, slots=True)
class _Evaluation:
    """One signal in hand, with the active alerts about what it names.

    Alerts that are to begin, and the last values of those that ended by their ids, are kept until all is
    decided: however many they are, that takes as many statements as one.
    """

    signal: Signal
    since: datetime
    alerts: Alerts
    starts: list[NewAlert] = field(default_factory=list)
    ended: dict[str, float | None] = field(default_factory=dict)


def _decide(evaluation: _Evaluation, case: _Case) -> None:
    alert = evaluation.alerts.get(case.key)
    try:
        decision = step(case.config, case.observation, _view(alert) if alert else None)
    except (ValueError, ArithmeticError):
        # One configuration that cannot be judged does not silence the others.
        logger.exception(
            "configuration %s cannot be held against signal %s", case.config.id, evaluation.signal.pk
        )
        return
    logger.debug("%s for configuration %s: %s", decision.action.value, case.config.id, decision.reason.value)
    if alert:
        _apply_to(alert, decision, case, evaluation)
    else:
        _apply(decision, case, evaluation)


def _view(alert: Alert) -> AlertView:
    return AlertView(alert.current_value, alert.created)


def _apply(decision: Decision, case: _Case, evaluation: _Evaluation) -> None:
    group_id, seen, since = evaluation.signal.group_id, case.observation, evaluation.since
    if decision.action is Action.START:
        start = NewAlert(config=case.config, target=case.target, facts=seen.facts, value=decision.value)
        evaluation.starts.append(start)
    elif decision.action is Action.TELL_ONCE and seen.event_id:
        schedule_once(config_id=case.config.id, group_id=group_id, event_id=seen.event_id, now=since)


def _apply_to(alert: Alert, decision: Decision, case: _Case, evaluation: _Evaluation) -> None:
    if decision.action is Action.UPDATE:
        alert_update_value(alert=alert, value=decision.value, now=evaluation.since)
    elif decision.action is Action.CLOSE:
        evaluation.ended[alert.id] = decision.value
        del evaluation.alerts[case.key]
    elif decision.action is Action.CANCEL:
        alerts_cancel(alerts=Alert.objects.filter(id=alert.id), actor=SYSTEM, now=evaluation.since)
        del evaluation.alerts[case.key]
