"""Taking an agent's report: heartbeat, inventory, measurements, events, all or nothing (decisions 8)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db import transaction
from django.db.models.functions import Lower

from accesslist.services.projects import project_hosts_counted
from automation.models import Agent, Database, Host, Measurement
from automation.reports import Address, EventReport, HostReport, Report, Samples
from automation.rules import reachability_event
from automation.selectors import facts_of_host, host_state, hosts_by_address
from events.choices import SignalKind
from events.facts import EventFacts
from events.services import event_record, signal_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.clock import wire_time

Row = TypeVar("Row", Host, Agent)
HostsByKey = Mapping[tuple[str, int], Host]


@transaction.atomic
def report_ingest(*, group_id: str, report: Report, actor: Actor, now: datetime) -> None:
    """Take one report. What it said can be read when this returns; alerts follow from its signals."""
    _agent_seen(group_id, report, actor, now)
    hosts = _hosts_for_update(group_id, report, actor, now)
    edges = _reachability_edges(hosts, report.hosts)
    _update_hosts(hosts, report.hosts, now)
    _record_reachability(edges, actor, now)
    _replace_databases(hosts, report.hosts)
    measurements = _insert_measurements(hosts, report.hosts, now)
    for event in report.events:
        _record_event(group_id, event, hosts, actor, now)
    if report.hosts:
        states = [_state(hosts[one.address.key], measurements) for one in report.hosts]
        signal_record(group_id=group_id, kind=SignalKind.HOSTS, payload={"hosts": states}, now=now)


def _agent_seen(group_id: str, report: Report, actor: Actor, now: datetime) -> None:
    known = Agent.objects.filter(group_id=group_id, agent_type=report.agent_type.value).annotate(
        key=Lower("hostname")
    )
    if known.filter(key=report.hostname.lower()).update(last_report=now, version=report.version):
        return
    agent = Agent(
        group_id=group_id,
        agent_type=report.agent_type.value,
        hostname=report.hostname,
        version=report.version,
        created=now,
        last_report=now,
    )
    if _insert_missing([agent]):
        facts = EventFacts(hostname=report.hostname, source_type_name=report.agent_type.value)
        event_record(event_type=EventType.NEW_AGENT, actor=actor, now=now, group_id=group_id, facts=facts)


def _hosts_for_update(group_id: str, report: Report, actor: Actor, now: datetime) -> HostsByKey:
    """The hosts the report names, locked in one order, the unknown ones added."""
    addresses = {one.address.key: one.address for one in report.hosts}
    named = addresses | _addresses_of_events(report.events)
    known = hosts_by_address(group_id, named)
    missing = [address for key, address in addresses.items() if key not in known]
    if missing:
        _add_hosts(group_id, missing, actor, now)
    return hosts_by_address(group_id, named, lock=True)


def _addresses_of_events(events: Iterable[EventReport]) -> dict[tuple[str, int], Address]:
    found = [
        Address(event.hostname, event.port)
        for event in events
        if event.hostname is not None and event.port is not None
    ]
    return {address.key: address for address in found}


def _add_hosts(group_id: str, addresses: Sequence[Address], actor: Actor, now: datetime) -> None:
    """Add hosts not yet known; of two reports that race for one, one adds it."""
    fresh = [
        Host(group_id=group_id, hostname=one.hostname, port=one.port, created=now)
        for one in sorted(addresses, key=lambda one: one.key)
    ]
    added = _insert_missing(fresh)
    project_hosts_counted(group_id=group_id, difference=len(added))
    for host in added:
        event_record(
            event_type=EventType.NEW_HOST, actor=actor, now=now, group_id=group_id, facts=facts_of_host(host)
        )


def _insert_missing(rows: Sequence[Row]) -> list[Row]:
    """Insert those that are not there; answers the inserted ones."""
    model = type(rows[0])
    model.objects.bulk_create(rows, ignore_conflicts=True)
    inserted = set(model.objects.filter(id__in=[row.id for row in rows]).values_list("id", flat=True))
    return [row for row in rows if row.id in inserted]


def _reachability_edges(hosts: HostsByKey, reports: Sequence[HostReport]) -> list[tuple[Host, EventType]]:
    """The hosts found down or back up, held against their state before the report."""
    edges = []
    for report in reports:
        host = hosts[report.address.key]
        event_type = reachability_event(was_down=host.down, reachable=report.reachable)
        if event_type:
            edges.append((host, event_type))
    return edges


def _record_reachability(edges: Sequence[tuple[Host, EventType]], actor: Actor, now: datetime) -> None:
    for host, event_type in edges:
        event_record(
            event_type=event_type,
            actor=actor,
            now=now,
            group_id=host.group_id,
            facts=facts_of_host(host),
            signals=False,  # the report's own signal carries the state
        )


def _update_hosts(hosts: HostsByKey, reports: Sequence[HostReport], now: datetime) -> None:
    """The inventory as reported; what a report leaves out stays as it was."""
    updated = []
    for report in reports:
        host = hosts[report.address.key]
        host.type_name, host.down, host.last_report = report.type_name.value, not report.reachable, now
        for name in ("version", "replica_set_name", "cluster_name", "shard_name", "uptime_seconds"):
            value = getattr(report, name)
            if value is not None:
                setattr(host, name, value)
        updated.append(host)
    if updated:
        Host.objects.bulk_update(updated, _REPORTED_FIELDS)


_REPORTED_FIELDS = (
    "type_name",
    "down",
    "last_report",
    "version",
    "replica_set_name",
    "cluster_name",
    "shard_name",
    "uptime_seconds",
)


def _replace_databases(hosts: HostsByKey, reports: Sequence[HostReport]) -> None:
    """`databases` replaces the host's list; left out it stays."""
    wanted = {hosts[one.address.key].id: set(one.databases) for one in reports if one.databases is not None}
    stored = Database.objects.filter(host_id__in=wanted).values_list("id", "host_id", "name")
    gone = [key for key, host_id, name in stored if name not in wanted[host_id]]
    if gone:
        Database.objects.filter(id__in=gone).delete()
    fresh = [
        Database(host_id=host_id, name=name) for host_id, names in wanted.items() for name in sorted(names)
    ]
    Database.objects.bulk_create(fresh, ignore_conflicts=True)


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
    Measurement.objects.bulk_create(rows.values())
    return rows


