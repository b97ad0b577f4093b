"""Stores the replica sets of reports, and counts their members when a member changes.

Counting locks the rows of the sets by id, after the rows of hosts. Of two reports of members of a set, the
later one therefore sees the earlier one, and their signals have the same order.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Count, Min

from automation.choices import HostType
from automation.hosts.models import Cluster, Host, ReplicaSet
from automation.hosts.rules import Members, MemberTally, primary_event, tally_after
from automation.hosts.store import facts_of_replica_set, replica_set_state
from automation.reports.limits import REPLICA_SETS, rows_limited
from automation.reports.rules import HOLD
from events.log.changes import NewEvent
from opsapi.sql import execute, fetch_rows, update_from_arrays

SetKey = tuple[str, str | None]
"""The identity of a replica set in a project: its name, and the id of its cluster if it has one."""

_NAMED = """
SELECT given.name, nullif(given.cluster, ''), known.id
  FROM unnest(%(names)s::text[], %(clusters)s::text[]) AS given (name, cluster)
  JOIN automation_replicaset AS known
    ON known.group_id = %(group)s AND known.name = given.name
   AND coalesce(known.cluster_id, '') = given.cluster
"""
_COLUMNS = [field.attname for field in ReplicaSet._meta.concrete_fields]
# Most reports run this statement. Django needs longer to compose it than PostgreSQL to run it.
_LOCKED = f"""
SELECT {", ".join(f"sets.{name}" for name in _COLUMNS)}, cluster.name,
       (SELECT agent.id
          FROM automation_host AS host JOIN automation_agent AS agent ON agent.id = host.reported_by_id
         WHERE host.replica_set_id = sets.id AND host.deleted IS NULL
           AND agent.waiting_since > %(held_after)s AND agent.waiting_since <= %(now)s
         LIMIT 1)
  FROM automation_replicaset AS sets LEFT JOIN automation_cluster AS cluster ON cluster.id = sets.cluster_id
 WHERE sets.id = ANY(%(ids)s) ORDER BY sets.id FOR UPDATE OF sets
