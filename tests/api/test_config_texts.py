"""Name, severity, description and runbook of alert configurations, and the severity of alerts."""

from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, AlertConfig
from events.models import Event
from events.types import EVENT_TYPES, EventType, Severity
from opsapi import clock
from tests.api.bodies import alert_config, email, host, metric_config, report
from tests.client import ApiClient
from tests.each import each
from tests.factories.alerting import make_alert, make_config, make_global_config

TEXTS = {
    "name": "Primary down",
    "severity": "WARNING",
    "description": "Nobody can write.\nCall the team.",
    "runbookUrl": "https://wiki.example.com/runbooks/primary?a=1#now",
}
MORNING, NOON = "2099-01-01T08:00:00Z", "2099-01-01T12:00:00Z"
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """The path of the project's configurations."""
    return f"/groups/{project.id}/alertConfigs"


def bring_down(client: ApiClient, project: Project) -> None:
    """Report that a host is down, and evaluate the report."""
    client.report(project.id, report(host(reachable=False)))
    while evaluate_signals(now=clock.now()):
        pass


def texts_of(document: dict[str, Any]) -> dict[str, Any]:
    """The texts and the severity of a configuration."""
    return {name: document[name] for name in TEXTS if name in document}


def test_texts_are_stored_and_shown(admin: ApiClient, path: str) -> None:
    made = admin.post(path, alert_config(**TEXTS)).json()
    assert texts_of(made) == TEXTS
    assert admin.get(f"{path}/{made['id']}").json() == made
    assert admin.get(path).json()["results"][0]["name"] == "Primary down"


def test_texts_of_global_configurations_are_stored_and_shown(owner: ApiClient) -> None:
    made = owner.post("/globalAlertConfigs", alert_config(forAllGroups=True, **TEXTS)).json()
    assert texts_of(made) == TEXTS
    assert texts_of(owner.get(f"/globalAlertConfigs/{made['id']}").json()) == TEXTS


@pytest.mark.slow
@each("spec", [spec for spec in EVENT_TYPES.values() if spec.alertable], ids=lambda spec: spec.name)
def test_a_configuration_without_severity_has_the_severity_of_its_event_type(
    owner: ApiClient, spec: Any
) -> None:
    needed: dict[str, dict[str, Any]] = {
        "METRIC_THRESHOLD": {"metricThreshold": metric_config()["metricThreshold"]},
        "THRESHOLD": {"threshold": {"operator": "LESS_THAN", "threshold": 3}},
    }
    body = alert_config(eventTypeName=spec.name, forAllGroups=True, **needed.get(spec.needs.value, {}))
    made = owner.post("/globalAlertConfigs", body).json()
    [listed] = [
        row
        for row in owner.get("/eventTypes?itemsPerPage=500").json()["results"]
        if row["eventTypeName"] == spec.name
    ]
    assert texts_of(made) == {"severity": listed["severity"]}


def test_only_event_types_of_configurations_have_a_severity(owner: ApiClient) -> None:
    rows = owner.get("/eventTypes?itemsPerPage=500").json()["results"]
    assert all(("severity" in row) is row["alertable"] for row in rows)


@each(
    ("field", "value", "code"),
    [
        ("name", "", "INVALID_ATTRIBUTE"),
        ("name", "x" * 101, "INVALID_ATTRIBUTE"),
        ("name", "  ", "INVALID_ATTRIBUTE"),
        ("name", "a\nb", "INVALID_ATTRIBUTE"),
        ("name", 5, "INVALID_ATTRIBUTE"),
        ("severity", "HIGH", "INVALID_ENUM_VALUE"),
        ("severity", "critical", "INVALID_ENUM_VALUE"),
        ("severity", "", "INVALID_ENUM_VALUE"),
        ("severity", 1, "INVALID_ATTRIBUTE"),
        ("description", "x" * 1001, "INVALID_ATTRIBUTE"),
        ("description", ["x"], "INVALID_ATTRIBUTE"),
        ("description", "a\x00b", "INVALID_ATTRIBUTE"),
        ("runbookUrl", "", "INVALID_ATTRIBUTE"),
        ("runbookUrl", "ftp://wiki.example.com/", "INVALID_ATTRIBUTE"),
        ("runbookUrl", "javascript:alert(1)", "INVALID_ATTRIBUTE"),
        ("runbookUrl", "wiki.example.com/runbook", "INVALID_ATTRIBUTE"),
        ("runbookUrl", "https://ada:secret@wiki.example.com/", "INVALID_ATTRIBUTE"),
        ("runbookUrl", "https://wiki.example.com/".ljust(501, "x"), "INVALID_ATTRIBUTE"),
    ],
)
def test_it_refuses_texts_and_names_the_field(
    admin: ApiClient, path: str, field: str, value: Any, code: str
) -> None:
    made = admin.post(path, alert_config()).json()
    wrong, of_row = alert_config(**{field: value}), f"{path}/{made['id']}"
    for answer in (admin.post(path, wrong), admin.put(of_row, wrong), admin.patch(of_row, {field: value})):
        assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
        [bad] = answer.json()["badFields"]
        assert bad["field"] == field
        assert bad.get("allowed", list(Severity)) == list(Severity)
        assert ("allowed" in bad) is (field == "severity")
    assert admin.get(of_row).json() == made


