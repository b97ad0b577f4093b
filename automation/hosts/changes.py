"""Creates, renames and deletes hosts for users, and deletes the fleet of a deleted project.

Reports add hosts with `inventory`.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from accesslist.changes import RecordedChange, Tracked, changing
from accesslist.locks import advisory_lock, project_lock_exclusive, scope_lock_shared
from accesslist.projects.changes import project_hosts_counted
from automation.addresses import Address
from automation.agent_settings.models import AgentSettings
from automation.agents.models import Agent
from automation.desired_state.models import AutomationRevision, ProcessStatus
from automation.hooks import host_deleting, host_moving
from automation.hosts.inventory import hosts_named
from automation.hosts.models import Cluster, Database, Host, ReplicaSet
from automation.hosts.replica_sets import replica_sets_count
from automation.hosts.resource import NewHost
from automation.hosts.signals import host_signal_state, hosts_signal, known_hosts_signal, versions_signal
from automation.hosts.store import facts_of_host, host_state
from automation.leases.models import HostLease, Watcher
from automation.measurements.changes import MEASUREMENTS_AT_ONCE, readings_delete
from automation.measurements.models import Measurement, Source
from automation.measurements.store import newest_measurements, outdated_metrics
from automation.observations.models import MemberObservation
from automation.reports.models import ReachedLimit, StoredDay
from automation.turns.models import FetchedConfig, PlanTurn, WaitingMove
from events.choices import DiffType
from events.log.changes import events_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import SYSTEM, Actor
from opsapi.batches import delete_batch
from opsapi.clock import AHEAD
from opsapi.roles import Scope
from opsapi.wire_json import JsonObject

_MOMENTARY = frozenset({"reachable", "notMeasured", "versionBehind"})
"""Facts of `host_state` that change by themselves and do not belong in an audit diff."""
_KEY_DIGITS = 15
"""Number of hexadecimal digits of an id that fit into the key of an advisory lock."""


def _audit_facts(host: Host) -> JsonObject:
    """The facts that an audit diff compares."""
    state = {name: value for name, value in host_state(host).items() if name not in _MOMENTARY}
    written = {name: getattr(host, column) for name, column in NewHost.written().items()}
    return {**state, "version": host.version, **written}


def _find(here: Scope, host_id: str) -> Host:
    """The host, while nobody else changes or deletes it.

    A lock of the row does not work: reports lock the project first and the row afterwards.
    """
    advisory_lock(int(host_id[-_KEY_DIGITS:], 16))
    return _live(here, host_id)


def _live(here: Scope, host_id: str) -> Host:
    host = Host.objects.filter(group_id=here.group_id, id=host_id).first()
    return get_or_404(host, ErrorCode.HOST_NOT_FOUND, host_id, here.group_id or "")


HOST = Tracked(
    # The closest diff type: a host is a database process.
    diff_type=DiffType.PROCESS,
    stored=_audit_facts,
    added=EventType.ADD_HOST_AUDIT,
    changed=EventType.HOST_CHANGED_AUDIT,
    deleted=EventType.DELETE_HOST_AUDIT,
    adding=(scope_lock_shared,),
    find=_find,
    facts=facts_of_host,
    signal_facts=host_state,
)


def host_create(*, group_id: str, values: Mapping[str, Any], actor: Actor, now: datetime) -> Host:
    """Add a host without data, from a checked document.

    Raises: ApiError: HOST_ALREADY_EXISTS, or GROUP_NOT_FOUND if the project was deleted meanwhile.
    """
    with changing(HOST, actor, now, here=Scope(group_id=group_id)) as change:
        host = Host(group_id=group_id, created=now, **values)
        with _unique_address(host.address):
            host.save(force_insert=True)
        project_hosts_counted(group_id=group_id, difference=1)
        return change.record_added(host)


@transaction.atomic
def hosts_add(*, group_id: str, addresses: Collection[Address], actor: Actor, now: datetime) -> None:
    """Add the missing hosts; the caller has locked the project."""
    _, added = hosts_named(group_id=group_id, reported=addresses, mentioned=(), now=now)
    events = [HOST.event(host, new=_audit_facts(host)) for host in added]
    events_record(events=events, actor=actor, now=now, group_id=group_id)


def host_change(
    *, group_id: str, host_id: str, changes: Mapping[str, Any], actor: Actor, now: datetime
) -> None:
    """Change what a checked document names; equal values change nothing.

    Raises: ApiError: HOST_ALREADY_EXISTS, or HOST_NOT_FOUND if the host was deleted meanwhile.
    """
    with changing(HOST, actor, now, here=Scope(group_id=group_id), row_id=host_id) as change:
        host = change.row
        changed = [name for name, value in changes.items() if getattr(host, name) != value]
        if not changed:
            return
        wanted = Address(changes.get("hostname", host.hostname), changes.get("port", host.port))
        if wanted.key != host.address.key:
            host_moving.send(sender=Host, host=host, actor=actor, now=now)
        host = _wait_for_reports(change)
        for name in changed:
            setattr(host, name, changes[name])
        with _unique_address(wanted):
            host.save(update_fields=changed)
        change.record_changed()
        if host.last_report is not None:
            # The alerts about the old address ended. The last reported state opens them again for the new
            # address.
            newest = newest_measurements([host.id], until=now + AHEAD)
            outdated = outdated_metrics(newest, {host.id: host.measured}, now).get(host.id, ())
            state = host_signal_state(host, newest[host.id].at if host.id in newest else None)
            if outdated:
                state["olderMetrics"] = sorted(metric.value for metric in outdated)
            known_hosts_signal(group_id=group_id, states=[(host, state)], now=now)


def host_delete(*, group_id: str, host_id: str, actor: Actor, now: datetime) -> None:
    """Delete a host immediately; the worker deletes its measurements later.

    Raises: ApiError: HOST_NOT_FOUND, if the host was deleted meanwhile.
    """
    with changing(HOST, actor, now, here=Scope(group_id=group_id), row_id=host_id) as change:
        # First, because the receivers take locks whose holders may wait for the lock of the project.
        host_deleting.send(sender=Host, host=change.row, actor=actor, now=now)
        host = _wait_for_reports(change)
        change.record_deleted()
        Database.objects.filter(host=host).delete()
        host.deleted = now
        host.save(update_fields=["deleted"])
        project_hosts_counted(group_id=group_id, difference=-1)
        _signal_departure(host, now)


@transaction.atomic
def deleted_host_purge() -> bool:
    """Delete a batch of measurements of a deleted host, and finally the host. Return False if there is none.

    Workers share the work: each takes a host that no other worker has locked.
    """
    deleted = Host.with_deleted.filter(deleted__isnull=False).order_by("deleted")
    host = deleted.select_for_update(skip_locked=True).first()
    if host is None:
        return False
    sources = list(Source.objects.filter(host=host).values_list("id", flat=True))
    if not (
        delete_batch(Measurement.objects.filter(host=host), MEASUREMENTS_AT_ONCE)
        or readings_delete(sources=sources, limit=MEASUREMENTS_AT_ONCE)
    ):
        host.delete()
    return True


@contextmanager
def _unique_address(address: Address) -> Iterator[None]:
    """Refuse a write that violates the unique address, the only constraint that it can violate."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise ApiError(ErrorCode.HOST_ALREADY_EXISTS, str(address)) from None


