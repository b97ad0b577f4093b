"""Which alerts are one outage, what its root is, and which of its changes matter (docs/grouping.md). Pure.

A *unit* is a part of the fleet that agents report: a host, a machine, a replica set, a shard, a cluster, or
the hosts of an agent. Alerts that concern the same unit are related.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from events.types import Target


class UnitKind(StrEnum):
    """The kinds of units. Of two units with the same hosts, the earlier kind is the root."""

    HOST = "HOST"
    MACHINE = "MACHINE"
    REPLICA_SET = "REPLICA_SET"
    SHARD = "SHARD"
    CLUSTER = "CLUSTER"
    AGENT = "AGENT"


_RANK = {kind: rank for rank, kind in enumerate(UnitKind)}


@dataclass(frozen=True, slots=True)
class FleetUnit:
    """A part of the fleet of one project; `name` is unique for its kind."""

    kind: UnitKind
    name: str

    @property
    def key(self) -> str:
        return f"{self.kind.value}:{self.name}"

    @classmethod
    def of_key(cls, key: str) -> "FleetUnit":
        kind, _, name = key.partition(":")
        return cls(UnitKind(kind), name)


def units_of(facts: Mapping[str, Any], agent: str | None = None) -> frozenset[FleetUnit]:
    """The units that an alert or a host concerns, from its facts under their wire names.

    `agent` is the agent that reports the host.
    """
    hostname, cluster = facts.get("hostname"), _name(facts.get("clusterName"))
    found = {FleetUnit(UnitKind.AGENT, agent)} if agent else set()
    if hostname:
        found.add(FleetUnit(UnitKind.MACHINE, _name(hostname)))
        if (port := facts.get("port")) is not None:
            found.add(FleetUnit(UnitKind.HOST, f"{_name(hostname)}:{port}"))
    if name := facts.get("replicaSetName"):
        found.add(FleetUnit(UnitKind.REPLICA_SET, _within(name, cluster)))
    if cluster:
        found.add(FleetUnit(UnitKind.CLUSTER, cluster))
        if shard := facts.get("shardName"):
            found.add(FleetUnit(UnitKind.SHARD, _within(shard, cluster)))
    return frozenset(found)


_COVERING: Mapping[Target, Sequence[UnitKind]] = {
    Target.HOST: (UnitKind.HOST,),
    Target.HOST_METRIC: (UnitKind.HOST,),
    Target.REPLICA_SET: (UnitKind.REPLICA_SET,),
    Target.CLUSTER: (UnitKind.SHARD, UnitKind.CLUSTER),
    Target.AGENT: (UnitKind.AGENT,),
}


def covered_unit(target: Target, units: AbstractSet[FleetUnit]) -> FleetUnit | None:
    """The unit that an alert on such a target is about; None for an alert about the project."""
    by_kind = {unit.kind: unit for unit in units}
    return next((by_kind[kind] for kind in _COVERING.get(target, ()) if kind in by_kind), None)


def agent_name(agent_type: str, hostname: str) -> str:
    """The name of an agent as a unit."""
    return f"{agent_type} {_name(hostname)}"


_SEPARATOR = "\x1f"


def _within(name: str, cluster: str) -> str:
    return f"{name}{_SEPARATOR}{cluster}" if cluster else name


def _name(text: str | None) -> str:
    return (text or "").lower()


# --- who belongs together -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Opening:
    """An alert that opens at `at`, and the units that it concerns."""

    alert_id: str
    units: frozenset[FleetUnit]
    at: datetime


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An incident that has not ended: the keys of its units, and when an alert last joined."""

    id: str
    units: frozenset[str]
    grown: datetime

    def joined_by(self, openings: Iterable[Opening]) -> "OpenIncident":
        """The incident with these alerts."""
        units, grown = set(self.units), self.grown
        for opening in openings:
            units.update(unit.key for unit in opening.units)
            grown = max(grown, opening.at)
        return replace(self, units=frozenset(kept_units(units)), grown=grown)


def grouped(
    openings: Sequence[Opening], incidents: Sequence[OpenIncident], *, wait: timedelta
) -> list[tuple[str | None, list[Opening]]]:
    """Return the openings in groups, each with the incident that it joins, None for a new one.

    Related openings are a group. It joins the first of `incidents` with an alert on one of its units. An
    agent can watch hosts that have nothing else in common, so it relates only alerts that open within `wait`
    of each other.
    """
    return [(_joined(group, incidents, wait), group) for group in _components(openings)]


