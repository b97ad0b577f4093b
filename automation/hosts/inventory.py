"""Stores the inventory of reports: clusters, hosts and databases.

The number of statements does not depend on the number of hosts.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from accesslist.projects.changes import project_hosts_counted
from automation.addresses import Address
from automation.choices import HostType
from automation.hosts.models import Cluster, Host
from automation.hosts.replica_sets import SetKey, replica_sets_named
from automation.hosts.rules import (
    KnownType,
    Measuring,
    engine_of,
    has_left,
    measuring_after,
    since_late_report,
    type_after,
)
from automation.hosts.store import hosts_deleted_between, hosts_locked, hosts_locked_if_known, known_addresses
from automation.reports.limits import CLUSTERS, DATABASES, rows_limited
from automation.reports.rules import HostReport, latest_of
from opsapi.fields import Among
from opsapi.sql import execute, fetch_rows, update_from_arrays

HostsByKey = Mapping[tuple[str, int], Host]
ClustersByName = Mapping[str, Cluster]
"""The cluster for each requested name. PostgreSQL compares names without case."""

_REPORTED_COLUMNS: Mapping[str, str] = {
    "type_name": "text",
    "type_guessed": "boolean",
    "type_unknown": "boolean",
    "down": "boolean",
    "version": "text",
    "engine": "text",
    "replica_set_name": "text",
    "replica_set_id": "text",
    "cluster_id": "text",
    "cluster_name": "text",
    "shard_name": "text",
    "uptime_seconds": "bigint",
    "problem": "text",
    "unmeasured_since": "timestamptz",
    "not_measured": "boolean",
    "last_report": "timestamptz",
    "observed": "timestamptz",
    "measured": "timestamptz",
    "reported_by_id": "text",
}
"""Columns that a report changes, with their types."""
_REPORTED = attrgetter(*_REPORTED_COLUMNS)

_MEASURED_COLUMNS = {
    "measured": "timestamptz",
    "unmeasured_since": "timestamptz",
    "last_report": "timestamptz",
}
_UPDATE_MEASURED = update_from_arrays("automation_host", _MEASURED_COLUMNS)

_ADDED_AT_ONCE = 1_000
"""The maximum number of hosts in a statement: PostgreSQL accepts 65,535 parameters."""

# PostgreSQL lowers the names, as in its unique index: Python lowers some letters differently.
_NAMED_CLUSTERS = """
SELECT given.name, known.id
  FROM unnest(%(names)s::text[]) AS given (name)
  JOIN automation_cluster AS known ON known.group_id = %(group)s AND lower(known.name) = lower(given.name)
"""

_DELETE_DATABASES = """
DELETE FROM automation_database AS known
 WHERE host_id = ANY(%(hosts)s)
   AND NOT EXISTS (SELECT FROM unnest(%(of)s::text[], %(names)s::text[]) AS given (host_id, name)
                    WHERE given.host_id = known.host_id AND given.name = known.name)
"""
_INSERT_DATABASES = """
INSERT INTO automation_database (host_id, name)
SELECT given.host_id, given.name
  FROM unnest(%(of)s::text[], %(names)s::text[]) AS given (host_id, name)
 WHERE NOT EXISTS (SELECT FROM automation_database AS known
                    WHERE known.host_id = given.host_id AND known.name = given.name)
    ON CONFLICT DO NOTHING
