"""Hosts, databases, replica sets and clusters with their states, and labels of the fleet."""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Any, Literal

from django.contrib.postgres.expressions import ArraySubquery
from django.db import connection
from django.db.models import Case, Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Lower

from automation.addresses import Address
from automation.agents.rules import heard_limit
from automation.choices import ClusterType, HostType
from automation.hosts.models import Cluster, Database, Host, ReplicaSet
from automation.hosts.rules import Members, MemberTally, tally
from automation.labels import LabelSets, label_texts
from events.facts import EventFacts
from events.models import Event
from events.types import EventType
from opsapi.api.principal import VisibleScope
from opsapi.fields import Among
from opsapi.first_rows import FirstRows, bounded_count, first_rows, in_visible_scope
from opsapi.sql import fetch_rows
from opsapi.wire_json import JsonObject

_COLUMNS = [field.attname for field in Host._meta.concrete_fields]
# Every report runs this statement. Django needs longer to compose it than PostgreSQL to run it.
_LOCKED_IF_KNOWN = f"""
WITH known AS (
    SELECT host.id, given.is_needed
      FROM unnest(%(names)s::text[], %(ports)s::integer[], %(needed)s::boolean[])
           AS given (name, port, is_needed)
      JOIN automation_host AS host
        ON host.group_id = %(group_id)s AND lower(host.hostname) = given.name AND host.port = given.port
           AND host.deleted IS NULL
)
SELECT {", ".join(_COLUMNS)} FROM automation_host
 WHERE id = ANY(ARRAY(SELECT id FROM known)) AND deleted IS NULL
   AND (SELECT count(*) FROM known WHERE is_needed) = %(count)s
 ORDER BY id FOR UPDATE
"""  # noqa: S608 - contains only our own names


def hosts_of(
    group_id: str,
    *,
    cluster_id: str | None = None,
    replica_set_name: str | None = None,
    host_ids: Collection[str] | None = None,
) -> QuerySet[Host]:
    """Return the hosts of a project by hostname and port: all, or the ones that pass the filters."""
    hosts = Host.objects.filter(group_id=group_id).order_by(Lower("hostname"), "port")
    if cluster_id is not None:
        hosts = hosts.filter(cluster=cluster_id)
    if replica_set_name is not None:
        hosts = hosts.filter(replica_set_name=replica_set_name)
    return hosts if host_ids is None else hosts.filter(Among("id", host_ids))


def unknown_host_ids(group_id: str, host_ids: Sequence[str]) -> Sequence[str]:
    """Return the ids that no host of the project has."""
    known = set(hosts_of(group_id, host_ids=host_ids).values_list("id", flat=True)) if host_ids else set()
    return [host_id for host_id in host_ids if host_id not in known]


def host_with_id(host_id: str, *, group_id: str) -> QuerySet[Host]:
    """Return the host of a project with this id: at most one row."""
    return hosts_of(group_id).filter(id=host_id)


def host_at(address: Address | None, *, group_id: str) -> QuerySet[Host]:
    """Return the host of a project at an address, ignoring case: at most one row."""
    if address is None:
        return Host.objects.none()
    name, port = address.key
    return hosts_of(group_id).alias(key=Lower("hostname")).filter(key=name, port=port)


def observation_delays(host_ids: Collection[str]) -> dict[str, timedelta]:
    """Return how long after its observation the last report of each host arrived.

    This is how far the clock of its agent is behind. A host whose agent has reports that wait is left out,
    because these reports are late.
    """
    hosts = Host.objects.filter(Among("id", host_ids), reported_by__waiting_since=None)
    times = hosts.values_list("id", "observed", "last_report") if host_ids else ()
    return {
        host_id: arrived - observed
        for host_id, observed, arrived in times
        if observed is not None and arrived is not None and observed < arrived
    }


def known_addresses(group_id: str, keys: Collection[tuple[str, int]]) -> set[tuple[str, int]]:
    """Return the addresses, as (lower-case hostname, port), at which the project has a host."""
    named = _hosts_named(group_id, keys)
    return set(named.values_list(Lower("hostname"), "port")).intersection(keys)


def hosts_locked(group_id: str, keys: Collection[tuple[str, int]]) -> dict[tuple[str, int], Host]:
    """Return the hosts of a project by address, locked for update in the order of their ids."""
    hosts = _hosts_named(group_id, keys).order_by("id").select_for_update(of=("self",))
    return {host.address.key: host for host in hosts if host.address.key in keys}