def _components(openings: Sequence[Opening]) -> list[list[Opening]]:
    first_with: dict[FleetUnit, int] = {}
    leader = list(range(len(openings)))

    def find(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for place, opening in enumerate(openings):
        for unit in opening.units:
            earlier, later = find(first_with.setdefault(unit, place)), find(place)
            leader[max(earlier, later)] = min(earlier, later)
    groups: dict[int, list[Opening]] = defaultdict(list)
    for place, opening in enumerate(openings):
        groups[find(place)].append(opening)
    return list(groups.values())


def _joined(group: Sequence[Opening], incidents: Sequence[OpenIncident], wait: timedelta) -> str | None:
    units = {unit for opening in group for unit in opening.units}
    keys = {unit.key for unit in units if unit.kind is not UnitKind.AGENT}
    agents = {unit.key for unit in units if unit.kind is UnitKind.AGENT}
    at = min(opening.at for opening in group)
    for incident in incidents:
        if not keys.isdisjoint(incident.units):
            return incident.id
        if at <= incident.grown + wait and not agents.isdisjoint(incident.units):
            return incident.id
    return None


MOST_UNITS = 2_000
"""The most units that an incident keeps, the largest kinds first."""


def kept_units(units: Iterable[str]) -> list[str]:
    """The keys that an incident keeps, of the keys of all its alerts."""
    ordered = sorted(set(units), key=lambda key: (-_RANK[FleetUnit.of_key(key).kind], key))
    return ordered[:MOST_UNITS]


def first_message_due(begun: datetime, opened: datetime, *, delay: timedelta, wait: timedelta) -> datetime:
    """When the first message about an incident is due, from the times of its first alert."""
    return max(begun + delay, opened + wait)


# --- the root -----------------------------------------------------------------------------------------

FIRST = "FIRST"
"""The root of an incident in which no larger unit is wholly affected: its first alert."""
HEALED = ""
"""The root of an incident whose root has recovered while other alerts are open."""


@dataclass(frozen=True, slots=True)
class FleetUnits:
    """The hosts of each unit of a project; hosts are numbers."""

    hosts: Mapping[FleetUnit, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, hosts: Iterable[AbstractSet[FleetUnit]]) -> "FleetUnits":
        """The fleet of these hosts, of each the units that it belongs to."""
        found: dict[FleetUnit, set[int]] = defaultdict(set)
        for number, units in enumerate(hosts):
            for unit in units:
                found[unit].add(number)
        return cls({unit: frozenset(numbers) for unit, numbers in found.items()})

    def size(self, unit: FleetUnit) -> int:
        return len(self.hosts.get(unit, ()))


@dataclass(frozen=True, slots=True)
class Picture:
    """What a message says about an incident: the number of its open alerts, and the root.

    `root` is the key of a unit, FIRST or HEALED.
    """

    members: int
    root: str


def picture(
    covered: Sequence[FleetUnit | None], fleet: FleetUnits, *, said: Picture | None, first_is_open: bool
) -> Picture:
    """The incident as a message shows it now; `covered` are the units of its open alerts.

    The root is the largest unit of at least two hosts that is wholly affected, or the first alert. A root
    that was said stays until all its hosts have recovered, or a larger unit is wholly affected.
    """
    affected = {number for unit in covered if unit for number in fleet.hosts.get(unit, ())}
    largest = _largest(affected, fleet)
    return Picture(len(covered), _root(largest, affected, fleet, said, first_is_open=first_is_open))


def _root(
    largest: FleetUnit | None,
    affected: AbstractSet[int],
    fleet: FleetUnits,
    said: Picture | None,
    *,
    first_is_open: bool,
) -> str:
    if said and said.root not in {FIRST, HEALED}:
        known = FleetUnit.of_key(said.root)
        if largest and fleet.size(largest) > fleet.size(known):
            return largest.key
        lasts = not affected.isdisjoint(fleet.hosts.get(known, frozenset()))
        return said.root if lasts else HEALED
    # Of many units that were down, the next is no new root when the first has recovered.
    if largest and not (said and said.root == HEALED and fleet.size(largest) <= said.members):
        return largest.key
    return FIRST if first_is_open and (said is None or said.root == FIRST) else HEALED


def _largest(affected: AbstractSet[int], fleet: FleetUnits) -> FleetUnit | None:
    counts = Counter(
        {
            unit: len(numbers)
            for unit, numbers in fleet.hosts.items()
            if len(numbers) > 1 and numbers <= affected
        }
    )
    return min(counts, key=lambda unit: (-counts[unit], _RANK[unit.kind], unit.name), default=None)


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

_WORDS: Mapping[UnitKind, str] = {
    UnitKind.HOST: "host",
    UnitKind.MACHINE: "machine",
    UnitKind.REPLICA_SET: "replica set",
    UnitKind.SHARD: "shard",
    UnitKind.CLUSTER: "cluster",
    UnitKind.AGENT: "hosts of agent",
}


def root_words(root: str) -> str | None:
    """The root in words, `replica set rs0`; None for the first alert, and if the root has recovered."""
    if root in {FIRST, HEALED}:
        return None
    unit = FleetUnit.of_key(root)
    name, _, cluster = unit.name.partition(_SEPARATOR)
    return f"{_WORDS[unit.kind]} {name}" + (f" of cluster {cluster}" if cluster else "")
