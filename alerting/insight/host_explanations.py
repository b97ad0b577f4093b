"""Why an alert configuration alerts on a host now, or why it does not: reads the facts for the rule."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.configs.models import AlertConfig
from alerting.configs.store import config_view, shortest_delays
from alerting.engine.evaluation import waits_for_reports
from alerting.engine.observations import Condition, Observation
from alerting.engine.signal_observations import observations_of_host
from alerting.engine.transition import target_of
from alerting.incidents.choices import ACTIVE, AlertStatus
from alerting.incidents.models import Alert
from alerting.insight.host_reasons import ActiveAlert, Explanation, Situation, explain
from alerting.windows.store import muting_windows
from automation.hosts.store import host_state
from automation.models import Host
from events.types import EVENT_TYPES, EventType, Target, openers_of

_ABOUT_PRIMARIES = openers_of(EventType.ONE_PRIMARY)


@dataclass(frozen=True, slots=True, kw_only=True)
class HostExplanation:
    """An explanation, with the active alert, the window that mutes it, and the time of the measurements."""

    explanation: Explanation
    alert_id: str | None
    window_id: str | None
    measured: datetime | None


def explain_config(*, config: AlertConfig, host: Host, now: datetime) -> HostExplanation:
    """Explain whether the configuration of a project alerts on one of its hosts now. Nothing is written."""
    view = config_view(config)
    seen, measured = observations_of_host(host, now)
    observed = next((observation for observation in seen if observation.event_type is view.event_type), None)
    observed = observed or _unobserved(view.event_type, host, seen)
    alert = window = None
    mute_is_known = True
    if observed is not None:
        target, active = target_of(observed, view.metric), [status.value for status in ACTIVE]
        alert = Alert.objects.filter(
            config_id=config.id, group_id=host.group_id, target_key=target, status__in=active
        ).first()
        about = alert or Alert(group_id=host.group_id, event_type=config.event_type, facts=observed.facts)
        muted = muting_windows([about], now=now)
        window, mute_is_known = muted.get(about.id), about.id not in muted.unknown
    situation = Situation(
        config=view,
        delay=shortest_delays([config.id]).get(config.id, timedelta()),
        enabled=config.enabled,
        observed=observed,
        reported=host.last_report is not None,
        measured=measured,
        alert=_active(alert, now) if alert else None,
        window=window.rule.name if window else None,
        mute_is_known=mute_is_known,
        now=now,
    )
    return HostExplanation(
        explanation=explain(situation),
        alert_id=alert.id if alert else None,
        window_id=window.id if window else None,
        measured=measured,
    )


def _active(alert: Alert, now: datetime) -> ActiveAlert:
    return ActiveAlert(
        id=alert.id,
        status=AlertStatus(alert.status),
        current_value=alert.current_value,
        opens=alert.opens,
        is_unconfirmed=waits_for_reports(alert, now=now),
    )


def _unobserved(event_type: EventType, host: Host, seen: list[Observation]) -> Observation | None:
    """The facts about the target of an event type that the current state does not show."""
    target = EVENT_TYPES[event_type].target
    if target is Target.HOST_METRIC:
        return Observation(event_type, Condition.MEASURED, host_state(host))
    if target is Target.HOST:
        return Observation(event_type, Condition.HAPPENED, host_state(host))
    of_sets = [
        observation
        for observation in seen
        if EVENT_TYPES[observation.event_type].target is Target.REPLICA_SET
    ]
    if target is not Target.REPLICA_SET or not of_sets:
        return None
    # With no primary, the state says nothing about several primaries, and the other way round.
    condition = Condition.ENDED if event_type in _ABOUT_PRIMARIES else Condition.HAPPENED
    return Observation(event_type, condition, of_sets[0].facts)