def hosts_locked_if_known(
    group_id: str, needed: Collection[tuple[str, int]], keys: Collection[tuple[str, int]]
) -> dict[tuple[str, int], Host]:
    """Return the same as `hosts_locked`, if the project has a host at each of the `needed` addresses.

    Otherwise the result is empty and nothing is locked, because new hosts are added before known hosts are
    locked.
    """
    if not keys:
        return {}
    values: JsonObject = {
        "group_id": group_id,
        "names": [name for name, _ in keys],
        "ports": [port for _, port in keys],
        "needed": [key in needed for key in keys],
        "count": len(needed),
    }
    hosts = [_host_of(row) for row in fetch_rows(_LOCKED_IF_KNOWN, values)]
    return {host.address.key: host for host in hosts if host.address.key in keys}


def _host_of(row: Sequence[Any]) -> Host:
    host = Host.from_db(connection.alias, _COLUMNS, row)
    if host.labels is not None:
        host.labels = json.loads(host.labels)  # The cursor returns JSON as text.
    return host


def hosts_at(group_id: str, keys: Collection[tuple[str, int]]) -> dict[tuple[str, int], Host]:
    """Return the hosts of a project by address."""
    named = _hosts_named(group_id, keys)
    return {host.address.key: host for host in named if host.address.key in keys}


def _hosts_named(group_id: str, keys: Collection[tuple[str, int]]) -> QuerySet[Host]:
    if not keys:
        return Host.objects.none()
    hosts = Host.objects.filter(group_id=group_id).alias(key=Lower("hostname"))
    return hosts.filter(Among("key", {name for name, _ in keys}))


def hosts_deleted_between(group_id: str, first: datetime, last: datetime) -> set[tuple[str, int]]:
    """Return the keys of the addresses of hosts that users have deleted between these times.

    A deleted host leaves only its event.
    """
    deletions = Event.objects.filter(
        group_id=group_id, event_type=EventType.DELETE_HOST_AUDIT.value, created__range=(first, last)
    )
    rows = deletions.values_list("details__hostname", "details__port")
    return {Address(hostname, port).key for hostname, port in rows}


def facts_of_host(host: Host) -> EventFacts:
    """Return the facts that identify a host in events."""
    return EventFacts(
        cluster_id=host.cluster_id,
        cluster_name=host.cluster_name,
        host_id=host.id,
        hostname=host.hostname,
        port=host.port,
        replica_set_name=host.replica_set_name,
        shard_name=host.shard_name,
    )


def host_state(host: Host) -> JsonObject:
    """Return the state of a host under its wire names, for signals."""
    return {
        **facts_of_host(host).document(),
        "typeName": host.type_name,
        "reachable": not host.down,
        "notMeasured": host.not_measured,
        "versionBehind": host.version_behind,
    }


def databases_of(host: Host) -> QuerySet[Database]:
    """Return the databases of a host, by name."""
    return host.databases.order_by("name")


def has_database(host: Host, name: str) -> bool:
    """Return whether the host has a database with this name."""
    # PostgreSQL rejects NUL characters, and no stored name contains one.
    return "\0" not in name and databases_of(host).filter(name=name).exists()


def without_data(now: datetime) -> Q:
    """Hosts with an unknown state: without a report, or without a recent report.

    Hosts that are down count as down. Hosts of the demonstration are not expected to be reported.
    """
    return _unheard(now) & (Q(reported_by=None) | Q(reported_by__demonstration=False))


def of_demonstration(now: datetime) -> Q:
    """Hosts that are not reported any more because they belong to the demonstration."""
    return _unheard(now) & Q(reported_by__demonstration=True)


def _unheard(now: datetime) -> Q:
    return Q(down=False) & (Q(last_report=None) | Q(last_report__lte=heard_limit(now)))


def hosts_count(visible_scope: VisibleScope) -> int:
    """Return the number of readable hosts, at most MOST_COUNTED + 1."""
    return bounded_count(in_visible_scope(Host.objects.filter(group__deleted=None), visible_scope))


def demonstration_hosts_count(visible_scope: VisibleScope, now: datetime) -> int:
    """Return the number of readable hosts of the demonstration that are not reported any more.

    At most MOST_COUNTED + 1.
    """
    hosts = Host.objects.filter(of_demonstration(now), group__deleted=None)
    return bounded_count(in_visible_scope(hosts, visible_scope))


def hosts_down(visible_scope: VisibleScope) -> FirstRows[Host]:
    """Return hosts that are down, by project and name."""
    # The hosts of a deleted project are deleted later.
    down = Host.objects.filter(down=True, group__deleted=None).select_related("group", "replica_set")
    return first_rows(in_visible_scope(down, visible_scope).order_by("group_id", "hostname", "port"))


