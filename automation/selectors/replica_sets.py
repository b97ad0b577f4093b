"""Reading replica sets."""

from django.db.models import Q, QuerySet

from automation.models import (
    Host,
    ReplicaSet,
)
from events.facts import EventFacts
from opsapi.wire_json import JsonObject


def facts_of_replica_set(one: ReplicaSet) -> EventFacts:
    """A replica set as events name it."""
    return EventFacts(
        cluster_id=one.cluster_id,
        cluster_name=one.cluster.name if one.cluster else None,
        replica_set_name=one.name,
        shard_name=one.shard_name,
    )


def replica_set_state(one: ReplicaSet) -> JsonObject:
    """A replica set's state as signals carry it: its names, and what was counted of its members."""
    counted = {"primaries": one.primaries, "healthy": one.healthy, "unhealthy": one.unhealthy}
    return {**facts_of_replica_set(one).document(), **counted}


def replica_sets_there(group_id: str) -> QuerySet[ReplicaSet]:
    """The replica sets of a project that have members, with their clusters, in one order."""
    members = Q(healthy__gt=0) | Q(unhealthy__gt=0)
    return ReplicaSet.objects.filter(members, group_id=group_id).select_related("cluster").order_by("id")


def last_of_replica_set(host: Host) -> ReplicaSet | None:
    """The replica set that goes with the host, which is its last one; None when there is none."""
    others = Host.objects.filter(replica_set=host.replica_set_id).exclude(id=host.id)
    if host.replica_set_id is None or others.exists():
        return None
    return ReplicaSet.objects.select_related("cluster").get(id=host.replica_set_id)