@each(
    ("field", "value"),
    [
        ("name", "x"),
        ("name", "ü" * 100),
        ("description", "x" * 1000),
        ("description", "a\r\nb\tc"),
        ("runbookUrl", "http://wiki_1:8080/a"),
        ("runbookUrl", "https://wiki.example.com/".ljust(500, "x")),
    ],
)
def test_it_takes_texts_up_to_their_limits(admin: ApiClient, path: str, field: str, value: str) -> None:
    made = admin.post(path, alert_config(**{field: value}))
    assert made.status_code == 201
    assert made.json()[field] == value


def test_a_put_takes_away_what_it_leaves_out(admin: ApiClient, path: str) -> None:
    made = admin.post(path, alert_config(**TEXTS)).json()
    changed = admin.put(f"{path}/{made['id']}", alert_config()).json()
    assert texts_of(changed) == {"severity": "CRITICAL"}


def test_a_patch_keeps_what_it_leaves_out(admin: ApiClient, path: str) -> None:
    made = admin.post(path, alert_config(**TEXTS)).json()
    changed = admin.patch(f"{path}/{made['id']}", {"name": "Other", "description": None}).json()
    assert texts_of(changed) == {**TEXTS, "name": "Other"}
    emptied = admin.patch(f"{path}/{made['id']}", {"description": ""}).json()
    assert "description" not in emptied


def test_another_event_type_keeps_the_severity(admin: ApiClient, path: str) -> None:
    made = admin.post(path, alert_config(eventTypeName="HOST_DOWN")).json()
    changed = admin.patch(f"{path}/{made['id']}", {"eventTypeName": "NEW_HOST"}).json()
    assert (made["severity"], changed["severity"]) == ("CRITICAL", "CRITICAL")
    AlertConfig.objects.update(event_type="HOST_DOWN", severity=None)
    changed = admin.patch(f"{path}/{made['id']}", {"eventTypeName": "NEW_HOST"}).json()
    assert changed["severity"] == "CRITICAL"


@each("body", [alert_config(), alert_config(**TEXTS)], ids=["defaults", "texts"])
@each("is_of_an_earlier_build", [False, True])
def test_a_document_that_is_read_and_written_back_changes_nothing(
    admin: ApiClient, path: str, body: dict[str, Any], is_of_an_earlier_build: bool
) -> None:
    with time_machine.travel(MORNING, tick=False):
        made = admin.post(path, body).json()
    if is_of_an_earlier_build and "severity" not in body:
        AlertConfig.objects.update(severity=None)
    count = Event.objects.count()
    with time_machine.travel(NOON, tick=False):
        assert admin.put(f"{path}/{made['id']}", made).json() == made
        assert admin.put(f"{path}/{made['id']}", body).json() == made
        assert admin.patch(f"{path}/{made['id']}", made).json() == made
    assert made["updated"] == MORNING
    assert Event.objects.count() == count


