"""Which alerts are one outage, its root, and which of its changes are important (docs/grouping.md). Pure.

A *unit* is a part of the fleet that agents report: a host, a machine, a replica set, a shard, a cluster, the
hosts of an agent, or the hosts with a label. Alerts that concern the same unit are related.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from events.types import Target
from opsapi.clock import AHEAD


class UnitKind(StrEnum):
    """The kinds of units. Of two units with the same hosts, the earlier kind is the root."""

    HOST = "HOST"
    MACHINE = "MACHINE"
    REPLICA_SET = "REPLICA_SET"
    SHARD = "SHARD"
    CLUSTER = "CLUSTER"
    AGENT = "AGENT"
    LABEL = "LABEL"


_RANK = {kind: rank for rank, kind in enumerate(UnitKind)}


class FleetUnit(NamedTuple):
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


def units_of(
    facts: Mapping[str, Any], agent: str | None = None, labels: Mapping[str, str] = MappingProxyType({})
) -> frozenset[FleetUnit]:
    """The units that an alert or a host concerns, from its facts under their wire names.

    `agent` is the agent that reports the host, `labels` are the labels of the host.
    """
    hostname, cluster = facts.get("hostname"), _name(facts.get("clusterName"))
    units = set(label_units(labels)) if labels else set()
    if agent:
        units.add(FleetUnit(UnitKind.AGENT, agent))
    if hostname:
        units.add(FleetUnit(UnitKind.MACHINE, _name(hostname)))
        if (port := facts.get("port")) is not None:
            units.add(FleetUnit(UnitKind.HOST, f"{_name(hostname)}:{port}"))
    if name := facts.get("replicaSetName"):
        units.add(FleetUnit(UnitKind.REPLICA_SET, _within(name, cluster)))
    if cluster:
        units.add(FleetUnit(UnitKind.CLUSTER, cluster))
        if shard := facts.get("shardName"):
            units.add(FleetUnit(UnitKind.SHARD, _within(shard, cluster)))
    return frozenset(units)


def label_units(labels: Mapping[str, str]) -> frozenset[FleetUnit]:
    """The units of labels."""
    return frozenset(FleetUnit(UnitKind.LABEL, f"{name}={value}") for name, value in labels.items())


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


def name_parts(unit: FleetUnit) -> tuple[str, str]:
    """The two parts of a unit's name: hostname and port, name and cluster, type and hostname of an agent, or
    name and value of a label.

    The second is empty for the other kinds, and outside a cluster.
    """
    match unit.kind:
        case UnitKind.HOST:
            name, _, port = unit.name.rpartition(":")
            return name, port
        case UnitKind.AGENT:
            agent_type, _, hostname = unit.name.partition(" ")
            return agent_type, hostname
        case UnitKind.LABEL:
            label, _, value = unit.name.partition("=")
            return label, value
        case _:
            name, _, cluster = unit.name.partition(_SEPARATOR)
            return name, cluster


def _name(text: str | None) -> str:
    return (text or "").lower()


# --- who belongs together -----------------------------------------------------------------------------


class OpenedAlert(Protocol):
    """An alert that begins, joins or leaves an incident."""

    incident_id: str | None
    status: str
    resolved: datetime | None

    @property
    def id(self) -> str: ...
    @property
    def group_id(self) -> str: ...
    @property
    def config_id(self) -> str: ...
    @property
    def target_key(self) -> str: ...
    @property
    def facts(self) -> Mapping[str, Any]: ...
    @property
    def created(self) -> datetime: ...
    @property
    def updated(self) -> datetime: ...


@dataclass(frozen=True, slots=True)
class Opening:
    """An alert that opens at `at`, and the units that it concerns."""

    alert_id: str
    units: frozenset[FleetUnit]
    at: datetime


class StoredIncident(Protocol):
    """The row of an incident."""

    id: str
    units: list[str]
    created: datetime
    grown: datetime


@dataclass(frozen=True, slots=True)
class OpenIncident:
    """An incident that has not ended: the keys of its units, when it began, and when an alert last joined."""

    id: str
    units: frozenset[str]
    created: datetime
    grown: datetime

    @classmethod
    def of(cls, row: StoredIncident) -> "OpenIncident":
        return cls(row.id, frozenset(row.units), row.created, row.grown)

    def may_relate(self, kind: UnitKind, at: datetime, wait: timedelta) -> bool:
        """Whether a unit of such a kind relates an alert that opens at `at` to the incident.

        A label does only while the first message waits: that message then names the alert. Times that lie
        ahead were written while a clock was wrong, and relate nothing.
        """
        match kind:
            case UnitKind.LABEL:
                return self.created - AHEAD <= at < self.created + wait
            case UnitKind.AGENT:
                return self.grown - AHEAD <= at <= self.grown + wait
            case _:
                return True


class UnitSearch(NamedTuple):
    """A search for the first incident to which a unit relates an alert that opens at `at`."""

    unit: FleetUnit
    at: datetime


MOST_ALERTS = 10_000
"""An incident with this many open alerts takes no more, because all of them decide its messages."""
MOST_LABELS = 16
"""The most labels that are compared at once, and that an opening of several alerts adds to an incident."""
LARGEST_SHARE = 0.75
"""The largest share of a project's hosts with a label that relates alerts."""


