"""Reading replica sets and clusters, and counts of their hosts."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Lower

from automation.choices import ClusterType, HostType
from automation.models import Cluster, Host, ReplicaSet
from automation.rules.hosts import Members, MemberTally, tally
from automation.selectors.hosts import without_data
from events.facts import EventFacts
from opsapi.fields import Among
from opsapi.wire_json import JsonObject


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
    }
    return {**facts_of_replica_set(replica_set).document(), **counted}


def replica_sets_there(group_id: str) -> QuerySet[ReplicaSet]:
    """Return the replica sets of a project that have members, with their clusters, by id."""
    members = Q(healthy__gt=0) | Q(unhealthy__gt=0)
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

    `known` tallies the other hosts as replica sets do. `last_report` is the newest report of an unknown host.
    """

    hosts: int = 0
    down: int = 0
    unknown: int = 0
    known: MemberTally = field(default_factory=MemberTally)
    last_report: datetime | None = None


def members_now(
    of: Literal["replica_set_id", "cluster_id"], ids: Collection[str], now: datetime
) -> dict[str, MembersNow]:
    """Return the members by the id of their replica set or cluster, with one query.

    Ids without hosts are left out.
    """
    is_unknown = Case(When(without_data(now), then=Value(True)), default=Value(False))
    hosts = Host.objects.filter(Among(of, ids)).values(of, "type_name", "down", unknown=is_unknown)
    found: dict[str, list[JsonObject]] = {}
    for row in hosts.annotate(count=Count("id"), newest=Max("last_report")).order_by():
        found.setdefault(row[of], []).append(row)
    return {key: _members(rows) for key, rows in found.items()}


def _members(rows: Collection[JsonObject]) -> MembersNow:
    known = [
        Members(type_name=HostType(row["type_name"]), reachable=not row["down"], count=row["count"])
        for row in rows
        if not row["unknown"]
    ]
    reports = [row["newest"] for row in rows if row["unknown"] and row["newest"]]
    return MembersNow(
        hosts=sum(row["count"] for row in rows),
        down=sum(row["count"] for row in rows if row["down"]),
        unknown=sum(row["count"] for row in rows if row["unknown"]),
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
