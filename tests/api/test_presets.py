"""Presets of alert configurations: offered, added, and never twice."""

from typing import Any

import pytest
from pytest_django import Settings

from accesslist.models import Project
from alerting.configs.presets import Preset, presets_of
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, AlertConfig
from automation.metrics import Engine
from events.models import Event
from opsapi import clock
from opsapi.roles import Grant, Role
from tests.api.bodies import alert_config, host, presets, report
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """The project's presets."""
    return f"/groups/{project.id}/alertConfigs/presets"


def _evaluate() -> None:
    while evaluate_signals(now=clock.now()):
        pass


def existing(client: ApiClient, path: str) -> dict[str, str]:
    """The presets that the list says exist, and their configurations."""
    rows = client.get(f"{path}?itemsPerPage=500").json()["results"]
    assert [row["preset"] for row in rows] == [preset.value for preset in Preset]
    assert all(row["exists"] is ("alertConfigId" in row) for row in rows)
    return {row["preset"]: row["alertConfigId"] for row in rows if row["exists"]}


def test_each_preset_says_what_it_asks_for(admin: ApiClient, path: str) -> None:
    rows = {row["preset"]: row for row in admin.get(f"{path}?itemsPerPage=500").json()["results"]}
    assert rows["CONNECTIONS"] == {
        "preset": "CONNECTIONS",
        "engines": ["MONGODB", "POSTGRESQL"],
        "name": "Many connections",
        "severity": "WARNING",
        "meaning": Preset.CONNECTIONS.spec.meaning,
        "eventTypeName": "OUTSIDE_METRIC_THRESHOLD",
        "metricThreshold": {
            "metricName": "CONNECTIONS_PERCENT",
            "mode": "AVERAGE",
            "operator": "GREATER_THAN",
            "threshold": 80,
            "units": "PERCENT",
        },
        "delayMin": 5,
        "runbook": "/docs/runbooks/connections.html",
        "exists": False,
    }
    assert rows["NO_PRIMARY"]["eventTypeName"] == "NO_PRIMARY"
    assert not {"metricThreshold", "threshold"} & set(rows["NO_PRIMARY"])
    assert rows["UNHEALTHY_MEMBERS"]["threshold"] == {
        "operator": "GREATER_THAN",
        "threshold": 0,
        "units": "RAW",
    }


@each("engine", Engine)
def test_all_presets_of_an_engine_are_created(
    admin: ApiClient, project: Project, path: str, engine: Engine
) -> None:
    answer = admin.post(path, presets(engine=engine.value))
    assert answer.status_code == 201
    made = answer.json()
    expected = presets_of(engine)
    assert made["existing"] == []
    assert made["totalCount"] == len(made["results"]) == len(expected)
    assert [row["eventTypeName"] for row in made["results"]] == [
        preset.spec.event_type for preset in expected
    ]
    assert [row.get("metricThreshold") for row in made["results"]] == [
        preset.spec.wire_threshold for preset in expected
    ]
    assert [row.get("threshold") for row in made["results"]] == [
        preset.spec.wire_count_threshold for preset in expected
    ]
    assert [(row["name"], row["severity"]) for row in made["results"]] == [
        (preset.spec.title, preset.spec.severity) for preset in expected
    ]
    assert made["links"][0]["href"].endswith(path)
    for row, preset in zip(made["results"], expected, strict=True):
        (notification,) = row["notifications"]
        assert notification["typeName"] == "GROUP"
        assert (notification["emailEnabled"], notification["smsEnabled"]) == (True, False)
        assert notification["delayMin"] == preset.spec.delay_min
        shown = admin.get(f"/groups/{project.id}/alertConfigs/{row['id']}").json()
        assert {name: shown[name] for name in shown if name != "links"} == {
            name: row[name] for name in row if name != "links"
        }
    assert existing(admin, path) == {
        preset.value: row["id"] for preset, row in zip(expected, made["results"], strict=True)
    }


def test_some_are_created_in_the_order_of_the_list(admin: ApiClient, path: str) -> None:
    made = admin.post(path, presets("DIRTY_CACHE", "NO_PRIMARY")).json()
    assert [row["eventTypeName"] for row in made["results"]] == ["NO_PRIMARY", "OUTSIDE_METRIC_THRESHOLD"]
    assert set(existing(admin, path)) == {"NO_PRIMARY", "DIRTY_CACHE"}


def test_a_second_time_makes_nothing_and_names_what_exists(admin: ApiClient, path: str) -> None:
    first = admin.post(path, presets("HOST_DOWN", "CONNECTIONS")).json()
    again = admin.post(path, presets("HOST_DOWN", "CONNECTIONS", "NO_PRIMARY"))
    assert again.status_code == 201
    assert again.json()["existing"] == [
        {"preset": name, "alertConfigId": row["id"]}
        for name, row in zip(("HOST_DOWN", "CONNECTIONS"), first["results"], strict=True)
    ]
    assert [row["eventTypeName"] for row in again.json()["results"]] == ["NO_PRIMARY"]
    third = admin.post(path, presets(engine="POSTGRESQL")).json()
    assert [config["preset"] for config in third["existing"]] == ["HOST_DOWN", "NO_PRIMARY", "CONNECTIONS"]
    assert AlertConfig.objects.count() == len(presets_of(Engine.POSTGRESQL))
    assert admin.post(path, presets(engine="POSTGRESQL")).json()["results"] == []