def _wait_for_reports(change: RecordedChange[Host]) -> Host:
    """Wait for all running reports, which lock the project, and return the current host."""
    project_lock_exclusive(group_id=change.row.group_id)
    return change.keep(_live(change.here, change.row.id))


def _signal_departure(host: Host, now: datetime) -> None:
    """Signal the replica set, cluster and versions without the host."""
    left = replica_sets_count(set_ids=[host.replica_set_id] if host.replica_set_id else [], now=now)
    events_record(events=left.events, actor=SYSTEM, now=now, group_id=host.group_id)
    clusters = [host.cluster_id] if host.cluster_id else []
    hosts_signal(group_id=host.group_id, hosts=(), replica_sets=left.states, clusters_left=clusters, now=now)
    for holder, states in left.held.items():
        hosts_signal(
            group_id=host.group_id, hosts=(), replica_sets=states, now=now, held_by=holder, agent_id=holder
        )
    if host.version is not None:
        versions_signal(group_id=host.group_id, now=now)


def fleet_purge(*, group_id: str, limit: int) -> int:
    """Delete at most `limit` rows of a project's fleet. Return the number of deleted rows, 0 at the end.

    Children are deleted first, so the deletion of a host cascades to nothing.
    """
    of_hosts = {"host__group_id": group_id}
    sources = Source.objects.filter(**of_hosts)
    return (
        delete_batch(Measurement.objects.filter(**of_hosts), limit)
        or readings_delete(sources=list(sources.values_list("id", flat=True)), limit=limit)
        or delete_batch(sources, limit)
        or delete_batch(Database.objects.filter(**of_hosts), limit)
        or delete_batch(Host._base_manager.filter(group_id=group_id), limit)
        or delete_batch(ReplicaSet.objects.filter(group_id=group_id), limit)
        or delete_batch(Cluster.objects.filter(group_id=group_id), limit)
        or delete_batch(ProcessStatus.objects.filter(group_id=group_id), limit)
        or delete_batch(PlanTurn.objects.filter(group_id=group_id), limit)
        or delete_batch(WaitingMove.objects.filter(group_id=group_id), limit)
        or delete_batch(FetchedConfig.objects.filter(group_id=group_id), limit)
        or delete_batch(MemberObservation.objects.filter(group_id=group_id), limit)
        or delete_batch(ReachedLimit.objects.filter(group_id=group_id), limit)
        or delete_batch(StoredDay.objects.filter(group_id=group_id), limit)
        or delete_batch(AutomationRevision.objects.filter(group_id=group_id), limit)
        or delete_batch(AgentSettings.objects.filter(group_id=group_id), limit)
        or delete_batch(HostLease.objects.filter(group_id=group_id), limit)
        or delete_batch(Watcher.objects.filter(group_id=group_id), limit)
        or delete_batch(Agent.objects.filter(group_id=group_id), limit)
    )