def labels_held(openings: Sequence[Opening]) -> Counter[FleetUnit]:
    """The labels of openings, each with the number of groups that have nothing else in common."""
    return Counter(
        label
        for group in _components(openings, frozenset())
        for label in {unit for opening in group for unit in opening.units if unit.kind is UnitKind.LABEL}
    )


def recent_labels(incidents: Iterable[OpenIncident], *, at: datetime, wait: timedelta) -> frozenset[str]:
    """The keys of the units of incidents to which a label relates an alert that opens at `at`."""
    recent = (incident for incident in incidents if incident.may_relate(UnitKind.LABEL, at, wait))
    return frozenset(key for incident in recent for key in incident.units)


def deciding_labels(held: Mapping[FleetUnit, int], recent: AbstractSet[str]) -> list[FleetUnit]:
    """The labels that could relate openings to each other or to an incident, the most frequent first.

    `held` are the labels of the openings (`labels_held`), `recent` keys of incidents (`recent_labels`). Left
    out are labels whose alerts have something else in common already.
    """
    deciding = [label for label, groups in held.items() if groups > 1 or label.key in recent]
    return sorted(deciding, key=lambda label: (-held[label], label.name))[:MOST_LABELS]


def unit_searches(openings: Sequence[Opening], labels: AbstractSet[FleetUnit]) -> list[UnitSearch]:
    """The searches whose results are all incidents that `grouped` needs, each once."""
    return [
        UnitSearch(unit, min(opening.at for opening in group))
        for group in _components(openings, labels)
        for unit in sorted({unit for opening in group for unit in opening.units if _relates(unit, labels)})
    ]


def grouped(
    openings: Sequence[Opening],
    incidents: Sequence[OpenIncident],
    *,
    wait: timedelta,
    labels: AbstractSet[FleetUnit] = frozenset(),
) -> list[tuple[str | None, list[Opening]]]:
    """Return the openings in groups, each with the incident that it joins, None for a new one.

    Related openings are a group. It joins the first of `incidents` with an alert on one of its units. An
    agent can watch hosts that have nothing else in common, so it relates only alerts that open within `wait`
    of each other. `labels` relate only alerts that open within `wait` of the first; other labels relate
    nothing.
    """
    return [(_joined(group, incidents, wait, labels), group) for group in _components(openings, labels)]


def _relates(unit: FleetUnit, labels: AbstractSet[FleetUnit]) -> bool:
    return unit.kind is not UnitKind.LABEL or unit in labels


