"""Which alerts are one outage, what its root is, and which of its changes matter (docs/grouping.md). Pure.

A *thing* is a part of the fleet that agents report: a host, a machine, a replica set, a shard, a cluster, or
the hosts of an agent. Alerts that concern the same thing are related.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from events.types import Target


class ThingKind(StrEnum):
    """The kinds of things. Of two things with the same hosts, the earlier kind is the root."""

    HOST = "HOST"
    MACHINE = "MACHINE"
    REPLICA_SET = "REPLICA_SET"
    SHARD = "SHARD"
    CLUSTER = "CLUSTER"
    AGENT = "AGENT"


_RANK = {kind: rank for rank, kind in enumerate(ThingKind)}


@dataclass(frozen=True, slots=True)
class Thing:
    """A part of the fleet of one project; `name` is unique for its kind."""

    kind: ThingKind
    name: str

    @property
    def key(self) -> str:
        return f"{self.kind.value}:{self.name}"

    @classmethod
    def of_key(cls, key: str) -> "Thing":
        kind, _, name = key.partition(":")
        return cls(ThingKind(kind), name)


def things_of(facts: Mapping[str, Any], agent: str | None = None) -> frozenset[Thing]:
    """The things that an alert or a host concerns, from its facts under their wire names.

    `agent` is the agent that reports the host.
    """
    hostname, cluster = facts.get("hostname"), _name(facts.get("clusterName"))
    found = {Thing(ThingKind.AGENT, agent)} if agent else set()
    if hostname:
        found.add(Thing(ThingKind.MACHINE, _name(hostname)))
        if (port := facts.get("port")) is not None:
            found.add(Thing(ThingKind.HOST, f"{_name(hostname)}:{port}"))
    if name := facts.get("replicaSetName"):
        found.add(Thing(ThingKind.REPLICA_SET, _within(name, cluster)))
    if cluster:
        found.add(Thing(ThingKind.CLUSTER, cluster))
        if shard := facts.get("shardName"):
            found.add(Thing(ThingKind.SHARD, _within(shard, cluster)))
    return frozenset(found)


_COVERING: Mapping[Target, Sequence[ThingKind]] = {
    Target.HOST: (ThingKind.HOST,),
    Target.HOST_METRIC: (ThingKind.HOST,),
    Target.REPLICA_SET: (ThingKind.REPLICA_SET,),
    Target.CLUSTER: (ThingKind.SHARD, ThingKind.CLUSTER),
    Target.AGENT: (ThingKind.AGENT,),
}


def covered_thing(target: Target, things: AbstractSet[Thing]) -> Thing | None:
    """The thing that an alert on such a target is about; None for an alert about the project."""
    by_kind = {thing.kind: thing for thing in things}
    return next((by_kind[kind] for kind in _COVERING.get(target, ()) if kind in by_kind), None)


def agent_name(agent_type: str, hostname: str) -> str:
    """The name of an agent as a thing."""
    return f"{agent_type} {_name(hostname)}"


_SEPARATOR = "\x1f"


def _within(name: str, cluster: str) -> str:
    return f"{name}{_SEPARATOR}{cluster}" if cluster else name


def _name(text: str | None) -> str:
    return (text or "").lower()


# --- who belongs together -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opening:
    """An alert that opens at `at`, and the things that it concerns."""

    alert_id: str
    things: frozenset[Thing]
    at: datetime


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An incident that has not ended: the keys of its things, and when an alert last joined."""

    id: str
    things: frozenset[str]
    grown: datetime


def grouped(
    openings: Sequence[Opening], incidents: Sequence[OpenIncident], *, wait: timedelta
) -> list[tuple[str | None, list[Opening]]]:
    """Return the openings in groups, each with the incident that it joins, None for a new one.

    Related openings are a group. It joins the first of `incidents` with an alert on one of its things. An
    agent can watch hosts that have nothing else in common, so it relates only alerts that open within `wait`
    of each other.
    """
    return [(_joined(group, incidents, wait), group) for group in _components(openings)]