"""  # noqa: S608 - contains only our own names
_COUNTED_COLUMNS: Mapping[str, str] = {
    "shard_name": "text",
    "primaries": "integer",
    "healthy": "integer",
    "unhealthy": "integer",
    "unknown": "integer",
    "primary_unknown": "boolean",
}
_UPDATE = update_from_arrays("automation_replicaset", _COUNTED_COLUMNS)


@dataclass(frozen=True, slots=True)
class SetsCounted:
    """The result of counting: events of changes, and the state of every set for the signal.

    `held` are the states of sets whose alerts wait, by the id of the agent whose reports wait.
    """

    events: Sequence[NewEvent] = ()
    states: Sequence[Mapping[str, Any]] = ()
    held: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)


def replica_sets_named(*, group_id: str, keys: Collection[SetKey], now: datetime) -> Mapping[SetKey, str]:
    """Return the ids of the sets with these keys; unknown sets are added.

    Raises: ApiError: LIMIT_REACHED, if sets were added and the project has too many.
    """
    known = _known(group_id, keys)
    missing = sorted(frozenset(keys) - known.keys(), key=lambda key: (key[0], key[1] or ""))
    if not missing:
        return known
    fresh = [
        ReplicaSet(group_id=group_id, name=name, cluster_id=cluster, created=now) for name, cluster in missing
    ]
    ReplicaSet.objects.bulk_create(fresh, ignore_conflicts=True)
    rows_limited(REPLICA_SETS, group_id=group_id)
    return _known(group_id, keys)


def replica_sets_count(
    *, set_ids: Collection[str], changed_ids: Collection[str] | None = None, now: datetime
) -> SetsCounted:
    """Count the members of these sets. The transaction has already written the changes of hosts.

    Only sets in `changed_ids` are counted, if given; the other sets keep their numbers.
    """
    if not set_ids:
        return SetsCounted()
    counted = set_ids if changed_ids is None else changed_ids
    holders: dict[str, str] = {}
    sets = _locked(set_ids, holders, now)
    # A separate statement, which sees the changes that were committed while this waited for the locks.
    members, shards = _members(counted) if counted else ({}, {})
    events, changed = [], []
    for replica_set in (replica_set for replica_set in sets if replica_set.id in counted):
        before = _tally_of(replica_set)
        after = tally_after(before, members.get(replica_set.id, ()))
        if (before, replica_set.shard_name) != (after, shards.get(replica_set.id)):
            replica_set.primaries, replica_set.healthy = after.primaries, after.healthy
            replica_set.unhealthy, replica_set.shard_name = after.unhealthy, shards.get(replica_set.id)
            replica_set.unknown, replica_set.primary_unknown = after.unknown, after.primary_unknown
            changed.append(replica_set)
        event_type = primary_event(before, after)
        if event_type:
            # Without a signal of its own: the signal of hosts has the state.
            events.append(
                NewEvent(event_type=event_type, facts=facts_of_replica_set(replica_set), signals=False)
            )
    _update(changed)
    states: list[Mapping[str, Any]] = []
    held: dict[str, list[Mapping[str, Any]]] = {}
    for replica_set in sets:
        holder = holders.get(replica_set.id)
        (held.setdefault(holder, []) if holder else states).append(replica_set_state(replica_set))
    return SetsCounted(events, states, held)


def _locked(set_ids: Collection[str], holders: dict[str, str], now: datetime) -> list[ReplicaSet]:
    """The sets with the names of their clusters, locked by id.

    Add to `holders` the agents whose reports about members wait (`reports.rules.HOLD`).
    """
    sets = []
    values_of = {"ids": list(set_ids), "held_after": now - HOLD, "now": now}
    for *values, cluster_name, holder in fetch_rows(_LOCKED, values_of):
        replica_set = ReplicaSet.from_db(connection.alias, _COLUMNS, values)
        if holder:
            holders[replica_set.id] = holder
        if replica_set.cluster_id is not None:
            replica_set.cluster = Cluster(
                id=replica_set.cluster_id, group_id=replica_set.group_id, name=cluster_name
            )
        sets.append(replica_set)
    return sets


def _known(group_id: str, keys: Iterable[SetKey]) -> dict[SetKey, str]:
    given = list(keys)
    if not given:
        return {}
    names, clusters = [name for name, _ in given], [cluster or "" for _, cluster in given]
    rows = fetch_rows(_NAMED, {"group": group_id, "names": names, "clusters": clusters})
    return {(name, cluster): set_id for name, cluster, set_id in rows}


def _members(set_ids: Collection[str]) -> tuple[dict[str, list[Members]], dict[str, str]]:
    """The members of each set by type and reachability, and the shard name of sets that have one."""
    facts = ("replica_set_id", "type_name", "type_unknown", "down")
    hosts = Host.objects.filter(replica_set__in=set_ids).values(*facts)
    members: dict[str, list[Members]] = {}
    shards: dict[str, str] = {}
    for row in hosts.annotate(hosts=Count("id"), shard=Min("shard_name")).order_by():
        seen = Members(
            type_name=HostType(row["type_name"]),
            reachable=not row["down"],
            type_unknown=row["type_unknown"],
            count=row["hosts"],
        )
        members.setdefault(row["replica_set_id"], []).append(seen)
        if row["shard"] is not None:
            shards[row["replica_set_id"]] = min(row["shard"], shards.get(row["replica_set_id"], row["shard"]))
    return members, shards


def _tally_of(replica_set: ReplicaSet) -> MemberTally:
    return MemberTally(
        primaries=replica_set.primaries,
        healthy=replica_set.healthy,
        unhealthy=replica_set.unhealthy,
        unknown=replica_set.unknown,
        primary_unknown=replica_set.primary_unknown,
    )


def _update(changed: Sequence[ReplicaSet]) -> None:
    if not changed:
        return
    columns = {
        name: [getattr(replica_set, name) for replica_set in changed] for name in ("id", *_COUNTED_COLUMNS)
    }
    execute(_UPDATE, columns)
