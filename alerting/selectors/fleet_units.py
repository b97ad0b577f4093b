"""The units that alerts concern, and the part of a fleet that decides what the message of an incident shows.

The statements use indexes. What they read grows with the number of open alerts, not with the number of hosts.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db import connection

from alerting.models import Alert
from alerting.rules.topology import (
    FleetUnit,
    FleetUnits,
    UnitKind,
    agent_name,
    deciding_units,
    name_parts,
    units_of,
)
from automation.models import Host
from opsapi.fields import Among

# How the hosts of a unit are found. `first` and `second` are the parts of its name, `host` is its hosts.
_HOSTS_OF: Mapping[UnitKind, tuple[str, str]] = {
    UnitKind.HOST: ("", "lower(host.hostname) = unit.first AND host.port = unit.second::integer"),
    UnitKind.MACHINE: ("", "lower(host.hostname) = unit.first"),
    UnitKind.REPLICA_SET: (
        "JOIN automation_replicaset AS sets ON sets.group_id = %(group)s AND sets.name = unit.first "
        "LEFT JOIN automation_cluster AS cluster ON cluster.id = sets.cluster_id",
        "host.replica_set_id = sets.id AND coalesce(lower(cluster.name), '') = unit.second",
    ),
    UnitKind.SHARD: (
        "JOIN automation_cluster AS cluster"
        " ON cluster.group_id = %(group)s AND lower(cluster.name) = unit.second",
        "host.cluster_id = cluster.id AND host.shard_name = unit.first",
    ),
    UnitKind.CLUSTER: (
        "JOIN automation_cluster AS cluster"
        " ON cluster.group_id = %(group)s AND lower(cluster.name) = unit.first",
        "host.cluster_id = cluster.id",
    ),
    UnitKind.AGENT: (
        "JOIN automation_agent AS agent ON agent.group_id = %(group)s AND agent.agent_type = unit.first"
        " AND lower(agent.hostname) = unit.second",
        "host.reported_by_id = agent.id",
    ),
}
_FOUND = """
SELECT found.id
  FROM unnest(%(kinds)s::text[], %(first)s::text[], %(second)s::text[], %(most)s::integer[])
       AS unit (kind, first, second, most) {joins}
 CROSS JOIN LATERAL (
       SELECT host.id FROM automation_host AS host
        WHERE host.group_id = %(group)s AND host.deleted IS NULL AND host.last_report IS NOT NULL
          AND {condition}
        LIMIT unit.most
       ) AS found
 WHERE unit.kind = '{kind}'
"""
# With the LIMIT, PostgreSQL looks up each host by its id. It expects more hosts than there are.
_FACTS = """
SELECT found.id, facts.*
  FROM ({found}) AS found
 CROSS JOIN LATERAL (
       SELECT host.hostname, host.port, host.replica_set_name, host.cluster_name, host.shard_name,
              agent.agent_type, agent.hostname
         FROM automation_host AS host LEFT JOIN automation_agent AS agent ON agent.id = host.reported_by_id
        WHERE host.id = found.id
        LIMIT 1
       ) AS facts
"""
_FACT_NAMES = ("hostname", "port", "replicaSetName", "clusterName", "shardName")


def alert_units(alerts: Collection[Alert]) -> dict[str, frozenset[FleetUnit]]:
    """The units that alerts concern, by alert id; one query, however many alerts."""
    host_ids = {alert.facts["hostId"] for alert in alerts if alert.facts.get("hostId")}
    columns = ("id", "reported_by__agent_type", "reported_by__hostname")
    hosts = Host.objects.filter(Among("id", host_ids), reported_by__isnull=False).values_list(*columns)
    agents = {host_id: agent_name(kind, name) for host_id, kind, name in hosts if kind} if host_ids else {}
    return {alert.id: named_units(alert, agents.get(alert.facts.get("hostId") or "")) for alert in alerts}


def named_units(alert: Alert, agent: str | None = None) -> frozenset[FleetUnit]:
    """The units that an alert names, and the unit of the agent that reports its host."""
    facts = alert.facts
    if facts.get("sourceTypeName") and facts.get("hostname"):
        agent = agent_name(facts["sourceTypeName"], facts["hostname"])
    return units_of(facts, agent)


def fleet_around(
    group_id: str, covered: Collection[FleetUnit], roots: Collection[FleetUnit] = ()
) -> FleetUnits:
    """The fleet of a project, as far as it decides what the picture of alerts on `covered` units shows.

    `roots` are the roots of earlier messages.
    """
    affected = _hosts_of(group_id, dict.fromkeys(covered))
    others = _hosts_of(group_id, deciding_units(affected.values(), roots))
    return FleetUnits.of((others | affected).values())


def _hosts_of(group_id: str, units: Mapping[FleetUnit, int | None]) -> dict[str, frozenset[FleetUnit]]:
    """The hosts of units, of each at most so many; None for all."""
    if not units:
        return {}
    kinds = sorted({unit.kind for unit in units})
    parts = [name_parts(unit) for unit in units]
    found = " UNION ".join(
        _FOUND.format(kind=kind.value, joins=_HOSTS_OF[kind][0], condition=_HOSTS_OF[kind][1])
        for kind in kinds
    )
    parameters: dict[str, Any] = {
        "group": group_id,
        "kinds": [unit.kind.value for unit in units],
        "first": [first for first, _ in parts],
        "second": [second for _, second in parts],
        "most": list(units.values()),
    }
    with connection.cursor() as cursor:
        cursor.execute(_FACTS.format(found=found), parameters)
        rows = cursor.fetchall()
    return {host_id: _units_of_row(facts) for host_id, *facts in rows}


def _units_of_row(row: Sequence[Any]) -> frozenset[FleetUnit]:
    *facts, agent_type, agent = row
    return units_of(
        dict(zip(_FACT_NAMES, facts, strict=True)), agent_name(agent_type, agent) if agent_type else None
    )