def _components(openings: Sequence[Opening]) -> list[list[Opening]]:
    first_with: dict[Thing, int] = {}
    leader = list(range(len(openings)))

    def find(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for place, opening in enumerate(openings):
        for thing in opening.things:
            one, other = find(first_with.setdefault(thing, place)), find(place)
            leader[max(one, other)] = min(one, other)
    groups: dict[int, list[Opening]] = defaultdict(list)
    for place, opening in enumerate(openings):
        groups[find(place)].append(opening)
    return list(groups.values())


def _joined(group: Sequence[Opening], incidents: Sequence[OpenIncident], wait: timedelta) -> str | None:
    things = {thing for opening in group for thing in opening.things}
    keys = {thing.key for thing in things if thing.kind is not ThingKind.AGENT}
    agents = {thing.key for thing in things if thing.kind is ThingKind.AGENT}
    at = min(opening.at for opening in group)
    for incident in incidents:
        if not keys.isdisjoint(incident.things):
            return incident.id
        if at <= incident.grown + wait and not agents.isdisjoint(incident.things):
            return incident.id
    return None


MOST_THINGS = 2_000
"""The most things that an incident keeps, the largest kinds first."""


def kept_things(things: Iterable[str]) -> list[str]:
    """The keys that an incident keeps, of the keys of all its alerts."""
    ordered = sorted(set(things), key=lambda key: (-_RANK[Thing.of_key(key).kind], key))
    return ordered[:MOST_THINGS]


# --- the root -----------------------------------------------------------------------------------------

FIRST = "FIRST"
"""The root of an incident in which no larger thing is wholly affected: its first alert."""
HEALED = ""
"""The root of an incident whose root has recovered while other alerts are open."""


@dataclass(frozen=True, slots=True)
class FleetThings:
    """The hosts of each thing of a project; hosts are numbers."""

    hosts: Mapping[Thing, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, hosts: Iterable[AbstractSet[Thing]]) -> "FleetThings":
        """The fleet of these hosts, of each the things that it belongs to."""
        found: dict[Thing, set[int]] = defaultdict(set)
        for number, things in enumerate(hosts):
            for thing in things:
                found[thing].add(number)
        return cls({thing: frozenset(numbers) for thing, numbers in found.items()})

    def size(self, thing: Thing) -> int:
        return len(self.hosts.get(thing, ()))


@dataclass(frozen=True, slots=True)
class Picture:
    """What a message says about an incident: the number of its open alerts, and the root.

    `root` is the key of a thing, FIRST or HEALED.
    """

    members: int
    root: str


def picture(
    covered: Sequence[Thing | None], fleet: FleetThings, *, said: Picture | None, first_is_open: bool
) -> Picture:
    """The incident as a message shows it now; `covered` are the things of its open alerts.

    The root is the largest thing of at least two hosts that is wholly affected, or the first alert. A root
    that was said stays until all its hosts have recovered, or a larger thing is wholly affected.
    """
    affected = {number for thing in covered if thing for number in fleet.hosts.get(thing, ())}
    largest = _largest(affected, fleet)
    return Picture(len(covered), _root(largest, affected, fleet, said, first_is_open=first_is_open))


def _root(
    largest: Thing | None,
    affected: AbstractSet[int],
    fleet: FleetThings,
    said: Picture | None,
    *,
    first_is_open: bool,
) -> str:
    if said and said.root not in {FIRST, HEALED}:
        known = Thing.of_key(said.root)
        if largest and fleet.size(largest) > fleet.size(known):
            return largest.key
        lasts = not affected.isdisjoint(fleet.hosts.get(known, frozenset()))
        return said.root if lasts else HEALED
    # Of many things that were down, the next is no new root when the first has recovered.
    if largest and not (said and said.root == HEALED and fleet.size(largest) <= said.members):
        return largest.key
    return FIRST if first_is_open and (said is None or said.root == FIRST) else HEALED


def _largest(affected: AbstractSet[int], fleet: FleetThings) -> Thing | None:
    counts = Counter(
        {
            thing: len(numbers)
            for thing, numbers in fleet.hosts.items()
            if len(numbers) > 1 and numbers <= affected
        }
    )
    return min(counts, key=lambda thing: (-counts[thing], _RANK[thing.kind], thing.name), default=None)


# --- changes that matter ------------------------------------------------------------------------------


class IncidentChange(StrEnum):
    """A change of an incident that is worth a message."""

    ROOT_RECOGNIZED = "ROOT_RECOGNIZED"
    MEMBERS_DOUBLED = "MEMBERS_DOUBLED"
    ROOT_HEALED = "ROOT_HEALED"


def change_that_matters(said: Picture, now: Picture) -> IncidentChange | None:
    """What has changed since the last message; None if nothing that matters."""
    if now.root != said.root:
        return IncidentChange.ROOT_HEALED if now.root == HEALED else IncidentChange.ROOT_RECOGNIZED
    return IncidentChange.MEMBERS_DOUBLED if now.members >= 2 * max(said.members, 1) else None


# --- words --------------------------------------------------------------------------------------------

_WORDS: Mapping[ThingKind, str] = {
    ThingKind.HOST: "host",
    ThingKind.MACHINE: "machine",
    ThingKind.REPLICA_SET: "replica set",
    ThingKind.SHARD: "shard",
    ThingKind.CLUSTER: "cluster",
    ThingKind.AGENT: "hosts of agent",
}


def root_words(root: str) -> str | None:
    """The root in words, `replica set rs0`; None for the first alert, and if the root has recovered."""
    if root in {FIRST, HEALED}:
        return None
    thing = Thing.of_key(root)
    name, _, cluster = thing.name.partition(_SEPARATOR)
    return f"{_WORDS[thing.kind]} {name}" + (f" of cluster {cluster}" if cluster else "")
