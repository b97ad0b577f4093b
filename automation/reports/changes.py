"""Stores the report of an agent in one transaction: heartbeat, inventory, measurements and events.

The number of statements does not depend on the size of the report.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from accesslist.changes import acting
from automation.addresses import Address
from automation.agents.changes import Heartbeat, agent_seen
from automation.choices import AgentType, HostType
from automation.desired_state.models import ProcessStatus
from automation.hosts.inventory import (
    AffectedTopology,
    ClustersByName,
    HostsByKey,
    clusters_named,
    databases_replace,
    hosts_measured,
    hosts_named,
    hosts_update,
    known_clusters,
    labels_replace,
)
from automation.hosts.models import Host
from automation.hosts.replica_sets import SetsCounted, replica_sets_count
from automation.hosts.rules import HostState, Measuring, host_events
from automation.hosts.signals import hosts_signal, report_signal_state, versions_signal
from automation.hosts.store import facts_of_host, host_state
from automation.leases.changes import fence_report, leases_give
from automation.measurements.changes import NoDayError, measurements_write
from automation.measurements.days import days_prepare
from automation.reports.growth import ANSWER_OCTETS, day_counted, events_octets
from automation.reports.late_events import without_overtaken
from automation.reports.limits import PROCESSES, rows_limited, within_limits
from automation.reports.repeats import RepeatableReport, first_answer, report_answer_keep
from automation.reports.rules import (
    LATEST,
    EventReport,
    HostReport,
    Report,
    holds_at,
    is_newest,
    observation_time,
)
from automation.turns.changes import ended_moves
from events.facts import EventFacts
from events.log.changes import NewEvent, events_record
from events.outbox.changes import signals_release
from events.types import EVENT_TYPES, EventType
from opsapi.api.principal import Actor
from opsapi.clock import wire_time
from opsapi.fields import Among
from opsapi.roles import Scope
from opsapi.sql import execute
from opsapi.wire_json import JsonObject, without_nulls


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
    with within_limits(group_id=group_id, now=now):
        try:
            return store()
        except NoDayError:
            # No worker ran for days, or the report is from before the first partition. The partition gets a
            # transaction of its own, because other reports would wait for its locks.
            days_prepare(now=now, back=LATEST.days)
            return store()


def _store_once(
    group_id: str, report: Report, repeatable: RepeatableReport | None, actor: Actor, now: datetime
) -> Mapping[str, Any]:
    accepted = {
        "hosts": len(report.hosts),
        "measurements": report.sample_count,
        "events": len(report.events),
    }
    answer = {"accepted": accepted}
    with acting(actor, now, here=Scope(group_id=group_id)):
        if repeatable and not report_answer_keep(report=repeatable, answer=answer, now=now):
            return first_answer(repeatable, now) or answer
        agent_id = _store(group_id, report, actor, now)
        if repeatable:
            day_counted(group_id=group_id, octets=ANSWER_OCTETS, now=now)
        if report.leases is None:
            return answer
        return {
            **answer,
            "leases": leases_give(group_id=group_id, agent_id=agent_id, request=report.leases, now=now),
        }


def _store(group_id: str, report: Report, actor: Actor, now: datetime) -> str:
    """Store the content. Return the id of the agent.

    Of a host whose newer state is known, only the measurements are stored (docs/observations.md).
    """
    observed = observation_time(report.observed, now)
    heartbeat = agent_seen(group_id=group_id, report=report, observed=observed, now=now)
    names = {host.cluster_name for host in report.hosts if host.cluster_name is not None}
    clusters = clusters_named(group_id=group_id, names=names, now=now)
    hosts, added = hosts_named(
        group_id=group_id,
        reported=[host.address for host in report.hosts],
        mentioned=_mentioned(report.events),
        now=now,
        observed=observed if observed < now else None,
    )
    # Without hosts that users have deleted since then.
    report = replace(report, hosts=[host for host in report.hosts if host.address.key in hosts])
    report, late = fence_report(group_id=group_id, report=report)
    versions = {host.id: host.version for host in hosts.values()}
    newest_samples = {host.id: host.measured for host in hosts.values()}
    newest: list[HostReport] = []
    older: list[HostReport] = []
    for host in report.hosts:
        is_new = is_newest(observed, hosts[host.address.key].observed, now)
        (newest if is_new else older).append(host)
    is_monitoring = report.agent_type is AgentType.MONITORING
    edges = _edges(hosts, newest, observed, is_monitoring=is_monitoring)
    moves = hosts_update(
        hosts=hosts,
        reports=newest,
        clusters=clusters,
        agent_id=heartbeat.agent_id,
        observed=observed,
        is_monitoring=is_monitoring,
        now=now,
    )
    hosts_measured(
        hosts=hosts, reports=[*older, *late], agent_id=heartbeat.agent_id, observed=observed, now=now
    )
    sets = replica_sets_count(set_ids=moves.replica_sets, changed_ids=moves.changed_sets, now=now)
    databases_replace(group_id=group_id, hosts=hosts, reports=newest)
    if report.labels is not None:
        labels_replace(hosts=[hosts[host.address.key] for host in newest], labels=report.labels)
    by_id = {hosts[host.address.key].id: host for host in (*report.hosts, *late)}
    measured = measurements_write(reports=by_id, newest=newest_samples, observed=observed, now=now)
    moved = _replace_processes(group_id, report, observed, now)
    hold = _Hold.of(heartbeat, observed, now)
    derived = [*_new_hosts(added), *_happened(edges), *sets.events, *moved]
    in_order = sorted(_dated(report.events, observed, now), key=lambda event: event.created or observed)
    reported_events = without_overtaken(group_id, _reported(group_id, in_order, hosts), now)
    events_record(events=heartbeat.events, actor=actor, now=now, group_id=group_id)
    if hold.is_over:
        signals_release(agents=[heartbeat.agent_id], now=now)
    events = map(hold.event, [*derived, *reported_events])
    events_record(events=events, actor=actor, now=now, group_id=group_id)
    signalled = [
        (host, state)
        for is_new, hosts_reported in ((True, newest), (False, older))
        for host in (hosts[host_report.address.key] for host_report in hosts_reported)
        if (state := report_signal_state(host, measured.of.get(host.id), is_newest=is_new))
    ]
    if not _concerns_only_its_hosts(heartbeat.agent_id, [host for host, _ in signalled], moves):
        hold = replace(hold, agent_id=None)
    states = [state for _, state in signalled]
    _signal(group_id, states, sets=sets, clusters_left=moves.clusters_left, hold=hold, now=now)
    if heartbeat.compare_versions or any(host.version != versions[host.id] for host in hosts.values()):
        versions_signal(group_id=group_id, now=now, observed=hold.observed)
    octets = measured.octets + events_octets([*heartbeat.events, *derived, *reported_events])
    day_counted(group_id=group_id, octets=octets, now=now)
    return heartbeat.agent_id


def _concerns_only_its_hosts(agent_id: str, hosts: Iterable[Host], moves: AffectedTopology) -> bool:
    """Whether the signals of a report concern only hosts of its agent, and replica sets of these hosts."""
    sets, owners = set(), set()
    for host in hosts:
        sets.add(host.replica_set_id)
        owners.add(host.reported_by_id)
    return owners <= {agent_id} and moves.replica_sets <= sets and not moves.clusters_left


def _signal(
    group_id: str,
    states: Sequence[JsonObject],
    *,
    sets: SetsCounted,
    clusters_left: Iterable[str],
    hold: "_Hold",
    now: datetime,
) -> None:
    """Write the signals of a report: of its hosts, and of the replica sets that each agent holds."""
    hosts_signal(
        group_id=group_id,
        hosts=states,
        replica_sets=() if hold.held_by else sets.states,
        clusters_left=clusters_left,
        now=now,
        observed=hold.observed,
        held_by=hold.held_by,
        agent_id=hold.agent_id,
    )
    held_sets = {hold.held_by: sets.states} if hold.held_by else {}
    for holder, set_states in (*held_sets.items(), *sets.held.items()):
        hosts_signal(
            group_id=group_id,
            hosts=(),
            replica_sets=set_states,
            now=now,
            observed=hold.observed,
            held_by=holder,
            agent_id=holder,
        )


@dataclass(frozen=True, slots=True)
class _Hold:
    """How the signals of a report are evaluated.

    `observed`: when the report was observed, if that was before it arrived. `held_by`: the agent that holds
    them until its other reports have arrived. `agent_id`: the agent, if the report is late or held.
    `is_over`: signals that the agent held must be released.
    """

    observed: datetime | None
    held_by: str | None
    agent_id: str | None
    is_over: bool

    @classmethod
    def of(cls, heartbeat: Heartbeat, observed: datetime, now: datetime) -> "_Hold":
        holds = holds_at(heartbeat.waiting_since, now)
        return cls(
            observed if observed < now else None,
            heartbeat.agent_id if holds else None,
            heartbeat.agent_id if holds or observed < now else None,
            is_over=heartbeat.waited and not holds,
        )

    def event(self, event: NewEvent) -> NewEvent:
        """The event with its time. For a late report, this is not the time of arrival."""
        happened = event.happened or self.observed
        return replace(event, happened=happened, held_by=self.held_by, agent_id=self.agent_id)


def _mentioned(events: Iterable[EventReport]) -> list[Address]:
    return [
        Address(event.hostname, event.port)
        for event in events
        if event.hostname is not None and event.port is not None
    ]


def _edges(
    hosts: HostsByKey, reports: Sequence[HostReport], observed: datetime, *, is_monitoring: bool
) -> list[tuple[Host, EventType]]:
    """The events of each host: the differences from its state before the report."""
    return [
        (host, event_type)
        for report in reports
        for host in (hosts[report.address.key],)
        for event_type in host_events(
            _known_state(host), report, observed=observed, is_monitoring=is_monitoring
        )
    ]


def _known_state(host: Host) -> HostState:
    return HostState(
        type_name=HostType(host.type_name),
        type_guessed=host.type_guessed,
        measuring=Measuring(host.unmeasured_since, host.not_measured),
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


_REPLACE_PROCESSES = """
INSERT INTO automation_processstatus AS known (group_id, name, hostname, goal_version, error, plan, reported)
SELECT %(group_id)s, given.*, %(observed)s
  FROM unnest(%(names)s::text[], %(hostnames)s::text[], %(goals)s::int[], %(errors)s::text[],
              %(plans)s::jsonb[]) AS given
    ON CONFLICT (group_id, name) DO UPDATE
   SET hostname = excluded.hostname, goal_version = excluded.goal_version, error = excluded.error,
       plan = excluded.plan, reported = excluded.reported
 WHERE known.reported > %(now)s
    OR date_trunc('second', known.reported) <= date_trunc('second', excluded.reported)
