"""The part of a fleet that is read for a message about an incident: it shows what the whole fleet would."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from random import Random
from typing import Any

import pytest
from django.db import connection

from accesslist.models import Project
from alerting.incidents.fleet_units import fleet_around, fleets_around
from alerting.incidents.topology import (
    FIRST,
    MOST_LABELS,
    RECOVERED,
    FleetUnit,
    FleetUnits,
    Picture,
    UnitKind,
    agent_name,
    picture,
    units_of,
)
from automation.hosts.changes import host_delete
from automation.models import Host
from opsapi.api.principal import SYSTEM
from opsapi.sql import execute, fetch_rows
from tests.each import each
from tests.factories.automation import host_report, ingest, make_host

NOW = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
AGENTS = ("mon1", "MON2", "mon3")
ABOUT = set(UnitKind) - {UnitKind.LABEL}
"""The kinds of units that alerts are about."""
pytestmark = pytest.mark.django_db


def report_fleet(project: Project, draw: Random) -> None:
    """A random fleet, with a host that was deleted and a host that nobody has reported."""
    for agent in AGENTS:
        hosts = {f"DB{draw.randint(0, 9)}" for _ in range(draw.randint(1, 6))}
        reports = [
            host_report(
                name,
                replica_set_name=draw.choice([None, "rs0", "rs1"]),
                cluster_name=draw.choice([None, "Orders", "users"]),
                shard_name=draw.choice([None, "s0", "s1"]),
            )
            for name in sorted(hosts)
        ]
        labels = draw.choice([None, {"region": "eu"}, {"region": "us", "env": "production"}])
        ingest(project, *reports, agent=agent, labels=labels, now=NOW)
    deleted = draw.choice(Host.objects.filter(group=project).order_by("id"))
    host_delete(host_id=deleted.id, group_id=project.id, actor=SYSTEM, now=NOW)
    make_host(project, "db10")


def units_of_all(project: Project) -> list[frozenset[FleetUnit]]:
    found = []
    for host in Host.objects.filter(group=project, last_report__isnull=False).select_related("reported_by"):
        assert host.reported_by is not None
        facts = {
            "hostname": host.hostname,
            "port": host.port,
            "replicaSetName": host.replica_set_name,
            "clusterName": host.cluster_name,
            "shardName": host.shard_name,
        }
        agent = agent_name(host.reported_by.agent_type, host.reported_by.hostname)
        found.append(units_of(facts, agent, host.labels or {}))
    return found


@pytest.mark.slow
@each("seed", range(12))
def test_it_shows_what_the_whole_fleet_would(project: Project, seed: int) -> None:
    draw = Random(seed)
    report_fleet(project, draw)
    hosts = units_of_all(project)
    whole = FleetUnits.of(hosts)
    units = sorted(whole.hosts, key=lambda unit: unit.key)
    for _ in range(40):
        kinds = {UnitKind.HOST} if draw.random() < 0.7 else ABOUT
        about = draw.choices([unit for unit in units if unit.kind in kinds], k=draw.randint(0, 12))
        covered = [*about, None, FleetUnit(UnitKind.CLUSTER, "gone")]
        root = draw.choice([FIRST, RECOVERED, *(unit.key for unit in units if whole.size(unit) > 1)])
        last = draw.choice([None, Picture(draw.randint(1, 4), root)])
        is_open = draw.random() < 0.5
        roots = [FleetUnit.of_key(root)] if last and root not in {FIRST, RECOVERED} else []
        together = {"this": {unit for unit in covered if unit}, "another": set(draw.choices(units, k=5))}
        around = fleets_around(project.id, together, {"this": roots})["this"]
        assert picture(covered, around, last=last, first_is_open=is_open) == picture(
            covered, whole, last=last, first_is_open=is_open
        )


def test_an_incident_with_many_labels_leaves_room_for_the_labels_of_another(project: Project) -> None:
    many = {f"l{number:02}": "x" for number in range(MOST_LABELS)}
    ingest(project, *(host_report(f"a{number}") for number in range(3)), agent="mon1", labels=many, now=NOW)
    ingest(project, host_report("b0"), agent="mon2", labels={"region": "eu"}, now=NOW)
    ingest(project, host_report("b1"), agent="mon3", labels={"region": "eu"}, now=NOW)
    a, b = (
        [FleetUnit(UnitKind.HOST, f"{name}{number}:27017") for number in range(count)]
        for name, count in (("a", 3), ("b", 2))
    )
    fleets = fleets_around(project.id, {"a": a, "b": b}, {})
    assert picture(b, fleets["b"], last=None, first_is_open=True).root == "LABEL:region=eu"


@each("name", ["ΟΔΟΣ", "İZMİR"])
def test_a_cluster_is_found_whatever_letters_its_name_has(project: Project, name: str) -> None:
    places = [("db1", "s0", True), ("db2", "s0", False), ("db3", "s1", False)]
    reports = [
        host_report(host, replica_set_name=shard, cluster_name=name, shard_name=shard)
        for host, shard, _ in places
    ]
    ingest(project, *reports, now=NOW)
    hosts = units_of_all(project)
    whole = FleetUnits.of(hosts)
    units = {
        unit for unit in whole.hosts if unit.kind in {UnitKind.CLUSTER, UnitKind.SHARD, UnitKind.REPLICA_SET}
    }
    assert len(units) == 5
    for unit in units:
        assert fleet_around(project.id, {unit}).size(unit) == whole.size(unit)
    down = [FleetUnit(UnitKind.HOST, f"db{number}:27017") for number in (1, 2)]
    shown = picture(down, fleet_around(project.id, down), last=None, first_is_open=True)
    assert shown == picture(down, whole, last=None, first_is_open=True)
    assert shown.root.startswith("SHARD:") or shown.root.startswith("REPLICA_SET:")


# --- bounds ---------------------------------------------------------------------------------------

MANY = 6_000
ROWS_READ = 60
_LARGE_FLEET = """
INSERT INTO automation_host
       (id, group_id, hostname, port, type_name, down, version_behind, replica_set_name, replica_set_id,
        cluster_name, cluster_id, shard_name, labels, created, last_report, reported_by_id)