def test_the_event_of_a_change_has_the_texts(admin: ApiClient, path: str) -> None:
    made = admin.post(path, alert_config()).json()
    admin.patch(f"{path}/{made['id']}", TEXTS)
    [diff] = Event.objects.get(event_type="ALERT_CONFIG_CHANGED_AUDIT").diffs
    changed = {param["param"]: (param.get("old"), param.get("new")) for param in diff["params"]}
    assert changed == {
        "name": (None, "Primary down"),
        "severity": ("CRITICAL", "WARNING"),
        "description": (None, TEXTS["description"]),
        "runbookUrl": (None, TEXTS["runbookUrl"]),
    }


def test_a_switch_of_a_global_configuration_refuses_other_texts(owner: ApiClient) -> None:
    made = owner.post("/globalAlertConfigs", alert_config(forAllGroups=True, **TEXTS)).json()
    path = f"/globalAlertConfigs/{made['id']}"
    refused = owner.patch(path, {"enabled": False, "name": "Other", "severity": "INFO"})
    assert {bad["field"] for bad in refused.json()["badFields"]} == {"name", "severity"}
    assert refused.json()["errorCode"] == "ATTRIBUTE_READ_ONLY"
    assert owner.patch(path, {**made, "enabled": False}).status_code == 200


@each("body", [{"minSeverity": None}, {}], ids=["null", "left out"])
def test_a_notification_without_minimum_shows_none(admin: ApiClient, path: str, body: dict[str, Any]) -> None:
    made = admin.post(path, alert_config(notifications=[{**email(), **body}])).json()
    assert "minSeverity" not in made["notifications"][0]


def test_a_notification_keeps_its_minimum_until_it_is_taken_away(admin: ApiClient, path: str) -> None:
    made = admin.post(path, alert_config(notifications=[email(minSeverity="CRITICAL")])).json()
    [notification] = made["notifications"]
    assert notification["minSeverity"] == "CRITICAL"
    assert admin.put(f"{path}/{made['id']}", made).json() == made
    without = {name: value for name, value in notification.items() if name != "minSeverity"}
    changed = admin.patch(f"{path}/{made['id']}", {"notifications": [without]}).json()
    assert changed["notifications"] == [without]
    assert changed["updated"] >= made["updated"]
    assert Event.objects.filter(event_type="ALERT_CONFIG_CHANGED_AUDIT").count() == 1


@each(("value", "code"), [("HIGH", "INVALID_ENUM_VALUE"), (3, "INVALID_ATTRIBUTE")])
def test_it_refuses_an_unknown_minimum(admin: ApiClient, path: str, value: Any, code: str) -> None:
    answer = admin.post(path, alert_config(notifications=[email(minSeverity=value)])).json()
    [bad] = answer["badFields"]
    assert (answer["errorCode"], bad["field"]) == (code, "notifications[0].minSeverity")
    assert bad["allowed"] == list(Severity)


def test_an_alert_has_the_severity_of_its_configuration_when_it_began(
    owner: ApiClient, project: Project, path: str
) -> None:
    made = owner.post(path, alert_config(severity="INFO")).json()
    bring_down(owner, project)
    owner.patch(f"{path}/{made['id']}", {"severity": "WARNING", "name": "Other", "description": "New"})
    while evaluate_signals(now=clock.now()):
        pass
    [alert] = owner.get(f"/groups/{project.id}/alerts").json()["results"]
    assert (alert["status"], alert["severity"]) == ("OPEN", "INFO")
    assert owner.get(f"/groups/{project.id}/alerts/{alert['id']}").json()["severity"] == "INFO"
    owner.report(project.id, report(host(reachable=True)))
    bring_down(owner, project)
    newest = owner.get(f"/groups/{project.id}/alerts").json()["results"][0]
    assert (newest["id"] != alert["id"], newest["severity"]) == (True, "WARNING")


def test_an_alert_of_an_earlier_build_has_the_severity_of_its_event_type(
    owner: ApiClient, project: Project
) -> None:
    alerts = [
        make_alert(project, event_type=name)
        for name in ("HOST_DOWN", "OUTSIDE_METRIC_THRESHOLD", "VERSION_BEHIND")
    ]
    listed = owner.get(f"/groups/{project.id}/alerts").json()["results"]
    shown = {row["id"]: row["severity"] for row in listed}
    assert [shown[alert.id] for alert in alerts] == ["CRITICAL", "WARNING", "INFO"]


