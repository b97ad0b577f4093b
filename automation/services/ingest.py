"""Taking an agent's report: heartbeat, inventory, measurements, events, all or nothing (decisions 8).

However much a report holds, the number of statements is the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.db import transaction
from django.db.models.functions import Lower

from accesslist.services.locks import project_hold
from automation.models import Agent, Host, Measurement, ProcessStatus
from automation.reports import Address, EventReport, HostReport, Report, Samples
from automation.rules import reachability_event
from automation.selectors import facts_of_host, host_state
from automation.services.inventory import (
    ClustersByName,
    HostsByKey,
    clusters_named,
    databases_replace,
    hosts_named,
    hosts_update,
    known_clusters,
)
from events.choices import SignalKind
from events.facts import EventFacts
from events.services import NewEvent, events_record, signal_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.clock import wire_time

ROWS_AT_ONCE = 5_000
"""So many rows go in one statement: one has at most 65,535 parameters."""


@transaction.atomic
def report_ingest(*, group_id: str, report: Report, actor: Actor, now: datetime) -> None:
    """Take one report. What it said can be read when this returns; alerts follow from its signals.

    Raises:
        ApiError: GROUP_NOT_FOUND, when the project was deleted in the meantime.
    """
    project_hold(group_id=group_id)
    new_agent = _agent_seen(group_id, report, now)
    names = {one.cluster_name for one in report.hosts if one.cluster_name is not None}
    clusters = clusters_named(group_id=group_id, names=names, now=now)
    hosts, added = hosts_named(
        group_id=group_id,
        reported=[one.address for one in report.hosts],
        mentioned=_mentioned(report.events),
        now=now,
    )
    edges = _reachability_edges(hosts, report.hosts)
    hosts_update(hosts=hosts, reports=report.hosts, clusters=clusters, now=now)
    databases_replace(hosts=hosts, reports=report.hosts)
    measurements = _insert_measurements(hosts, report.hosts, now)
    _replace_processes(group_id, report, now)
    derived = [*new_agent, *_new_hosts(added), *_reachability(edges)]
    told = _reported(group_id, report.events, hosts)
    events_record(events=[*derived, *told], actor=actor, now=now, group_id=group_id)
    if report.hosts:
        states = [_state(hosts[one.address.key], measurements) for one in report.hosts]
        signal_record(group_id=group_id, kind=SignalKind.HOSTS, payload={"hosts": states}, now=now)


def _agent_seen(group_id: str, report: Report, now: datetime) -> list[NewEvent]:
    """Its heartbeat; an agent that was not known is added, and told of."""
    known = Agent.objects.filter(group_id=group_id, agent_type=report.agent_type.value)
    named = known.annotate(key=Lower("hostname")).filter(key=report.hostname.lower())
    if named.update(last_report=now, version=report.version):
        return []
    agent = Agent(
        group_id=group_id,
        agent_type=report.agent_type.value,
        hostname=report.hostname,
        version=report.version,
        created=now,
        last_report=now,
    )
    Agent.objects.bulk_create([agent], ignore_conflicts=True)
    if not Agent.objects.filter(id=agent.id).exists():
        return []
    facts = EventFacts(hostname=report.hostname, source_type_name=report.agent_type.value)
    return [NewEvent(event_type=EventType.NEW_AGENT, facts=facts)]


def _mentioned(events: Iterable[EventReport]) -> list[Address]:
    return [
        Address(event.hostname, event.port)
        for event in events
        if event.hostname is not None and event.port is not None
    ]


def _reachability_edges(hosts: HostsByKey, reports: Sequence[HostReport]) -> list[tuple[Host, EventType]]:
    """The hosts found down or back up, held against their state before the report."""
    edges = []
    for report in reports:
        host = hosts[report.address.key]
        event_type = reachability_event(was_down=host.down, reachable=report.reachable)
        if event_type:
            edges.append((host, event_type))
    return edges


def _new_hosts(added: Iterable[Host]) -> list[NewEvent]:
    return [
        NewEvent(event_type=EventType.NEW_HOST, facts=facts_of_host(host), signal_facts=host_state(host))
        for host in added
    ]


def _reachability(edges: Iterable[tuple[Host, EventType]]) -> list[NewEvent]:
    # They make no signals: the report's own carries the state.
    return [
        NewEvent(event_type=event_type, facts=facts_of_host(host), signals=False)
        for host, event_type in edges
    ]


def _insert_measurements(
    hosts: HostsByKey, reports: Sequence[HostReport], now: datetime
) -> dict[str, Measurement]:
    """One row per host that measured anything, by host id."""
    rows = {
        hosts[one.address.key].id: Measurement(
            host=hosts[one.address.key],
            reported=now,
            metrics=_stored(one.samples),
            databases={name: _stored(samples) for name, samples in (one.databases or {}).items() if samples},
        )
        for one in reports
        if one.samples or any((one.databases or {}).values())
    }
    Measurement.objects.bulk_create(rows.values(), batch_size=ROWS_AT_ONCE)
    return rows


# Most of the samples of a report were taken at a few moments.
_wire_time = lru_cache(maxsize=128)(wire_time)


def _stored(samples: Samples) -> dict[str, list[list[Any]]]:
    return {
        metric.value: [[_wire_time(moment), number] for moment, number in taken]
        for metric, taken in samples.items()
    }


def _replace_processes(group_id: str, report: Report, now: datetime) -> None:
    """What is said of a process takes the place of what was said of it before."""
    rows = [
        ProcessStatus(
            group_id=group_id,
            name=one.name,
            hostname=one.hostname,
            goal_version=one.goal_version,
            error=one.error,
            reported=now,
        )
        # In one order, so that reports that race do not wait for each other in a circle.
        for one in sorted(report.processes, key=lambda one: one.name)
    ]
    ProcessStatus.objects.bulk_create(
        rows,
        batch_size=ROWS_AT_ONCE,
        update_conflicts=True,
        unique_fields=["group", "name"],
        update_fields=["hostname", "goal_version", "error", "reported"],
    )


def _reported(group_id: str, events: Sequence[EventReport], hosts: HostsByKey) -> list[NewEvent]:
    """What an agent saw."""
    names = {event.cluster_name for event in events if event.cluster_name is not None}
    clusters = known_clusters(group_id=group_id, names=names)
    return [_new_event(event, hosts, clusters) for event in events]


def _new_event(event: EventReport, hosts: HostsByKey, clusters: ClustersByName) -> NewEvent:
    """Of a known host, and of a known cluster, we know more than the agent has to repeat."""
    address = Address(event.hostname, event.port) if event.hostname and event.port is not None else None
    host = hosts.get(address.key) if address else None
    told = {
        "hostname": event.hostname,
        "port": event.port,
        "replicaSetName": event.replica_set_name,
        "shardName": event.shard_name,
        "sourceTypeName": event.source_type_name,
        "database": event.database,
        "collection": event.collection,
        "opType": event.op_type,
        **_cluster_facts(event.cluster_name, clusters),
    }
    known = host_state(host) if host else {}
    if event.cluster_name is not None:
        known.pop("clusterId", None)
    facts = {**known, **{name: value for name, value in told.items() if value is not None}}
    return NewEvent(
        event_type=event.event_type,
        facts=EventFacts.of_document(facts),
        happened=event.created,
        signal_facts=facts,
    )


def _cluster_facts(name: str | None, clusters: ClustersByName) -> dict[str, str | None]:
    """A cluster as it is known; one that is not, as it was told."""
    cluster = clusters.get(name) if name else None
    return {"clusterName": cluster.name, "clusterId": cluster.id} if cluster else {"clusterName": name}


def _state(host: Host, measurements: Mapping[str, Measurement]) -> dict[str, Any]:
    """What the signal says of one host: its state at this report, frozen."""
    measured = measurements.get(host.id)
    return {**host_state(host), "measurementId": measured.pk if measured else None}
