"""The units that alerts concern, and the part of a fleet that decides what the message of an incident shows.

The statements use indexes, and read about as many rows as there are open alerts, however many hosts the
project has. Labels are the exception: PostgreSQL reads all index entries of a label. So labels come last.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from django.db.models import Q
from django.db.models.functions import Lower

from alerting.incidents.topology import (
    LARGEST_SHARE,
    FleetUnit,
    FleetUnits,
    OpenedAlert,
    UnitKind,
    agent_name,
    deciding_units,
    label_units,
    name_parts,
    units_of,
)
from automation.models import Cluster, Host
from opsapi.fields import Among
from opsapi.sql import fetch_rows

# How the hosts of a unit are found. `first` and `second` are the parts of its name, with the id of a cluster
# instead of the cluster's name; `host` is its hosts.
_HOSTS_OF: Mapping[UnitKind, tuple[str, str]] = {
    UnitKind.HOST: ("", "lower(host.hostname) = unit.first AND host.port = unit.second::integer"),
    UnitKind.MACHINE: ("", "lower(host.hostname) = unit.first"),
    UnitKind.REPLICA_SET: (
        "JOIN automation_replicaset AS sets ON sets.group_id = %(group)s AND sets.name = unit.first"
        " AND coalesce(sets.cluster_id, '') = unit.second",
        "host.replica_set_id = sets.id",
    ),
    UnitKind.SHARD: ("", "host.cluster_id = unit.second AND host.shard_name = unit.first"),
    UnitKind.CLUSTER: ("", "host.cluster_id = unit.first"),
    UnitKind.AGENT: (
        "JOIN automation_agent AS agent ON agent.group_id = %(group)s AND agent.agent_type = unit.first"
        " AND lower(agent.hostname) = unit.second",
        "host.reported_by_id = agent.id",
    ),
    UnitKind.LABEL: ("", "host.labels @> jsonb_build_object(unit.first, unit.second)"),
}
# A host can belong to several of the units, also of the same kind.
_FOUND = """
SELECT DISTINCT found.id
  FROM unnest(%(kinds)s::text[], %(first)s::text[], %(second)s::text[], %(most)s::integer[])
       AS unit (kind, first, second, most) {joins}
 CROSS JOIN LATERAL (
       SELECT host.id FROM automation_host AS host
        WHERE host.group_id = %(group)s AND host.deleted IS NULL AND host.last_report IS NOT NULL
          AND {condition} {without}
        LIMIT unit.most
       ) AS found
 WHERE unit.kind = '{kind}'
"""
# Without parameters of the unit, PostgreSQL makes a hash table of the hosts once.
_WITHOUT = "AND host.id NOT IN (SELECT unnest(%(without)s::text[]))"
# With the LIMIT, PostgreSQL looks up each host by its id. It expects more hosts than there are.
_FACTS = """
SELECT found.id, facts.*
  FROM ({found}) AS found
 CROSS JOIN LATERAL (
       SELECT host.hostname, host.port, host.replica_set_name, host.cluster_name, host.shard_name,
              host.labels, agent.agent_type, agent.hostname
         FROM automation_host AS host LEFT JOIN automation_agent AS agent ON agent.id = host.reported_by_id
        WHERE host.id = found.id
        LIMIT 1
       ) AS facts
"""
_OF_A_PART = """
SELECT label.name, label.value
  FROM (SELECT floor(host_count * %(share)s) FROM accesslist_project WHERE id = %(group)s) AS largest (part),
       unnest(%(names)s::text[], %(values)s::text[]) AS label (name, value)
 WHERE largest.part >= (
       SELECT count(*) FROM (
              SELECT FROM automation_host AS host
               WHERE host.group_id = %(group)s AND host.deleted IS NULL
                 AND host.labels @> jsonb_build_object(label.name, label.value)
               LIMIT largest.part + 1
              ) AS labelled
       )
"""
_FACT_NAMES = ("hostname", "port", "replicaSetName", "clusterName", "shardName")


def alert_units(alerts: Collection[OpenedAlert]) -> dict[str, frozenset[FleetUnit]]:
    """The units that alerts concern, by alert id; one query, however many alerts."""
    host_ids = {alert.facts["hostId"] for alert in alerts if alert.facts.get("hostId")}
    columns = ("id", "labels", "reported_by__agent_type", "reported_by__hostname")
    hosts = Host.objects.filter(Among("id", host_ids)).values_list(*columns) if host_ids else ()
    known = {
        host_id: (agent_name(kind, agent) if kind else None, labels or {})
        for host_id, labels, kind, agent in hosts
    }
    nothing: tuple[None, dict[str, str]] = None, {}
    return {
        alert.id: named_units(alert.facts, *known.get(alert.facts.get("hostId") or "", nothing))
        for alert in alerts
    }


def named_units(
    facts: Mapping[str, Any], agent: str | None = None, labels: Mapping[str, str] = MappingProxyType({})
) -> frozenset[FleetUnit]:
    """The units that the facts of an alert name, and the units of its host's agent and labels."""
    if facts.get("sourceTypeName") and facts.get("hostname"):
        agent = agent_name(facts["sourceTypeName"], facts["hostname"])
    return units_of(facts, agent, labels)


def labels_of_a_part(group_id: str, labels: Collection[FleetUnit]) -> frozenset[FleetUnit]:
    """The labels that at most a part of the project's hosts have: `LARGEST_SHARE`."""
    if not labels:
        return frozenset()
    parts = {name_parts(label): label for label in labels}
    parameters: Mapping[str, Any] = {
        "group": group_id,
        "names": [name for name, _ in parts],
        "values": [value for _, value in parts],
        "share": LARGEST_SHARE,
    }
    return frozenset(parts[part] for part in fetch_rows(_OF_A_PART, parameters))


