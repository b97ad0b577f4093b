"""Reading clusters."""

from collections.abc import Collection
from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Lower

from automation.models import (
    Cluster,
    Host,
)
from opsapi.fields import WireTime

ClusterRow = dict[str, Any]


def cluster_rows(group_id: str) -> QuerySet[Cluster, Any]:
    """Return the clusters of a project that have hosts, by name, with facts derived from the hosts."""
    hosts = Host.objects.filter(cluster=OuterRef("pk"))
    sharded = Q(type_name__startswith="SHARD_") | Q(shard_name__isnull=False)
    replicated = Q(type_name__startswith="REPLICA_") | Q(replica_set_name__isnull=False)
    reported = hosts.filter(last_report__isnull=False)
    newest = reported.order_by("-last_report").values(wire_last_report=WireTime("last_report"))
    clusters = Cluster.objects.filter(Exists(hosts), group_id=group_id).order_by(Lower("name"))
    return clusters.values(
        "id",
        "group_id",
        "name",
        sharded=Exists(hosts.filter(sharded)),
        replicated=Exists(hosts.filter(replicated)),
        replica_set_names=_distinct(hosts, "replica_set_name"),
        shard_names=_distinct(hosts, "shard_name"),
        wire_last_report=Subquery(newest[:1]),
    )


def cluster_row(cluster_id: str, *, group_id: str) -> ClusterRow | None:
    """Return a cluster of a project; None if it does not exist or has no hosts."""
    return cluster_rows(group_id).filter(id=cluster_id).first()


def _distinct(hosts: QuerySet[Host], column: str) -> ArraySubquery:
    known = hosts.filter(**{f"{column}__isnull": False})
    return ArraySubquery(known.order_by(column).values(column).distinct())


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
