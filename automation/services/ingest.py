"""Stores the report of an agent in one transaction: heartbeat, inventory, measurements and events.

The number of statements does not depend on the size of the report.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction

from accesslist.services.locks import actor_lock_shared, project_lock_shared
from automation.addresses import Address
from automation.choices import HostType
from automation.models import Host, ProcessStatus
from automation.reports import EventReport, HostReport, Report
from automation.rules.hosts import HostState, host_events
from automation.selectors.hosts import facts_of_host, host_state
from automation.services.agents import agent_seen
from automation.services.days import days_prepare
from automation.services.growth import ANSWER_OCTETS, day_counted, day_limited, events_octets
from automation.services.inventory import (
    ClustersByName,
    HostsByKey,
    clusters_named,
    databases_replace,
    hosts_named,
    hosts_update,
    known_clusters,
    labels_replace,
)
from automation.services.leases import fence_report, leases_give
from automation.services.limits import PROCESSES, refusal_note, rows_limited
from automation.services.measurements import NoDayError, measurements_write
from automation.services.repeats import RepeatableReport, first_answer, report_answer_keep
from automation.services.replica_sets import replica_sets_count
from automation.services.signals import host_signal_state, hosts_signal, versions_signal
from events.facts import EventFacts
from events.services import NewEvent, events_record
from events.types import EVENT_TYPES, EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor
from opsapi.batches import ROWS_AT_ONCE
from opsapi.clock import wire_time
from opsapi.fields import Among
from opsapi.wire_json import without_nulls


def report_ingest(
    *,
    group_id: str,
    report: Report,
    repeatable: RepeatableReport | None = None,
    actor: Actor,
    now: datetime,
) -> Mapping[str, Any]:
    """Store a report and return the answer. The content can be read immediately; alerts follow.

    A `repeatable` report is stored once.

    Raises: ApiError: GROUP_NOT_FOUND, if the project was deleted meanwhile; IDEMPOTENCY_KEY_REUSED;
        LIMIT_REACHED, which is an event as well.
    """
    store = partial(_store_once, group_id, report, repeatable, actor, now)
    try:
        day_limited(group_id=group_id, now=now)
        try:
            return store()
        except NoDayError:
            # No worker ran for days. In the transaction of the report, others would wait for its locks.
            days_prepare(now=now)
            return store()
    except ApiError as refusal:
        if refusal.code is ErrorCode.LIMIT_REACHED:
            refusal_note(group_id=group_id, refusal=refusal, now=now)
        raise


@transaction.atomic
def _store_once(
    group_id: str, report: Report, repeatable: RepeatableReport | None, actor: Actor, now: datetime
) -> Mapping[str, Any]:
    accepted = {
        "hosts": len(report.hosts),
        "measurements": report.sample_count,
        "events": len(report.events),
    }
    answer = {"accepted": accepted}
    actor_lock_shared(actor)
    project_lock_shared(group_id=group_id)
    if repeatable and not report_answer_keep(report=repeatable, answer=answer, now=now):
        return first_answer(repeatable, now) or answer
    agent_id = _store(group_id, report, actor, now)
    if repeatable:
        day_counted(group_id=group_id, octets=ANSWER_OCTETS)
    if report.leases is None:
        return answer
    return {
        **answer,
        "leases": leases_give(group_id=group_id, agent_id=agent_id, request=report.leases, now=now),
    }


def _store(group_id: str, report: Report, actor: Actor, now: datetime) -> str:
    """Store the content. Return the id of the agent."""
    heartbeat = agent_seen(group_id=group_id, report=report, now=now)
    names = {host.cluster_name for host in report.hosts if host.cluster_name is not None}
    clusters = clusters_named(group_id=group_id, names=names, now=now)
    hosts, added = hosts_named(
        group_id=group_id,
        reported=[host.address for host in report.hosts],
        mentioned=_mentioned(report.events),
        now=now,
    )
    report, late = fence_report(group_id=group_id, report=report)
    versions = {host.id: host.version for host in hosts.values()}
    edges = _edges(hosts, report.hosts)
    moves = hosts_update(
        hosts=hosts, reports=report.hosts, clusters=clusters, agent_id=heartbeat.agent_id, now=now
    )
    sets = replica_sets_count(set_ids=moves.replica_sets, changed_ids=moves.changed_sets)
    databases_replace(group_id=group_id, hosts=hosts, reports=report.hosts)
    if report.labels is not None:
        labels_replace(hosts=[hosts[host.address.key] for host in report.hosts], labels=report.labels)
    by_id = {hosts[host.address.key].id: host for host in (*report.hosts, *late)}
    measured = measurements_write(reports=by_id, reported=now)
    _replace_processes(group_id, report, now)
    derived = [*heartbeat.events, *_new_hosts(added), *_happened(edges), *sets.events]
    # An event without a time happened with its report.
    in_order = sorted(report.events, key=lambda event: event.created or now)
    reported_events = _reported(group_id, in_order, hosts)
    events_record(events=[*derived, *reported_events], actor=actor, now=now, group_id=group_id)
    reported = [hosts[host.address.key] for host in report.hosts]
    states = [host_signal_state(host, measured.at.get(host.id)) for host in reported]
    hosts_signal(
        group_id=group_id,
        hosts=states,
        replica_sets=sets.states,
        clusters_left=moves.clusters_left,
        now=now,
    )
    if heartbeat.compare_versions or any(host.version != versions[host.id] for host in reported):
        versions_signal(group_id=group_id, now=now)
    octets = measured.octets + events_octets([*derived, *reported_events])
    day_counted(group_id=group_id, octets=octets)
    return heartbeat.agent_id


def _mentioned(events: Iterable[EventReport]) -> list[Address]:
    return [
        Address(event.hostname, event.port)
        for event in events
        if event.hostname is not None and event.port is not None
    ]


def _edges(hosts: HostsByKey, reports: Sequence[HostReport]) -> list[tuple[Host, EventType]]:
    """The events of each host: the differences from its state before the report."""
    return [
        (host, event_type)
        for report in reports
        for host in (hosts[report.address.key],)
        for event_type in host_events(_known_state(host), report)
    ]


def _known_state(host: Host) -> HostState:
    return HostState(
        type_name=HostType(host.type_name),
        down=host.down,
        version=host.version,
        uptime_seconds=host.uptime_seconds,
    )


def _new_hosts(added: Iterable[Host]) -> list[NewEvent]:
    return [
        NewEvent(event_type=EventType.NEW_HOST, facts=facts_of_host(host), signal_facts=host_state(host))
        for host in added
    ]


def _happened(edges: Iterable[tuple[Host, EventType]]) -> list[NewEvent]:
    """Events with the new state.

    An event that starts or ends a state has no signal: the signal of hosts has it.
    """
    return [
        NewEvent(
            event_type=event_type,
            facts=facts_of_host(host),
            signals=EVENT_TYPES[event_type].one_shot,
            signal_facts=host_state(host),
        )
        for host, event_type in edges
    ]


def _replace_processes(group_id: str, report: Report, now: datetime) -> None:
    """Replace the status of each reported process.

    Raises: ApiError: LIMIT_REACHED, if processes were added and the project has too many.
    """
    if not report.processes:
        return
    names = {process.name for process in report.processes}
    known = ProcessStatus.objects.filter(Among("name", names), group_id=group_id)
    are_known = known.count() == len(names)
    rows = [
        ProcessStatus(
            group_id=group_id,
            name=process.name,
            hostname=process.hostname,
            goal_version=process.goal_version,
            error=process.error,
            reported=now,
        )
        # In order of names, so that concurrent reports do not deadlock.
        for process in sorted(report.processes, key=lambda process: process.name)
    ]
    ProcessStatus.objects.bulk_create(
        rows,
        batch_size=ROWS_AT_ONCE,
        update_conflicts=True,
        unique_fields=["group", "name"],
        update_fields=["hostname", "goal_version", "error", "reported"],
    )
    if not are_known:
        rows_limited(PROCESSES, group_id=group_id)


def _reported(group_id: str, events: Sequence[EventReport], hosts: HostsByKey) -> list[NewEvent]:
    names = {event.cluster_name for event in events if event.cluster_name is not None}
    clusters = known_clusters(group_id=group_id, names=names)
    return [_new_event(event, hosts, clusters) for event in events]


def _new_event(event: EventReport, hosts: HostsByKey, clusters: ClustersByName) -> NewEvent:
    """Add the stored facts of known hosts and clusters to the reported facts."""
    address = Address(event.hostname, event.port) if event.hostname and event.port is not None else None
    host = hosts.get(address.key) if address else None
    reported = {
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
    facts = {**known, **without_nulls(reported)}
    # An event does not close an alert that began after it.
    dated = {"happened": wire_time(event.created)} if event.created else {}
    return NewEvent(
        event_type=event.event_type,
        facts=EventFacts.of_document(facts),
        happened=event.created,
        signal_facts={**facts, **dated},
    )


def _cluster_facts(name: str | None, clusters: ClustersByName) -> dict[str, str | None]:
    """The stored name and id of a known cluster, otherwise the reported name."""
    cluster = clusters.get(name) if name else None
    return {"clusterName": cluster.name, "clusterId": cluster.id} if cluster else {"clusterName": name}