def fleet_around(group_id: str, covered: Collection[FleetUnit]) -> FleetUnits:
    """The fleet of a project, as far as it decides what the picture of alerts on `covered` units shows."""
    return fleets_around(group_id, {"": covered}, {})[""]


def fleets_around(
    group_id: str,
    covered: Mapping[str, Collection[FleetUnit]],
    roots: Mapping[str, Collection[FleetUnit]],
) -> dict[str, FleetUnits]:
    """`fleet_around` of several incidents, by id; the fleet is read once for all.

    `roots` are the roots of earlier messages.
    """
    affected = _hosts_of(group_id, dict.fromkeys(unit for units in covered.values() for unit in units))
    rows = list(affected.values())
    affected_fleet = FleetUnits.of(rows)
    deciding = {
        incident_id: deciding_units(
            [rows[number] for number in affected_fleet.hosts_of(units)], roots.get(incident_id, ())
        )
        for incident_id, units in covered.items()
    }
    host_limits: dict[FleetUnit, int] = {}
    for limits in deciding.values():
        host_limits.update({unit: max(number, host_limits.get(unit, 0)) for unit, number in limits.items()})
    # The affected hosts of a unit are known: others are searched, at least one.
    wanted = {unit: max(1, number - affected_fleet.size(unit)) for unit, number in host_limits.items()}
    labels = {unit: number for unit, number in wanted.items() if unit.kind is UnitKind.LABEL}
    units_wanted = {unit: number for unit, number in wanted.items() if unit not in labels}
    others = _hosts_of(group_id, units_wanted, without=affected)
    # A label that an unaffected host is known to have is not searched: it is not wholly affected.
    known = {unit for units in others.values() for unit in units}
    known -= {root for units in roots.values() for root in units}
    searched = {label: number for label, number in labels.items() if label not in known}
    others |= _hosts_of(group_id, searched, without=affected)
    fleet = FleetUnits.of([*rows, *others.values()])
    # Of the other units, it is not known which hosts they have.
    return {
        incident_id: fleet.only({*units, *deciding[incident_id]}) for incident_id, units in covered.items()
    }


def _hosts_of(
    group_id: str, units: Mapping[FleetUnit, int | None], *, without: Collection[str] = ()
) -> dict[str, frozenset[FleetUnit]]:
    """Return the hosts of units, by host id. The number of a unit is the most of its hosts; None: all.

    The hosts `without`, by id, are left out.
    """
    if not units:
        return {}
    kinds = sorted({unit.kind for unit in units})
    clusters = _clusters_of(group_id, units)
    searched = [
        (unit.kind.value, *parts, most) for unit, most in units.items() for parts in _parts(unit, clusters)
    ]
    statement = " UNION ".join(
        _FOUND.format(
            kind=kind.value,
            joins=_HOSTS_OF[kind][0],
            condition=_HOSTS_OF[kind][1],
            without=_WITHOUT if without else "",
        )
        for kind in kinds
    )
    parameters: Mapping[str, Any] = {
        "group": group_id,
        "kinds": [kind for kind, _, _, _ in searched],
        "first": [first for _, first, _, _ in searched],
        "second": [second for _, _, second, _ in searched],
        "most": [most for _, _, _, most in searched],
        "without": list(without),
    }
    facts_of_hosts = fetch_rows(_FACTS.format(found=statement), parameters)
    # Many hosts have the same labels.
    units_of_labels: dict[str | None, frozenset[FleetUnit]] = {None: frozenset()}
    for *_, labels, _, _ in facts_of_hosts:
        if labels not in units_of_labels:
            units_of_labels[labels] = label_units(json.loads(labels))
    return {
        host_id: _units_of_facts(facts, agent_type, agent) | units_of_labels[labels]
        for host_id, *facts, labels, agent_type, agent in facts_of_hosts
    }


def _clusters_of(group_id: str, units: Iterable[FleetUnit]) -> dict[str, list[str]]:
    """The ids of the clusters that units name, by name in lower case."""
    names = {cluster for unit in units if (cluster := _cluster(unit))}
    if not names:
        return {}
    wanted = Q(key__in=names)
    # Python and PostgreSQL lower some letters differently; the names of units are lowered by Python.
    if not all(name.isascii() for name in names):
        wanted |= Q(name__regex="[^[:ascii:]]")
    ids: dict[str, list[str]] = defaultdict(list)
    clusters = Cluster.objects.alias(key=Lower("name")).filter(wanted, group_id=group_id)
    for cluster_id, name, key in clusters.values_list("id", "name", Lower("name")):
        for spelling in {name.lower(), key} & names:
            ids[spelling].append(cluster_id)
    return ids


def _cluster(unit: FleetUnit) -> str:
    """The name of the cluster that a unit is or belongs to; empty for the other units."""
    first, second = name_parts(unit)
    match unit.kind:
        case UnitKind.CLUSTER:
            return first
        case UnitKind.REPLICA_SET | UnitKind.SHARD:
            return second
        case _:
            return ""


def _parts(unit: FleetUnit, clusters: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """The parts of a unit's name, for each cluster with the name that it has."""
    first, second = name_parts(unit)
    if not (cluster := _cluster(unit)):
        return [(first, second)]
    ids = clusters.get(cluster, ())
    return [(cluster_id, "") if unit.kind is UnitKind.CLUSTER else (first, cluster_id) for cluster_id in ids]


def _units_of_facts(facts: Sequence[Any], agent_type: str | None, agent: str) -> frozenset[FleetUnit]:
    named = dict(zip(_FACT_NAMES, facts, strict=True))
    return units_of(named, agent_name(agent_type, agent) if agent_type else None)
