"""The observations of a signal, one per event type and target, in the form that rules evaluate.

To add a condition of a host: add its opening and closing rows to `events.types`; add its key to the state of
hosts (`automation.hosts.store.host_state`); add a line to `of_host`, with `.get(key, False)`, because stored
signals of older versions lack the key; add its sentence to `insight.timeline_events`. A new kind of target
also needs `transition._FACTS`, the signals that wait (`signal_observations`) and `observations_of_fleet`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from alerting.configs.matchers import MatchSubject, subject_of
from automation.agents.rules import AGENT_DOWN, AGENT_VERSION_BEHIND
from automation.choices import AgentType, HostType
from automation.metrics import OF_PRIMARIES, OF_SECONDARIES, Metric
from events.types import EVENT_TYPES, AlertEffect, EventType, Target, openers_of
from opsapi.clock import parse_time

_ABOUT_REPLICA_SETS = tuple(
    event_type
    for event_type, spec in EVENT_TYPES.items()
    if spec.target is Target.REPLICA_SET and spec.kind is AlertEffect.OPENING
)


OF_PLANS = openers_of(EventType.AUTOMATION_PLAN_CONTINUED)
"""The event types about plans: one event can end both, so the state of the plan decides which have ended."""
METRICS_GONE: Mapping[EventType, frozenset[Metric]] = {
    EventType.HOST_NOW_PRIMARY: OF_SECONDARIES,
    EventType.HOST_NOW_STANDALONE: OF_SECONDARIES,
    EventType.HOST_NOW_SECONDARY: OF_PRIMARIES,
}
"""By the event of a new role, the metrics that the host had in its former role only."""


class Condition(StrEnum):
    """The state of the condition of an event type."""

    HOLDS = "HOLDS"
    ENDED = "ENDED"
    MEASURED = "MEASURED"
    """The threshold of the configuration decides."""
    HAPPENED = "HAPPENED"
    """Notifies once; opens no alert."""
    GONE = "GONE"
    """The target is gone, or a host no longer has the metrics in `samples`: the alert is cancelled."""


@dataclass(frozen=True, slots=True)
class Observation:
    """An observed condition; `facts` under their wire names.

    For thresholds: `samples` per metric in its base unit, or a `count` of members. `happened`: the time from
    the reporter, if any.
    """

    event_type: EventType
    condition: Condition
    facts: Mapping[str, Any]
    samples: Mapping[str, Sequence[float]] = field(default_factory=dict)
    count: int | None = None
    event_id: str | None = None
    happened: datetime | None = None

    @property
    def subject(self) -> MatchSubject:
        return subject_of(self.facts)


def of_event(payload: Mapping[str, Any]) -> list[Observation]:
    """An event: what it opens, notifies once, or, for a closing type, everything it ends.

    A new role of a host ends its alerts about metrics of its former role. Metrics that are missing for
    another reason end no alert.
    """
    event_type = EventType(payload["eventTypeName"])
    spec = EVENT_TYPES[event_type]
    if spec.closes:
        happened = parse_time(payload["happened"]) if "happened" in payload else None
        return [
            Observation(opener, Condition.ENDED, payload, happened=happened)
            for opener in openers_of(event_type)
        ]
    condition = Condition.HAPPENED if spec.one_shot else Condition.HOLDS
    seen = [Observation(event_type, condition, payload, event_id=payload["eventId"])]
    if ended := METRICS_GONE.get(event_type):
        metrics = {metric.value: () for metric in sorted(ended)}
        gone = Observation(EventType.OUTSIDE_METRIC_THRESHOLD, Condition.GONE, payload, metrics)
        seen.append(gone)
    return seen


def of_host(state: Mapping[str, Any], samples: Mapping[str, Sequence[float]]) -> list[Observation]:
    """The state of a host: up or down, measured, recovering, behind in version, and its measurements."""
    holds = {
        EventType.HOST_DOWN: not state["reachable"],
        # Signals of an older version do not have it.
        EventType.HOST_NOT_MEASURED: state.get("notMeasured", False),
        EventType.HOST_RECOVERING: state["typeName"] == HostType.RECOVERING,
        EventType.VERSION_BEHIND: state.get("versionBehind", False),
    }
    return [*_states(holds, state), *of_samples(state, samples), *_of_config_server(state, samples)]


def of_samples(state: Mapping[str, Any], samples: Mapping[str, Sequence[float]]) -> list[Observation]:
    """The measurements of a host, if there are any."""
    if not samples:
        return []
    return [Observation(EventType.OUTSIDE_METRIC_THRESHOLD, Condition.MEASURED, state, samples)]


def _of_config_server(state: Mapping[str, Any], samples: Mapping[str, Sequence[float]]) -> list[Observation]:
    """The metrics that a config server does not have in the role that its measurements show.

    Config servers have one type in both roles, so no event says that the role of such a host has changed.
    """
    if state["typeName"] != HostType.SHARD_CONFIG:
        return []
    is_primary, is_secondary = (
        not samples.keys().isdisjoint(own - other)
        for own, other in ((OF_PRIMARIES, OF_SECONDARIES), (OF_SECONDARIES, OF_PRIMARIES))
    )
    if is_primary == is_secondary:
        return []
    ended = OF_SECONDARIES if is_primary else OF_PRIMARIES
    metrics = {metric.value: () for metric in sorted(ended) if metric not in samples}
    return [Observation(EventType.OUTSIDE_METRIC_THRESHOLD, Condition.GONE, state, metrics)]


def of_agent(state: Mapping[str, Any]) -> list[Observation]:
    """The state of an agent: heartbeat timeout, and behind in version."""
    agent_type = AgentType(state["sourceTypeName"])
    holds = {AGENT_DOWN[agent_type]: state["down"]}
    if agent_type in AGENT_VERSION_BEHIND:
        holds[AGENT_VERSION_BEHIND[agent_type]] = state["versionBehind"]
    return _states(holds, state)


def of_plan(state: Mapping[str, Any]) -> list[Observation]:
    """The state of a plan at a host: stopped, and waiting for long."""
    holds = {
        EventType.AUTOMATION_PLAN_STOPPED: state["planStopped"],
        EventType.AUTOMATION_PLAN_WAITING: state["planWaits"],
    }
    return _states(holds, state)


def of_second_factors(*, missing_in_group: bool, missing_in_org: bool) -> list[Observation]:
    """Whether a user of the project, or of its organization, has no second factor."""
    holds = {
        EventType.USERS_WITHOUT_MULTI_FACTOR_AUTH: missing_in_group,
        EventType.ORG_USERS_WITHOUT_MFA: missing_in_org,
    }
    return _states(holds, {})


def of_replica_set(state: Mapping[str, Any]) -> list[Observation]:
    """A replica set's state: its primaries and its healthy members; without members it is gone.

    An unknown member may be the primary, so the state of the primary is unknown.
    ONE_PRIMARY closes alerts about primaries: if one condition follows another, neither has ended.
    """
    primaries, healthy, unhealthy = state["primaries"], state["healthy"], state["unhealthy"]
    # Signals of an older version have no unknown members.
    if not healthy + unhealthy + state.get("unknown", 0):
        return [Observation(opener, Condition.GONE, state) for opener in _ABOUT_REPLICA_SETS]
    counted = [
        Observation(EventType.TOO_FEW_HEALTHY_MEMBERS, Condition.MEASURED, state, count=healthy),
        Observation(EventType.TOO_MANY_UNHEALTHY_MEMBERS, Condition.MEASURED, state, count=unhealthy),
    ]
    if primaries == 1:
        ended = openers_of(EventType.ONE_PRIMARY)
        return [*(Observation(opener, Condition.ENDED, state) for opener in ended), *counted]
    if state.get("primaryUnknown", False):
        return counted
    begun = EventType.MULTIPLE_PRIMARIES if primaries else EventType.NO_PRIMARY
    return [Observation(begun, Condition.HOLDS, state), *counted]


def _states(holds: Mapping[EventType, bool], facts: Mapping[str, Any]) -> list[Observation]:
    return [
        Observation(event_type, Condition.HOLDS if holding else Condition.ENDED, facts)
        for event_type, holding in holds.items()
    ]
