"""Reading clusters."""

from collections.abc import Collection

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Case, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Value, When
from django.db.models.functions import Lower

from automation.choices import ClusterType
from automation.models import Cluster, Host


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
