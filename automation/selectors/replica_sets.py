"""Reading replica sets."""

from django.db.models import Q, QuerySet

from automation.models import Host, ReplicaSet
from events.facts import EventFacts
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
