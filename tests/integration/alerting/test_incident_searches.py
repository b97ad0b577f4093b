"""Alerts join the incidents that they would join if all were compared, and only these are read."""

import random
from collections.abc import Sequence
from copy import copy
from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.engine import memory
from alerting.engine.memory import MemoryLedger
from alerting.engine.postgresql import POSTGRESQL
from alerting.incidents import grouping
from alerting.incidents.topology import (
    FleetUnit,
    OpenIncident,
    Opening,
    UnitKind,
    UnitSearch,
    deciding_labels,
    grouped,
    labels_held,
    recent_labels,
    unit_searches,
)
from alerting.models import Alert, AlertConfig, Incident
from opsapi.clock import AHEAD
from opsapi.ids import new_id
from tests.each import each
from tests.factories.alerting import make_alert, make_config

pytestmark = pytest.mark.django_db

START = datetime(2099, 3, 4, 5, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)
WAIT = 15 * SECOND
MOST = 3
UNITS = [
    FleetUnit(kind, f"{kind.value.lower()}{number}={number}")
    for kind in (UnitKind.MACHINE, UnitKind.CLUSTER, UnitKind.AGENT, UnitKind.LABEL)
    for number in range(4)
]


@pytest.fixture
def config(project: Project) -> AlertConfig:
    return make_config(project, grouping="TOPOLOGY")


def project_of(config: AlertConfig) -> Project:
    assert config.group
    return config.group


def make_incident(
    config: AlertConfig, units: Sequence[FleetUnit], created: datetime, grown: datetime, members: int = 1
) -> Incident:
    """An incident with so many open alerts; without any, an older version has left it open."""
    incident_id = new_id()
    states = ["OPEN"] * members or ["CLOSED"]
    alerts = [
        make_alert(
            project_of(config),
            config_id=config.id,
            status=status,
            target_key=new_id(),
            incident_id=incident_id,
        )
        for status in states
    ]
    return Incident.objects.create(
        id=incident_id,
        group=project_of(config),
        config_id=config.id,
        lead_id=alerts[0].id,
        units=[unit.key for unit in units],
        created=created,
        grown=grown,
    )


def in_memory() -> MemoryLedger:
    """The alerts and incidents in memory."""
    ledger = MemoryLedger()
    for alert in Alert.objects.all():
        ledger.add_alert(alert)
    ledger.incidents_save([copy(incident) for incident in Incident.objects.all()])
    return ledger


def oldest_first() -> list[Incident]:
    """The incidents with room, in the order in which alerts join them."""
    target = {alert.id: alert.target_key for alert in Alert.objects.all()}
    rows = [
        row
        for row in Incident.objects.all()
        if 0 < Alert.objects.filter(incident_id=row.id, status="OPEN").count() < MOST
    ]
    return sorted(rows, key=lambda row: (row.created, target[row.lead_id], row.id))