SELECT left(md5(%(group)s || number), 24), %(group)s, 'h' || number, 27017, 'STANDALONE', false, false,
       host.replica_set_name, host.replica_set_id, host.cluster_name, host.cluster_id, 's' || number / 3,
       host.labels, host.created, host.last_report, host.reported_by_id
  FROM generate_series(1, %(many)s) AS number, automation_host AS host
 WHERE host.group_id = %(group)s
"""


@pytest.fixture
def large_project(project: Project) -> Project:
    """A project with many hosts: of one agent, in one replica set and one cluster with many shards."""
    host = host_report("h0", replica_set_name="rs", cluster_name="c", shard_name="s")
    ingest(project, host, labels={"env": "production"}, now=NOW)
    execute(_LARGE_FLEET, {"group": project.id, "many": MANY})
    execute("ANALYZE automation_host")
    return project


@contextmanager
def hosts_read() -> Iterator[list[int]]:
    """How many hosts each statement inside reads, known at the end; a statement that reads all fails."""
    statements: list[tuple[str, Any]] = []

    def note(execute: Any, sql: str, params: Any, *rest: Any) -> Any:
        statements.append((sql, params))
        return execute(sql, params, *rest)

    found: list[int] = []
    with connection.execute_wrapper(note):
        yield found
    for sql, params in statements:
        [(plan,)] = fetch_rows(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", params)
        found.append(_rows(plan[0]["Plan"] if not isinstance(plan, str) else json.loads(plan)[0]["Plan"]))


def _rows(node: Any) -> int:
    read = sum(_rows(child) for child in node.get("Plans", ()))
    if node.get("Relation Name") == "automation_host":
        passed = node["Actual Rows"] + node.get("Rows Removed by Filter", 0)
        read += int(passed * node["Actual Loops"])
    return read


def test_a_few_alerts_read_a_few_hosts_of_large_units(large_project: Project) -> None:
    covered = {FleetUnit(UnitKind.HOST, f"h{number}:27017") for number in (300, 301, 302)}
    roots = [FleetUnit(UnitKind.AGENT, "MONITORING agent1"), FleetUnit(UnitKind.CLUSTER, "c")]
    with hosts_read() as read:
        fleet = fleets_around(large_project.id, {"": covered}, {"": roots})[""]
    assert len(read) == 3
    assert sum(read) <= ROWS_READ
    shown = picture(list(covered), fleet, last=None, first_is_open=True)
    assert shown == Picture(3, "SHARD:s100\x1fc")