"""


@dataclass(frozen=True, slots=True)
class AffectedTopology:
    """The replica sets and clusters that a report concerns, by id.

    `replica_sets` are the sets of its hosts before and after the report. In `changed_sets`, a member was
    added, removed or changed. `clusters_left` are clusters that hosts have left.
    """

    replica_sets: frozenset[str] = frozenset()
    changed_sets: frozenset[str] = frozenset()
    clusters_left: frozenset[str] = frozenset()


class _Membership(NamedTuple):
    """The replica set of a host, and the facts that the set counts."""

    set_id: str | None
    type_name: str
    type_unknown: bool
    down: bool
    shard_name: str | None


def clusters_named(*, group_id: str, names: Collection[str], now: datetime) -> ClustersByName:
    """Return the clusters with these names; unknown clusters are added.

    Raises: ApiError: LIMIT_REACHED, if clusters were added and the project has too many.
    """
    known = known_clusters(group_id=group_id, names=names)
    missing = sorted(frozenset(names) - known.keys(), key=lambda name: (name.lower(), name))
    if not missing:
        return known
    fresh = [Cluster(group_id=group_id, name=name, created=now) for name in missing]
    Cluster.objects.bulk_create(fresh, ignore_conflicts=True)
    rows_limited(CLUSTERS, group_id=group_id)
    return known_clusters(group_id=group_id, names=names)


def known_clusters(*, group_id: str, names: Collection[str]) -> ClustersByName:
    """Return the known clusters with these names."""
    if not names:
        return {}
    ids = dict(fetch_rows(_NAMED_CLUSTERS, {"group": group_id, "names": list(names)}))
    clusters = Cluster.objects.in_bulk(list(ids.values()))
    return {name: clusters[cluster_id] for name, cluster_id in ids.items()}


def hosts_named(
    *,
    group_id: str,
    reported: Collection[Address],
    mentioned: Collection[Address],
    now: datetime,
    observed: datetime | None = None,
) -> tuple[HostsByKey, Sequence[Host]]:
    """Return the hosts at these addresses, locked by id, and the hosts that this call added.

    Unknown `reported` hosts are added, unless a user has deleted them since the report was `observed`.
    Unknown `mentioned` hosts are not added. Of two concurrent reports, one adds a host.
    """
    addresses = {address.key: address for address in reported}
    keys = addresses.keys() | {address.key for address in mentioned}
    hosts = hosts_locked_if_known(group_id, addresses.keys(), keys)
    if hosts.keys() >= addresses.keys():
        return hosts, []
    known = known_addresses(group_id, addresses.keys())
    unknown = addresses.keys() - known
    if unknown and observed is not None:
        unknown -= hosts_deleted_between(group_id, observed, now)
    missing = [addresses[key] for key in sorted(unknown)]
    added = _add_hosts(group_id, missing, now) if missing else set()
    hosts = hosts_locked(group_id, keys)
    return hosts, [host for host in hosts.values() if host.id in added]


def hosts_update(
    *,
    hosts: HostsByKey,
    reports: Sequence[HostReport],
    clusters: ClustersByName,
    agent_id: str,
    observed: datetime,
    is_monitoring: bool,
    now: datetime,
) -> AffectedTopology:
    """Store the reported state. Omitted values stay, unless the host left its sets (`has_left`).

    The caller leaves out hosts with newer observations.
    """
    if not reports:
        return AffectedTopology()
    updated = [hosts[report.address.key] for report in reports]
    before = [_membership(host) for host in updated]
    keys_before = [_set_key(host) for host in updated]
    clusters_before = {host.cluster_id for host in updated}
    columns_before = _columns(updated)
    for host, report in zip(updated, reports, strict=True):
        _apply(host, report, clusters, observed, now, is_monitoring=is_monitoring)
        host.reported_by_id, host.observed = agent_id, observed
    moved = [
        host
        for host, key in zip(updated, keys_before, strict=True)
        if host.replica_set_id is None or key != _set_key(host)
    ]
    _assign_replica_sets(moved, now)
    # Most columns stay as they are.
    given = zip(_REPORTED_COLUMNS, columns_before, _columns(updated), strict=True)
    changed = {name: list(after) for name, before, after in given if after != before}
    if changed:
        statement = update_from_arrays("automation_host", {name: _REPORTED_COLUMNS[name] for name in changed})
        execute(statement, {"id": [host.id for host in updated], **changed})
    sides = list(zip(before, map(_membership, updated), strict=True))
    return AffectedTopology(
        replica_sets=_set_ids(sides),
        changed_sets=_set_ids(side for side in sides if side[0] != side[1]),
        clusters_left=frozenset(clusters_before - {host.cluster_id for host in updated} - {None}),
    )


def hosts_measured(
    *, hosts: HostsByKey, reports: Sequence[HostReport], agent_id: str, observed: datetime, now: datetime
) -> None:
    """Store when hosts were measured whose newer state is already stored.

    Reports of its agent keep a host from a heartbeat timeout, even if the clock of the agent was set back.
    """
    changed = []
    for report in reports:
        host = hosts[report.address.key]
        before = host.measured, host.unmeasured_since, host.last_report
        _see_samples(host, report, now)
        host.unmeasured_since = since_late_report(host.unmeasured_since, report, observed=observed)
        if host.reported_by_id == agent_id:
            host.last_report = now
        if (host.measured, host.unmeasured_since, host.last_report) != before:
            changed.append(host)
    if changed:
        columns = {name: [getattr(host, name) for host in changed] for name in ("id", *_MEASURED_COLUMNS)}
        execute(_UPDATE_MEASURED, columns)


def labels_replace(*, hosts: Iterable[Host], labels: Mapping[str, str]) -> None:
    """Replace the labels of the hosts. Only hosts with other labels are written."""
    wanted = dict(labels) or None
    changed = [host.id for host in hosts if host.labels != wanted]
    if changed:
        Host.objects.filter(Among("id", changed)).update(labels=wanted)


def databases_replace(*, group_id: str, hosts: HostsByKey, reports: Sequence[HostReport]) -> None:
    """Replace the databases of each host whose report has a list.

    Raises: ApiError: LIMIT_REACHED, if databases were added and the project has too many.
    """
    wanted = {
        hosts[report.address.key].id: report.databases for report in reports if report.databases is not None
    }
    if not wanted:
        return
    pairs = [(host_id, name) for host_id, databases in wanted.items() for name in sorted(databases)]
    given = {"of": [host_id for host_id, _ in pairs], "names": [name for _, name in pairs]}
    execute(_DELETE_DATABASES, {"hosts": list(wanted), **given})
    if pairs and execute(_INSERT_DATABASES, given):
        rows_limited(DATABASES, group_id=group_id)


def _add_hosts(group_id: str, addresses: Sequence[Address], now: datetime) -> set[str]:
    """Add hosts that no concurrent report has added, and return their ids."""
    fresh = [
        Host(group_id=group_id, hostname=address.hostname, port=address.port, created=now)
        for address in addresses
    ]
    Host.objects.bulk_create(fresh, batch_size=_ADDED_AT_ONCE, ignore_conflicts=True)
    there = Host.objects.filter(Among("id", [host.id for host in fresh]))
    added = set(there.values_list("id", flat=True))
    if added:
        project_hosts_counted(group_id=group_id, difference=len(added))
    return added


def _apply(
    host: Host,
    report: HostReport,
    clusters: ClustersByName,
    observed: datetime,
    now: datetime,
    *,
    is_monitoring: bool,
) -> None:
    before = KnownType(HostType(host.type_name), host.type_guessed)
    after = type_after(before, report)
    if has_left(before.type_name, after.type_name, reachable=report.reachable):
        _leave_all(host)
    host.type_name, host.type_guessed = after.type_name.value, after.is_guess
    host.type_unknown = report.reachable and report.type_name is HostType.NO_DATA
    host.down, host.last_report = not report.reachable, now
    for name in ("version", "uptime_seconds"):
        value = getattr(report, name)
        if value is not None:
            setattr(host, name, value)
    # The agent assumes where an unreachable host belongs, which does not replace what is known.
    for name in ("replica_set_name", "shard_name"):
        value = getattr(report, name)
        if value is not None and (report.reachable or getattr(host, name) is None):
            setattr(host, name, value)
    host.problem = report.problem if report.reachable else None
    measuring = measuring_after(
        Measuring(host.unmeasured_since, host.not_measured),
        report,
        type_name=after.type_name,
        observed=observed,
        is_monitoring=is_monitoring,
    )
    host.unmeasured_since, host.not_measured = measuring.unmeasured_since, measuring.not_measured
    _see_samples(host, report, now)
    if engine := engine_of(report):
        host.engine = engine.value
    if report.cluster_name is not None and (report.reachable or host.cluster_id is None):
        host.cluster = clusters[report.cluster_name]
        # The same spelling for all hosts, because alerts identify clusters by name.
        host.cluster_name = host.cluster.name


def _see_samples(host: Host, report: HostReport, now: datetime) -> None:
    """Store the time of the newest sample on the host."""
    host.measured = latest_of(report.moments, host.measured, now)


def _columns(hosts: Sequence[Host]) -> list[tuple[Any, ...]]:
    """The values of the hosts in each of the reported columns."""
    return list(zip(*map(_REPORTED, hosts), strict=True))


def _leave_all(host: Host) -> None:
    """Remove the host from its replica set, shard and cluster. The report may name others."""
    host.replica_set_name = host.shard_name = host.cluster_name = None
    host.replica_set = host.cluster = None


def _membership(host: Host) -> _Membership:
    return _Membership(host.replica_set_id, host.type_name, host.type_unknown, host.down, host.shard_name)


def _set_ids(sides: Iterable[tuple[_Membership, _Membership]]) -> frozenset[str]:
    """The replica sets of hosts before and after a report."""
    memberships = (membership for side in sides for membership in side)
    return frozenset(membership.set_id for membership in memberships if membership.set_id is not None)


def _set_key(host: Host) -> SetKey | None:
    return None if host.replica_set_name is None else (host.replica_set_name, host.cluster_id)


def _assign_replica_sets(hosts: Sequence[Host], now: datetime) -> None:
    """Assign the hosts to the replica sets with their names; without names, no statement runs."""
    keys = {host.id: key for host in hosts if (key := _set_key(host))}
    if not keys:
        return
    sets = replica_sets_named(group_id=hosts[0].group_id, keys=frozenset(keys.values()), now=now)
    for host in hosts:
        if host.id in keys:
            host.replica_set_id = sets[keys[host.id]]