def hosts_without_data(visible_scope: VisibleScope, now: datetime) -> FirstRows[Host]:
    """Return hosts with an unknown state, by project and name."""
    # The last report is not indexed, because every report changes it; the table of hosts is small.
    unknown = Host.objects.filter(without_data(now), group__deleted=None).select_related(
        "group", "reported_by"
    )
    return first_rows(in_visible_scope(unknown, visible_scope).order_by("group_id", "hostname", "port"))


def facts_of_replica_set(replica_set: ReplicaSet) -> EventFacts:
    """Return the facts that identify a replica set in events."""
    return EventFacts(
        cluster_id=replica_set.cluster_id,
        cluster_name=replica_set.cluster.name if replica_set.cluster else None,
        replica_set_name=replica_set.name,
        shard_name=replica_set.shard_name,
    )


def replica_set_state(replica_set: ReplicaSet) -> JsonObject:
    """Return the state of a replica set under its wire names, for signals: names and member counts."""
    counted = {
        "primaries": replica_set.primaries,
        "healthy": replica_set.healthy,
        "unhealthy": replica_set.unhealthy,
        "unknown": replica_set.unknown,
        "primaryUnknown": replica_set.primary_unknown,
    }
    return {**facts_of_replica_set(replica_set).document(), **counted}


def replica_sets_there(group_id: str) -> QuerySet[ReplicaSet]:
    """Return the replica sets of a project that have members, with their clusters, by id."""
    members = Q(healthy__gt=0) | Q(unhealthy__gt=0) | Q(unknown__gt=0)
    return ReplicaSet.objects.filter(members, group_id=group_id).select_related("cluster").order_by("id")


def last_of_replica_set(host: Host) -> ReplicaSet | None:
    """Return the replica set of a host if the host is its last member; otherwise None."""
    others = Host.objects.filter(replica_set=host.replica_set_id).exclude(id=host.id)
    if host.replica_set_id is None or others.exists():
        return None
    return ReplicaSet.objects.select_related("cluster").get(id=host.replica_set_id)


@dataclass(frozen=True, slots=True)
class MembersNow:
    """The number of all hosts, of hosts that are down and of `unknown` hosts.

    `known` tallies the other hosts as replica sets do; `demonstration` of them are hosts of the demonstration
    that are not reported any more. `last_report` is the newest report of an unknown host.
    """

    hosts: int = 0
    down: int = 0
    unknown: int = 0
    demonstration: int = 0
    known: MemberTally = field(default_factory=MemberTally)
    last_report: datetime | None = None


def members_now(
    of: Literal["replica_set_id", "cluster_id"], ids: Collection[str], now: datetime
) -> dict[str, MembersNow]:
    """Return the members by the id of their replica set or cluster, with one query.

    Ids without hosts are left out.
    """
    hosts = Host.objects.filter(Among(of, ids)).values(
        of,
        "type_name",
        "type_unknown",
        "down",
        unknown=Case(When(without_data(now), then=Value(True)), default=Value(False)),
        demonstration=Case(When(of_demonstration(now), then=Value(True)), default=Value(False)),
    )
    rows_by_id: dict[str, list[JsonObject]] = {}
    for row in hosts.annotate(count=Count("id"), newest=Max("last_report")).order_by():
        rows_by_id.setdefault(row[of], []).append(row)
    return {key: _members(rows) for key, rows in rows_by_id.items()}


def _members(rows: Collection[JsonObject]) -> MembersNow:
    known = [
        Members(
            type_name=HostType(row["type_name"]),
            reachable=not row["down"],
            type_unknown=row["type_unknown"],
            count=row["count"],
        )
        for row in rows
        if not row["unknown"]
    ]
    reports = [row["newest"] for row in rows if row["unknown"] and row["newest"]]
    return MembersNow(
        hosts=sum(row["count"] for row in rows),
        down=sum(row["count"] for row in rows if row["down"]),
        unknown=sum(row["count"] for row in rows if row["unknown"]),
        demonstration=sum(row["count"] for row in rows if row["demonstration"]),
        known=tally(known),
        last_report=max(reports, default=None),
    )