def _stored(samples: Samples) -> dict[str, list[list[Any]]]:
    return {
        metric.value: [[wire_time(moment), number] for moment, number in taken]
        for metric, taken in samples.items()
    }


def _record_event(group_id: str, event: EventReport, hosts: HostsByKey, actor: Actor, now: datetime) -> None:
    """Record what an agent saw; of a known host we know more than the agent has to repeat."""
    key = (event.hostname.lower(), event.port) if event.hostname and event.port is not None else None
    host = hosts.get(key) if key else None
    told = {
        "hostname": event.hostname,
        "port": event.port,
        "replicaSetName": event.replica_set_name,
        "clusterName": event.cluster_name,
        "shardName": event.shard_name,
        "sourceTypeName": event.source_type_name,
        "database": event.database,
        "collection": event.collection,
        "opType": event.op_type,
    }
    known = host_state(host) if host else {}
    facts = {**known, **{name: value for name, value in told.items() if value is not None}}
    event_record(
        event_type=event.event_type,
        actor=actor,
        now=now,
        happened=event.created,
        group_id=group_id,
        facts=EventFacts.of_document(facts),
        signal_facts=facts,
    )


def _state(host: Host, measurements: Mapping[str, Measurement]) -> dict[str, Any]:
    """What the signal says of one host: its state at this report, frozen."""
    measured = measurements.get(host.id)
    return {**host_state(host), "measurementId": measured.pk if measured else None}