def test_what_the_project_created_itself_exists(admin: ApiClient, project: Project, path: str) -> None:
    configs = f"/groups/{project.id}/alertConfigs"
    own = alert_config(
        eventTypeName="OUTSIDE_METRIC_THRESHOLD",
        metricThreshold={
            "metricName": "OPLOG_SLAVE_LAG_MASTER_TIME",
            "operator": "GREATER_THAN",
            "threshold": 1,
            "units": "MINUTES",
        },
        enabled=False,
    )
    some = alert_config(matchers=[{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}])
    made = admin.post(configs, own).json()
    assert admin.post(configs, some).status_code == 201
    assert existing(admin, path) == {"REPLICATION_LAG": made["id"]}
    admin.delete(f"{configs}/{made['id']}")
    assert existing(admin, path) == {}


def test_a_new_project_has_the_preset_of_its_default_configurations(owner: ApiClient) -> None:
    group = owner.post("/groups", {"name": "new"}).json()["id"]
    assert set(existing(owner, f"/groups/{group}/alertConfigs/presets")) == {"MONITORING_AGENT_DOWN"}


def test_another_project_s_configurations_do_not_count(owner: ApiClient, path: str) -> None:
    other: Project = ProjectFactory.create()
    owner.post(f"/groups/{other.id}/alertConfigs/presets", presets("HOST_DOWN"))
    owner.post("/globalAlertConfigs", alert_config(forAllGroups=True))
    assert existing(owner, path) == {}


def test_a_condition_that_holds_opens_its_alert_at_once(
    owner: ApiClient, project: Project, path: str
) -> None:
    assert owner.report(project.id, report(host(reachable=False))).status_code == 202
    _evaluate()
    owner.post(path, presets("HOST_DOWN"))
    _evaluate()
    assert Alert.objects.get().event_type == "HOST_DOWN"


def test_each_is_recorded_as_one_created_by_hand(admin: ApiClient, project: Project, path: str) -> None:
    made = admin.post(path, presets("HOST_DOWN", "CONNECTIONS")).json()["results"]
    events = Event.objects.filter(event_type="ALERT_CONFIG_ADDED_AUDIT").order_by("id")
    assert [event.details["alertConfigId"] for event in events] == [config["id"] for config in made]
    assert {event.group_id for event in events} == {project.id}


@each(
    ("body", "field", "code"),
    [
        (presets("NOPE"), "presets[0]", "INVALID_ENUM_VALUE"),
        (presets("HOST_DOWN", "DEADLOCKS"), "presets[1]", "INVALID_ENUM_VALUE"),
        (presets("HOST_DOWN", "HOST_DOWN"), "presets[1]", "INVALID_ATTRIBUTE"),
        ({"engine": "MONGODB", "presets": []}, "presets", "INVALID_ATTRIBUTE"),
        ({"engine": "MONGODB", "all": True}, "all", "INVALID_ATTRIBUTE"),
    ],
)
def test_a_wrong_field_is_named_and_nothing_is_created(
    admin: ApiClient, path: str, body: dict[str, Any], field: str, code: str
) -> None:
    answer = admin.post(path, body)
    assert answer.status_code == 400
    (bad,) = answer.json()["badFields"]
    assert (bad["field"], answer.json()["errorCode"]) == (field, code)
    assert not AlertConfig.objects.exists()


def test_a_preset_of_the_other_engine_is_refused_with_the_allowed_values(admin: ApiClient, path: str) -> None:
    (bad,) = admin.post(path, presets("DEADLOCKS")).json()["badFields"]
    assert bad["allowed"] == [preset.value for preset in presets_of(Engine.MONGODB)]


def test_all_are_created_or_none(admin: ApiClient, path: str, settings: Settings) -> None:
    settings.OPSAPI_MAX_ALERT_CONFIGS = 3
    answer = admin.post(path, presets())
    assert (answer.status_code, answer.json()["errorCode"]) == (400, "LIMIT_REACHED")
    assert not AlertConfig.objects.exists()
    assert not Event.objects.filter(event_type="ALERT_CONFIG_ADDED_AUDIT").exists()


@each("role", [Role.GROUP_READ_ONLY, Role.GROUP_AUTOMATION_ADMIN])
def test_who_may_make_no_configuration_adds_no_preset(project: Project, path: str, role: Role) -> None:
    client = ApiClient(make_key(Grant(role, group_id=project.id)))
    assert client.get(path).status_code == 200
    assert client.post(path, presets("HOST_DOWN")).status_code == 403
    assert not AlertConfig.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_of_several_at_once_one_makes_them(owner: ApiClient, path: str) -> None:
    def add(_: int) -> int:
        made = ApiClient(owner.key).post(path, presets("HOST_DOWN", "NO_PRIMARY")).json()
        return int(made["totalCount"])

    assert sorted(at_once(add)) == [*[0] * (THREADS - 1), 2]
    assert AlertConfig.objects.count() == 2