@each("seed", range(12))
def test_searches_decide_as_a_comparison_with_all_incidents(
    config: AlertConfig, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    for module in (grouping, memory):
        monkeypatch.setattr(module, "MOST_ALERTS", MOST)
    draw = random.Random(seed)
    for _ in range(25):
        created = START - draw.choice([0, 0, 1, 5, 15, 16, 40, -30, -90]) * SECOND
        grown = created + draw.choice([0, 0, 10, 30]) * SECOND
        units = draw.sample(UNITS, draw.randint(1, 3))
        make_incident(config, units, created, grown, members=draw.choice([0, 1, 1, 1, 1, MOST - 1, MOST]))
    openings = [
        Opening(f"a{number}", frozenset(draw.sample(UNITS, draw.randint(0, 2))), START + number * SECOND)
        for number in range(8)
    ]
    every = [OpenIncident.of(row) for row in oldest_first()]
    held = labels_held(openings)
    recent = recent_labels(every, at=START, wait=WAIT)
    labels = frozenset(deciding_labels(held, recent))
    expected = grouped(openings, every, wait=WAIT, labels=labels)
    for ledger in (POSTGRESQL, in_memory()):
        place = config.id, project_of(config).id
        of_recent = ledger.labels_of_recent(*place, held.keys(), at=START, wait=WAIT)
        assert of_recent == recent & {label.key for label in held}
        rows = ledger.incidents_to_join(*place, unit_searches(openings, labels), wait=WAIT)
        assert grouped(openings, [OpenIncident.of(row) for row in rows], wait=WAIT, labels=labels) == expected


def test_a_search_reads_one_incident_however_many_are_open(config: AlertConfig) -> None:
    machine, agent, label = (
        FleetUnit(kind, "one=one") for kind in (UnitKind.MACHINE, UnitKind.AGENT, UnitKind.LABEL)
    )
    other = FleetUnit(UnitKind.MACHINE, "other")
    late = START - timedelta(hours=1)
    rows = [make_incident(config, [machine, agent, label], late + n * SECOND, late) for n in range(9)]
    for number in range(9):
        make_incident(config, [other, label], START - number * SECOND, START)
    for ledger in (POSTGRESQL, in_memory()):
        for unit, ids in ((machine, [rows[0].id]), (agent, []), (FleetUnit(UnitKind.MACHINE, "new"), [])):
            searches = [UnitSearch(unit, START)]
            joined = ledger.incidents_to_join(config.id, project_of(config).id, searches, wait=WAIT)
            assert [row.id for row in joined] == ids
        searches = [UnitSearch(unit, START) for unit in (machine, agent, label, other)]
        assert len(ledger.incidents_to_join(config.id, project_of(config).id, searches, wait=WAIT)) == 2


EDGES = {
    UnitKind.AGENT: {-WAIT: True, -WAIT - SECOND: False, AHEAD: True, AHEAD + SECOND: False},
    UnitKind.LABEL: {-WAIT: False, SECOND - WAIT: True, AHEAD: True, AHEAD + SECOND: False},
}


@each("kind, times", EDGES.items(), ids=EDGES)
def test_agents_and_labels_relate_incidents_of_the_wait(
    config: AlertConfig, kind: UnitKind, times: dict[timedelta, bool]
) -> None:
    for since, relates in times.items():
        unit = FleetUnit(kind, f"{since}=a")
        row = make_incident(config, [unit], START + since, START + since)
        for ledger in (POSTGRESQL, in_memory()):
            searches = [UnitSearch(unit, START)]
            joined = ledger.incidents_to_join(config.id, project_of(config).id, searches, wait=WAIT)
            assert [incident.id for incident in joined] == [row.id] * relates


@each("members, is_read", [(0, False), (MOST - 1, True), (MOST, False)])
def test_labels_are_read_of_incidents_with_room(
    config: AlertConfig, monkeypatch: pytest.MonkeyPatch, members: int, is_read: bool
) -> None:
    for module in (grouping, memory):
        monkeypatch.setattr(module, "MOST_ALERTS", MOST)
    label = FleetUnit(UnitKind.LABEL, "region=eu")
    make_incident(config, [label], START, START, members=members)
    for ledger in (POSTGRESQL, in_memory()):
        keys = ledger.labels_of_recent(config.id, project_of(config).id, [label], at=START, wait=WAIT)
        assert keys == ({label.key} if is_read else set())


def test_few_incidents_with_a_unit_are_searched_for_room(
    config: AlertConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grouping, "MOST_ALERTS", MOST)
    label = FleetUnit(UnitKind.LABEL, "region=eu")
    for number in range(3):
        make_incident(config, [label], START + number * SECOND, START, members=MOST if number < 2 else 1)
    place, search = (config.id, project_of(config).id), UnitSearch(label, START + 3 * SECOND)
    for tried, is_read in ((3, True), (2, False)):
        monkeypatch.setattr(grouping, "MOST_TRIED", tried)
        keys = POSTGRESQL.labels_of_recent(*place, [label], at=search.at, wait=WAIT)
        rows = POSTGRESQL.incidents_to_join(*place, [search], wait=WAIT)
        assert (bool(keys), bool(rows)) == (is_read, is_read)