def _components(openings: Sequence[Opening], labels: AbstractSet[FleetUnit]) -> list[list[Opening]]:
    first_with: dict[FleetUnit, int] = {}
    leader = list(range(len(openings)))

    def find(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for place, opening in enumerate(openings):
        for unit in opening.units:
            if _relates(unit, labels):
                earlier, later = find(first_with.setdefault(unit, place)), find(place)
                leader[max(earlier, later)] = min(earlier, later)
    groups: dict[int, list[Opening]] = defaultdict(list)
    for place, opening in enumerate(openings):
        groups[find(place)].append(opening)
    return list(groups.values())


def _joined(
    group: Sequence[Opening],
    incidents: Sequence[OpenIncident],
    wait: timedelta,
    labels: AbstractSet[FleetUnit],
) -> str | None:
    units = {unit for opening in group for unit in opening.units if _relates(unit, labels)}
    keys: dict[UnitKind, set[str]] = defaultdict(set)
    for unit in units:
        keys[unit.kind].add(unit.key)
    at = min(opening.at for opening in group)
    for incident in incidents:
        for kind, related in keys.items():
            if incident.may_relate(kind, at, wait) and not related.isdisjoint(incident.units):
                return incident.id
    return None


MOST_UNITS = 2_000
"""The most units that an incident keeps, the largest kinds first."""
MOST_LABELS_KEPT = 100
"""The most labels among them, the earliest first."""


def kept_units(earlier: Sequence[str], openings: Iterable[Opening]) -> list[str]:
    """The keys of units that an incident keeps: of its `earlier` ones and of openings that join it."""
    counts = Counter(unit for opening in openings for unit in opening.units)
    frequent = sorted(counts, key=lambda unit: (-counts[unit], unit.name))
    labels = [unit.key for unit in frequent if unit.kind is UnitKind.LABEL][:MOST_LABELS]
    others = [unit.key for unit in frequent if unit.kind is not UnitKind.LABEL]
    given = list(dict.fromkeys([*earlier, *labels, *others]))
    kept = [key for key in given if _kind(key) is UnitKind.LABEL][:MOST_LABELS_KEPT]
    others = [key for key in given if _kind(key) is not UnitKind.LABEL]
    return [*kept, *sorted(others, key=lambda key: (-_RANK[_kind(key)], key))][:MOST_UNITS]


def _kind(key: str) -> UnitKind:
    return FleetUnit.of_key(key).kind


def first_message_due(begun: datetime, opened: datetime, *, delay: timedelta, wait: timedelta) -> datetime:
    """When the first message about an incident is due, from the times of its first alert."""
    return max(begun + delay, opened + wait)


# --- the root -----------------------------------------------------------------------------------------

FIRST = "FIRST"
"""The root of an incident in which no larger unit is wholly affected: its first alert."""
RECOVERED = ""
"""The root of an incident whose root has recovered while other alerts are open."""


def root_unit(root: str) -> FleetUnit | None:
    """The unit that is the root; None for the first alert, and if the root has recovered."""
    return None if root in {FIRST, RECOVERED} else FleetUnit.of_key(root)


@dataclass(frozen=True, slots=True)
class FleetUnits:
    """The hosts of each unit of a project; hosts are numbers."""

    hosts: Mapping[FleetUnit, frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, hosts: Iterable[AbstractSet[FleetUnit]]) -> "FleetUnits":
        """The fleet of these hosts, of each the units that it belongs to."""
        hosts_of_units: dict[FleetUnit, set[int]] = defaultdict(set)
        for number, units in enumerate(hosts):
            for unit in units:
                hosts_of_units[unit].add(number)
        return cls({unit: frozenset(numbers) for unit, numbers in hosts_of_units.items()})

    def size(self, unit: FleetUnit) -> int:
        return len(self.hosts.get(unit, ()))

    def hosts_of(self, units: Iterable[FleetUnit]) -> set[int]:
        """The hosts of any of these units."""
        return {number for unit in units for number in self.hosts.get(unit, ())}

    def by_host(self) -> dict[int, set[FleetUnit]]:
        """The units of each host."""
        units_of_hosts: dict[int, set[FleetUnit]] = defaultdict(set)
        for unit, numbers in self.hosts.items():
            for number in numbers:
                units_of_hosts[number].add(unit)
        return dict(units_of_hosts)

    def only(self, units: AbstractSet[FleetUnit]) -> "FleetUnits":
        """These units of the fleet."""
        return FleetUnits({unit: self.hosts[unit] for unit in units if unit in self.hosts})


def deciding_units(
    affected: Collection[AbstractSet[FleetUnit]], roots: Iterable[FleetUnit] = ()
) -> dict[FleetUnit, int]:
    """The units that a picture can depend on, and how many hosts of each decide what it shows.

    `affected` are the affected hosts, of each the units that it belongs to. A unit with one host more than
    are affected is not wholly affected. `roots` are the roots of earlier messages: each is compared with a
    unit that is wholly affected. Of the labels, the most frequent are considered.
    """
    counts = Counter(unit for units in affected for unit in units)
    enough = {unit: count + 1 for unit, count in counts.items() if count > 1}
    labels = [unit for unit in enough if unit.kind is UnitKind.LABEL]
    for label in sorted(labels, key=lambda label: (-enough[label], label.name))[MOST_LABELS:]:
        del enough[label]
    return enough | dict.fromkeys(roots, len(affected) + 1)


@dataclass(frozen=True, slots=True)
class Picture:
    """What a message says about an incident: the number of its open alerts, and the root.

    `root` is the key of a unit, FIRST or RECOVERED.
    """

    members: int
    root: str


def picture(
    covered: Sequence[FleetUnit | None], fleet: FleetUnits, *, last: Picture | None, first_is_open: bool
) -> Picture:
    """The incident as a message shows it now; `covered` are the units of its open alerts.

    The root is the largest unit of at least two hosts that is wholly affected, or the first alert. The root
    of the picture `last` stays until all its hosts have recovered, or a larger unit is wholly affected.
    """
    affected = fleet.hosts_of(unit for unit in covered if unit)
    largest = _largest(affected, fleet)
    return Picture(len(covered), _root(largest, affected, fleet, last, first_is_open=first_is_open))


def _root(
    largest: FleetUnit | None,
    affected: AbstractSet[int],
    fleet: FleetUnits,
    last: Picture | None,
    *,
    first_is_open: bool,
) -> str:
    if last and (known := root_unit(last.root)):
        if largest and fleet.size(largest) > fleet.size(known):
            return largest.key
        lasts = not affected.isdisjoint(fleet.hosts.get(known, frozenset()))
        return last.root if lasts else RECOVERED
    # Of many units that were down, the next is no new root when the first has recovered.
    if largest and not (last and last.root == RECOVERED and fleet.size(largest) <= last.members):
        return largest.key
    return FIRST if first_is_open and (last is None or last.root == FIRST) else RECOVERED


def _largest(affected: AbstractSet[int], fleet: FleetUnits) -> FleetUnit | None:
    counts = Counter(
        {
            unit: len(numbers)
            for unit, numbers in fleet.hosts.items()
            if len(numbers) > 1 and numbers <= affected
        }
    )
    return min(counts, key=lambda unit: (-counts[unit], _RANK[unit.kind], unit.name), default=None)


# --- important changes ---------------------------------------------------------------------------------


def is_important_change(last: Picture, now: Picture) -> bool:
    """Whether a change is worth a message: the root has changed, or the number of open alerts has doubled."""
    return now.root != last.root or now.members >= 2 * max(last.members, 1)


# --- words --------------------------------------------------------------------------------------------

_WORDS: Mapping[UnitKind, str] = {
    UnitKind.HOST: "host",
    UnitKind.MACHINE: "machine",
    UnitKind.REPLICA_SET: "replica set",
    UnitKind.SHARD: "shard",
    UnitKind.CLUSTER: "cluster",
    UnitKind.AGENT: "hosts of agent",
    UnitKind.LABEL: "hosts with",
}


def root_words(root: str) -> str | None:
    """The root in words, `replica set rs0`; None for the first alert, and if the root has recovered."""
    if (unit := root_unit(root)) is None:
        return None
    name, _, cluster = unit.name.partition(_SEPARATOR)
    return f"{_WORDS[unit.kind]} {name}" + (f" of cluster {cluster}" if cluster else "")