def clusters_of(group_id: str) -> QuerySet[Cluster]:
    """Return the clusters of a project that have hosts, by name, with facts derived from the hosts.

    `type_name` is None until a host reports whether it is a member of a set. `only_replica_set_name` and
    `only_shard_name` are None unless there is exactly one name.
    """
    hosts = Host.objects.filter(cluster=OuterRef("pk"))
    sharded = Q(type_name__startswith="SHARD_") | Q(shard_name__isnull=False)
    replicated = Q(type_name__startswith="REPLICA_") | Q(replica_set_name__isnull=False)
    newest = hosts.filter(last_report__isnull=False).order_by("-last_report").values("last_report")
    clusters = Cluster.objects.filter(Exists(hosts), group_id=group_id).order_by(Lower("name"))
    return clusters.annotate(
        type_name=Case(
            When(Exists(hosts.filter(sharded)), then=Value(ClusterType.SHARDED_REPLICA_SET.value)),
            When(Exists(hosts.filter(replicated)), then=Value(ClusterType.REPLICA_SET.value)),
        ),
        replica_set_names=_distinct(hosts, "replica_set_name"),
        shard_names=_distinct(hosts, "shard_name"),
        only_replica_set_name=_only(hosts, "replica_set_name"),
        only_shard_name=_only(hosts, "shard_name"),
        last_report=Subquery(newest[:1]),
    )


def cluster_with_id(cluster_id: str, *, group_id: str) -> QuerySet[Cluster]:
    """Return the cluster of a project with this id, as `clusters_of`: at most one row."""
    return clusters_of(group_id).filter(id=cluster_id)


def _distinct(hosts: QuerySet[Host], column: str) -> ArraySubquery:
    known = hosts.filter(**{f"{column}__isnull": False})
    return ArraySubquery(known.order_by(column).values(column).distinct())


def _only(hosts: QuerySet[Host], column: str) -> Subquery:
    """The value of the column if all hosts with a value have the same."""
    values = hosts.order_by().values("cluster").annotate(least=Min(column), most=Max(column))
    return Subquery(values.filter(least=F("most")).values("least"))


def last_of_cluster(host: Host) -> Cluster | None:
    """Return the cluster of a host if the host is its last one; otherwise None."""
    others = Host.objects.filter(cluster=host.cluster_id).exclude(id=host.id)
    if host.cluster_id is None or others.exists():
        return None
    return Cluster.objects.get(id=host.cluster_id)


def clusters_emptied(cluster_ids: Collection[str]) -> QuerySet[Cluster]:
    """Return which of the clusters have no hosts."""
    hosts = Host.objects.filter(cluster=OuterRef("pk"))
    return Cluster.objects.filter(~Exists(hosts), id__in=cluster_ids)


HostColumn = Literal["id", "replica_set_id", "cluster_id"]
"""The column of hosts by which labels are read."""


def labels_of_hosts(of: HostColumn, ids: Collection[str]) -> dict[str, LabelSets]:
    """Return the labels of hosts by the id of the host, its replica set or its cluster.

    Ids without hosts are left out. A deleted host still has the labels of its last report: a window that
    mutes the host also mutes that its alerts are cancelled.
    """
    hosts = (Host.with_deleted if of == "id" else Host.objects).filter(Among(of, ids)).order_by()
    label_sets: dict[str, list[tuple[str, ...]]] = {}
    for key, labels in hosts.values_list(of, "labels").distinct():
        label_sets.setdefault(key, []).append(label_texts(labels))
    return {key: tuple(sets) for key, sets in label_sets.items()}


def readable_labels(of: HostColumn, ids: Collection[str], *, most: int) -> set[str]:
    """Return the ids whose labels can be read from at most `most` hosts; ids with fewer hosts come first."""
    counts = Host.objects.filter(Among(of, ids)).order_by().values_list(of).annotate(Count("id"))
    sizes = dict.fromkeys(ids, 1 if of == "id" else 0) | ({} if of == "id" else dict(counts))
    by_size = sorted(ids, key=lambda name: (sizes[name], name))
    together = accumulate(sizes[name] for name in by_size)
    return {name for name, read in zip(by_size, together, strict=True) if read <= most}


def replica_set_ids(
    group_ids: Collection[str], names: Collection[str]
) -> dict[tuple[str, str, str | None], str]:
    """Return the ids of the replica sets with these names, by project, name and cluster.

    A replica set whose hosts have all moved to another set is left out.
    """
    has_hosts = Exists(Host.with_deleted.filter(replica_set_id=OuterRef("id")))
    sets = ReplicaSet.objects.filter(has_hosts, Among("group_id", group_ids), Among("name", names))
    rows = sets.values_list("group_id", "name", "cluster_id", "id")
    return {(group_id, name, cluster_id): set_id for group_id, name, cluster_id, set_id in rows}
