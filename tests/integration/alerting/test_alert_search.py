"""Finding alerts among all there are."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.incidents.store import Age, acknowledged, alerts_matching, of_age
from alerting.models import Alert
from opsapi.api.principal import VisibleScope
from opsapi.sql import execute
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert

NOW = datetime(2099, 11, 21, 12, 0, tzinfo=UTC)
EVERYTHING = VisibleScope(everything=True)
SECOND, HOUR, DAY = timedelta(seconds=1), timedelta(hours=1), timedelta(days=1)
pytestmark = pytest.mark.django_db


def found(term: str) -> list[str]:
    """The targets of what a search finds."""
    return sorted(
        Alert.objects.filter(
            id__in=alerts_matching(Alert.objects.all(), term, visible_scope=EVERYTHING)
        ).values_list("target_key", flat=True)
    )


@pytest.fixture
def several(project: Project) -> list[Alert]:
    """Of hosts, an agent, a replica set, a cluster, and the project."""
    rows: dict[str, tuple[str, dict[str, Any]]] = {
        "host": ("HOST_DOWN", {"hostname": "DB1.example.com", "port": 27017, "replicaSetName": "rs9"}),
        "other port": ("HOST_DOWN", {"hostname": "db1.example.com", "port": 27018}),
        "ipv6": ("HOST_DOWN", {"hostname": "2001:db8::1", "port": 27017}),
        "agent": ("MONITORING_AGENT_DOWN", {"hostname": "agent1", "sourceTypeName": "MONITORING"}),
        "set": ("NO_PRIMARY", {"replicaSetName": "rs0", "clusterName": "orders"}),
        "cluster": ("CLUSTER_MONGOS_IS_MISSING", {"clusterName": "orders"}),
        "percent": ("HOST_DOWN", {"hostname": "100%_db", "port": 1}),
        "project": ("USERS_WITHOUT_MULTI_FACTOR_AUTH", {}),
    }
    return [
        make_alert(project, target_key=name, event_type=event_type, facts=facts)
        for name, (event_type, facts) in rows.items()
    ]


@each(
    ("term", "targets"),
    [
        ("db1", ["host", "other port"]),
        ("  DB1.EXAMPLE.com ", ["host", "other port"]),
        ("db1.example.com:27017", ["host"]),
        ("db1:27017", ["host"]),
        ('"db1.example.com:27017"', ["host"]),
        ('"db1"', []),
        ("example 27018", []),
        ("example.com down", ["host", "other port"]),
        ("[2001:db8::1]:27017", ["ipv6"]),
        ("2001:db8", ["ipv6"]),
        ("agent1", ["agent"]),
        ("rs0", ["set"]),
        ("rs9", ["host"]),
        ('"rs9"', []),
        ("orders", ["cluster", "set"]),
        ('"orders"', ["cluster"]),
        ("100%_", ["percent"]),
        ("100%%", []),
        ("%", ["percent"]),
        ("mongos", ["cluster"]),
        ("HOST_DOWN", ["host", "ipv6", "other port", "percent"]),
        ("no_p", ["set"]),
        ("no primary", ["set"]),
        ("db1.example.com:99999999999999999999", []),
        ("x:²", []),
        ("zzz" * 400, []),
    ],
)
def test_it_finds_what_is_meant(several: list[Alert], term: str, targets: list[str]) -> None:
    assert found(term) == targets


def test_without_a_term_all_are_found(several: list[Alert]) -> None:
    assert len(found(" ")) == len(several)


def test_an_id_is_an_alerts_else_a_configurations_else_a_projects(several: list[Alert]) -> None:
    first = several[0]
    make_alert(ProjectFactory.create(), target_key="elsewhere")
    assert found(first.id) == ["host"]
    assert found(first.config_id) == ["host"]
    assert len(found(first.group_id)) == len(several)
    assert found("0" * 24) == []


@each(
    ("age", "kept"),
    [
        (Age.HOUR, ["now", "hour"]),
        (Age.DAY, ["now", "hour", "over hour", "day"]),
        (Age.OLDER_THAN_HOUR, ["over hour", "day", "over week"]),
        (Age.OLDER_THAN_DAY, ["over week"]),
        (Age.WEEK, ["now", "hour", "over hour", "day"]),
        (Age.OLDER_THAN_WEEK, ["over week"]),
    ],
)
def test_it_separates_young_from_old(project: Project, age: Age, kept: list[str]) -> None:
    ages = {
        "now": timedelta(),
        "hour": HOUR,
        "over hour": HOUR + SECOND,
        "day": DAY,
        "over week": 7 * DAY + SECOND,
    }
    for name, length in ages.items():
        make_alert(project, target_key=name, created=NOW - length)
    alerts = of_age(Alert.objects.order_by("-created"), age, now=NOW)
    assert [alert.target_key for alert in alerts] == kept


def test_what_is_over_is_neither_acknowledged_nor_not(project: Project) -> None:
    for name, status, until in (
        ("taken on", "OPEN", NOW + SECOND),
        ("lapsed", "OPEN", NOW),
        ("nobody's", "TRACKING", None),
        ("over", "CLOSED", NOW + HOUR),
    ):
        make_alert(project, target_key=name, status=status, acknowledged_until=until)
    alerts = Alert.objects.order_by("target_key")
    names = [[alert.target_key for alert in acknowledged(alerts, is_it, now=NOW)] for is_it in (True, False)]
    assert names == [["taken on"], ["lapsed", "nobody's"]]


def test_the_beginning_of_a_name_is_looked_up_in_the_index(project: Project) -> None:
    for number in range(50):
        make_alert(project, facts={"hostname": f"db{number}"})
    # Else the plan follows what autovacuum last saw of the table.
    execute("ANALYZE alerting_alert")
    execute("SET LOCAL enable_seqscan = off")
    plan = alerts_matching(Alert.objects.order_by(), "db7.example", visible_scope=EVERYTHING).explain()
    assert "alert_target_name" in plan


@each("is_global", [False, True], ids=["project", "global"])
def test_the_id_of_a_global_configuration_finds_for_who_reads_everything(
    project: Project, is_global: bool
) -> None:
    alert = make_alert(project, config_id="c" * 24, is_global=is_global)
    of_project = VisibleScope(group_ids=frozenset({project.id}))
    alerts = Alert.objects.all()
    assert list(alerts_matching(alerts, "c" * 24, visible_scope=EVERYTHING)) == [alert]
    assert list(alerts_matching(alerts, "c" * 24, visible_scope=of_project)) == ([] if is_global else [alert])
    assert list(alerts_matching(alerts, project.id, visible_scope=of_project)) == [alert]
