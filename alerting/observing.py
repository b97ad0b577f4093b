"""What a signal, or the fleet as it stands, says: read from the database for the rules."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from accesslist.models import Project
from accesslist.selectors.second_factors import groups_without_second_factor, orgs_without_second_factor
from alerting.rules.observations import (
    Condition,
    Observation,
    of_agent,
    of_event,
    of_host,
    of_replica_set,
    of_second_factors,
)
from alerting.selectors.scopes import is_concerned
from automation.choices import AgentType
from automation.models import Agent, Host, Measurement
from automation.selectors.agents import agent_state, agents_named
from automation.selectors.hosts import host_state, newest_measurements
from automation.selectors.replica_sets import replica_set_state, replica_sets_there
from events.choices import SignalKind
from events.models import Signal
from events.types import EventType, Target

Payload = Mapping[str, Any]
Samples = Mapping[str, Sequence[float]]


def observations_of(signal: Signal, *, group_id: str) -> list[Observation]:
    """The observations of a project's signal; of a configuration's, what the fleet says now."""
    match SignalKind(signal.kind):
        case SignalKind.EVENT:
            return _of_event(signal.payload, group_id)
        case SignalKind.HOSTS:
            return _of_report(signal.payload, group_id)
        case SignalKind.CONFIG:
            return _of_fleet(group_id)
        case SignalKind.VERSIONS:
            return []


def _of_event(payload: Payload, group_id: str) -> list[Observation]:
    """An event of a known host or agent that is gone begins nothing; what happened is told all the same."""
    seen = of_event(payload)
    begins = any(one.condition is Condition.HOLDS for one in seen)
    return [] if begins and _is_gone(payload, group_id) else seen


def _is_gone(payload: Payload, group_id: str) -> bool:
    if EventType(payload["eventTypeName"]).spec.target is Target.AGENT:
        agent_type = AgentType(payload["sourceTypeName"])
        return not agents_named(group_id, agent_type, payload["hostname"]).exists()
    return payload.get("hostId") is not None and not _of_hosts_still_there([payload])


def _of_report(payload: Payload, group_id: str) -> list[Observation]:
    states = _of_hosts_still_there(payload["hosts"])
    ids = [state["measurementId"] for state in states if state["measurementId"] is not None]
    measured = Measurement.objects.in_bulk(ids) if ids and _metrics_matter(group_id) else {}
    seen = _of_states((state, measured.get(state["measurementId"])) for state in states)
    # Signals written by an older version have none.
    return [*seen, *_of_each(of_replica_set, payload.get("replicaSets", ()))]


def _of_hosts_still_there(states: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Without hosts deleted or moved since then: nothing would end an alert about them."""
    there = {
        host.id: host.address.key for host in Host.objects.filter(id__in=[one["hostId"] for one in states])
    }
    return [one for one in states if there.get(one["hostId"]) == (one["hostname"].lower(), one["port"])]


def _metrics_matter(group_id: str) -> bool:
    """Whether any configuration would look at measurements: most reports hold many, few are asked for."""
    return is_concerned(group_id, EventType.OUTSIDE_METRIC_THRESHOLD)


def _of_fleet(group_id: str) -> list[Observation]:
    hosts = list(Host.objects.filter(group_id=group_id).exclude(last_report=None).order_by("id"))
    newest = newest_measurements(host.id for host in hosts)
    agents = Agent.objects.filter(group_id=group_id).order_by("id")
    return [
        *_of_states((host_state(host), newest.get(host.id)) for host in hosts),
        *_of_each(of_agent, map(agent_state, agents)),
        *_of_each(of_replica_set, map(replica_set_state, replica_sets_there(group_id))),
        *_of_people(group_id),
    ]


def _of_people(group_id: str) -> list[Observation]:
    org_ids = Project.objects.filter(id=group_id).values_list("org_id", flat=True)
    return of_second_factors(
        missing_in_group=bool(groups_without_second_factor([group_id])),
        missing_in_org=bool(orgs_without_second_factor([one for one in org_ids if one])),
    )


def _of_each(
    say: Callable[[Mapping[str, Any]], list[Observation]], states: Iterable[Mapping[str, Any]]
) -> list[Observation]:
    return [one for state in states for one in say(state)]


def _of_states(states: Iterable[tuple[Mapping[str, Any], Measurement | None]]) -> list[Observation]:
    return [one for state, measured in states for one in of_host(state, _samples(measured))]


def _samples(measured: Measurement | None) -> Samples:
    if measured is None:
        return {}
    return {metric: [number for _, number in taken] for metric, taken in measured.metrics.items()}
