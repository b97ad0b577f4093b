"""Reading replica sets, and counts of the hosts of replica sets and clusters."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from django.db.models import Case, Count, Max, Q, QuerySet, Value, When

from automation.choices import HostType
from automation.models import Host, ReplicaSet
from automation.rules.replica_sets import Members, MemberTally, tally
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
