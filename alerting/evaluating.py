"""One signal held against the configurations it concerns, and what follows from it applied."""

import logging
from collections.abc import Iterable
from datetime import datetime

from alerting.choices import ACTIVE, AlertStatus
from alerting.models import Alert
from alerting.observing import observations_of
from alerting.rules.observations import Observation
from alerting.rules.transition import Action, AlertView, ConfigView, step, target_of
from alerting.selectors.configs import concerned_configs, single_config
from alerting.services.alerts import alert_close, alert_start, alert_update_value
from alerting.services.notifications import schedule_once
from events.choices import SignalKind
from events.models import Signal
from events.types import EventType

logger = logging.getLogger("opsapi.pipeline")


def evaluate(signal: Signal, *, now: datetime) -> None:
    """What the signal says, held against the configurations it can concern.

    It counts from the time it was written, so that delays are those of what happened; a changed
    configuration is held against the fleet as it is now.
    """
    since = signal.created
    if signal.kind == SignalKind.CONFIG.value:
        since = now
        configs = single_config(signal.payload["alertConfigId"])
        observations = observations_of(signal) if configs else []
    else:
        observations = observations_of(signal)
        configs = concerned_configs(signal.group_id, {one.event_type for one in observations})
    alerts = _active_alerts(configs)
    by_type: dict[EventType, list[Observation]] = {}
    for observation in observations:
        by_type.setdefault(observation.event_type, []).append(observation)
    for config in configs:
        for observation in by_type.get(config.event_type, ()):
            _decide(signal, config, observation, alerts, since=since)


def _active_alerts(configs: Iterable[ConfigView]) -> dict[tuple[str, str], Alert]:
    active = Alert.objects.filter(
        config_id__in=[config.id for config in configs],
        status__in=ACTIVE,
    )
    return {(alert.config_id, alert.target_key): alert for alert in active.order_by("id")}


def _decide(
    signal: Signal,
    config: ConfigView,
    observation: Observation,
    alerts: dict[tuple[str, str], Alert],
    *,
    since: datetime,
) -> None:
    target = target_of(config, observation)
    alert = alerts.get((config.id, target))
    view = AlertView(alert.id, AlertStatus(alert.status), alert.current_value) if alert else None
    try:
        decision = step(config, observation, view)
    except (ValueError, ArithmeticError):
        # One configuration that cannot be judged does not silence the others.
        logger.exception("configuration %s cannot be held against signal %s", config.id, signal.pk)
        return
    if decision.action is Action.START:
        started = alert_start(
            config=config,
            group_id=signal.group_id,
            target=target,
            facts=observation.facts,
            value=decision.value,
            now=since,
        )
        if started:
            alerts[config.id, target] = started
    elif decision.action is Action.TELL_ONCE and observation.event_id:
        schedule_once(config_id=config.id, group_id=signal.group_id, event_id=observation.event_id, now=since)
    elif alert and decision.action is Action.UPDATE:
        alert_update_value(alert=alert, value=decision.value, now=since)
    elif alert and decision.action is Action.CLOSE:
        alert_close(alert=alert, value=decision.value, now=since)
        del alerts[config.id, target]