@each(
    ("severity", "places"),
    [
        ("CRITICAL", [5, 0]),
        ("WARNING", [3, 1]),
        ("INFO", [4, 2]),
        ("WARNING&severity=INFO", [4, 3, 2, 1]),
        ("INFO&severity=INFO", [4, 2]),
    ],
)
@each("below", ["group", "global"])
def test_lists_of_alerts_are_filtered_by_severity(
    owner: ApiClient, project: Project, below: str, severity: str, places: list[int]
) -> None:
    Alert.objects.all().delete()
    given: list[dict[str, Any]] = [
        {"event_type": "HOST_DOWN"},
        {"event_type": "HOST_DOWN", "severity": "WARNING"},
        {"event_type": "HOST_DOWN", "severity": "INFO"},
        {"event_type": "OUTSIDE_METRIC_THRESHOLD"},
        {"event_type": "VERSION_BEHIND"},
        {"event_type": "VERSION_BEHIND", "severity": "CRITICAL"},
    ]
    made = [make_alert(project, is_global=True, **values) for values in given]
    path = f"/groups/{project.id}/alerts" if below == "group" else "/globalAlerts"
    document = owner.get(f"{path}?severity={severity}&status=OPEN").json()
    assert [row["id"] for row in document["results"]] == [made[place].id for place in places]
    assert document["totalCount"] == len(places)
    assert {row["severity"] for row in document["results"]} == set(severity.split("&severity="))
    assert owner.get(f"{path}?severity={severity}&status=CLOSED").json()["totalCount"] == 0


def test_the_alerts_of_a_configuration_are_filtered_by_severity(owner: ApiClient, project: Project) -> None:
    for config, path in (
        (make_config(project), f"/groups/{project.id}/alertConfigs"),
        (make_global_config(), "/globalAlertConfigs"),
    ):
        is_global = config.group_id is None
        alert = make_alert(project, config_id=config.id, is_global=is_global, severity="INFO")
        make_alert(project, config_id=config.id, is_global=is_global, severity="CRITICAL")
        listed = owner.get(f"{path}/{config.id}/alerts?severity=INFO").json()["results"]
        assert [row["id"] for row in listed] == [alert.id]


@each("severities", [["CRITICAL"], ["WARNING"], ["INFO"], ["WARNING", "INFO"]])
@each("is_of_an_earlier_build", [False, True])
def test_lists_of_configurations_are_filtered_by_severity(
    owner: ApiClient, project: Project, severities: list[str], is_of_an_earlier_build: bool
) -> None:
    of_types = {"HOST_DOWN": "CRITICAL", "NO_PRIMARY": "CRITICAL", "VERSION_BEHIND": "INFO"}
    AlertConfig.objects.all().delete()
    for name in of_types:
        make_config(project, eventTypeName=name)
        make_global_config(eventTypeName=name)
    if is_of_an_earlier_build:
        AlertConfig.objects.update(severity=None)
    make_config(project, severity="WARNING")
    make_global_config(severity="WARNING")
    query = "&".join(f"severity={name}" for name in severities)
    for path in (f"/groups/{project.id}/alertConfigs", "/globalAlertConfigs"):
        document = owner.get(f"{path}?{query}").json()
        listed = [row["severity"] for row in document["results"]]
        assert listed == [name for name in (*of_types.values(), "WARNING") if name in severities]
        assert document["totalCount"] == len(listed)
        [link] = [link["href"] for link in document["links"] if link["rel"] == "self"]
        assert query in link


@each("value", ["HIGH", "critical", "", "INFO&severity=HIGH"])
def test_it_refuses_an_unknown_severity_and_names_the_others(
    owner: ApiClient, project: Project, value: str
) -> None:
    lists = (f"/groups/{project.id}/alerts", f"/groups/{project.id}/alertConfigs")
    for path in (*lists, "/globalAlerts", "/globalAlertConfigs"):
        answer = owner.get(f"{path}?severity={value}")
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_QUERY_PARAMETER")
        [bad] = answer.json()["badFields"]
        assert (bad["field"], bad["allowed"]) == ("severity", list(Severity))


def test_every_event_type_that_opens_alerts_has_a_severity() -> None:
    assert all((spec.severity is not None) is spec.alertable for spec in EVENT_TYPES.values())
    assert EVENT_TYPES[EventType.HOST_DOWN].severity is Severity.CRITICAL