"""


def _replace_processes(
    group_id: str, report: Report, observed: datetime, now: datetime
) -> Sequence[NewEvent]:
    """Replace the status of each reported process, unless a newer status is known. Return what has ended.

    Raises: ApiError: LIMIT_REACHED, if processes were added and the project has too many.
    """
    if not report.processes:
        return []
    # In order of names, so that concurrent reports do not deadlock.
    statuses = ProcessStatus.objects.filter(
        Among("name", {process.name for process in report.processes}), group_id=group_id
    ).select_for_update()
    known = {status.name: status for status in statuses.order_by("name")}
    in_order = sorted(report.processes, key=lambda process: process.name)
    values = {
        "group_id": group_id,
        "names": [process.name for process in in_order],
        "hostnames": [process.hostname for process in in_order],
        "goals": [process.goal_version for process in in_order],
        "errors": [process.error for process in in_order],
        "plans": [None if process.plan is None else json.dumps(process.plan) for process in in_order],
        "observed": observed,
        "now": now,
    }
    execute(_REPLACE_PROCESSES, values)
    if len(known) < len(report.processes):
        rows_limited(PROCESSES, group_id=group_id)
    return [
        event
        for process in in_order
        for status in [known.get(process.name)]
        if process.plan is not None and (status is None or is_newest(observed, status.reported, now))
        for event in ended_moves(process.name, before=status.plan if status else None, plan=process.plan)
    ]


def _dated(events: Sequence[EventReport], observed: datetime, now: datetime) -> Sequence[EventReport]:
    """The events of a late report with their times. An event without a time happened with its report."""
    if observed >= now:
        return events
    return [event if event.created else replace(event, created=observed) for event in events]


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
