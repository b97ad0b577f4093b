"""What alert configurations of both kinds refuse, created or replaced, and with which code."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import AlertConfig, NotificationSetting
from events.models import Event, Signal
from tests.api.bodies import alert_config, email, global_alert_config, metric_config, webhook
from tests.api.routes import OF_NOTHING
from tests.client import ApiClient
from tests.each import each

MASKED = "https://hooks.example.com/******Zx9q"
THRESHOLD = {"operator": "LESS_THAN", "threshold": 3}
METRIC = {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 100}
MATCHER = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}
KINDS = ("project", "global")
Fault = tuple[dict[str, Any], str, str]
"""A body, the field that is wrong in it, and the code."""
pytestmark = pytest.mark.django_db


@pytest.fixture
def paths(project: Project) -> dict[str, str]:
    """Where configurations of each kind are."""
    return {"project": f"/groups/{project.id}/alertConfigs", "global": "/globalAlertConfigs"}


def config_with(*notifications: dict[str, Any]) -> dict[str, Any]:
    """A configuration with these notifications."""
    return alert_config(notifications=list(notifications))


def matched(event_type: str = "HOST_DOWN", **changes: Any) -> dict[str, Any]:
    """A configuration with one matcher."""
    matcher = {name: value for name, value in {**MATCHER, **changes}.items() if value is not None}
    return alert_config(eventTypeName=event_type, matchers=[matcher])


REFUSED: list[Fault] = [
    (alert_config(eventTypeName="HOST_UP"), "eventTypeName", "INVALID_EVENT_TYPE_FOR_ALERT"),
    (alert_config(eventTypeName="API_KEY_CREATED_AUDIT"), "eventTypeName", "INVALID_EVENT_TYPE_FOR_ALERT"),
    (alert_config(notifications=[]), "notifications", "MISSING_NOTIFICATIONS"),
    (config_with(email(typeName="PIGEON")), "notifications[0].typeName", "INVALID_ENUM_VALUE"),
    (config_with(email(typeName=None)), "notifications[0].typeName", "MISSING_ATTRIBUTE"),
    (config_with(email(), email(emailAddress=None)), "notifications[1].emailAddress", "MISSING_ATTRIBUTE"),
    (config_with(email(emailAddress="ada")), "notifications[0].emailAddress", "INVALID_EMAIL_ADDRESS"),
    (config_with(email(webhookSecret="x")), "notifications[0].webhookSecret", "INVALID_ATTRIBUTE"),
    (config_with(email(delayMin=-1)), "notifications[0].delayMin", "INVALID_ATTRIBUTE"),
    (config_with(email(delayMin=5.0)), "notifications[0].delayMin", "INVALID_ATTRIBUTE"),
    (config_with(email(intervalMin=4)), "notifications[0].intervalMin", "NOTIFICATION_INTERVAL_OUT_OF_RANGE"),
    (config_with(email(intervalMin="5")), "notifications[0].intervalMin", "INVALID_ATTRIBUTE"),
    (
        config_with(webhook(webhookUrl="ftp://example.com/")),
        "notifications[0].webhookUrl",
        "INVALID_ATTRIBUTE",
    ),
    (
        config_with(webhook(webhookUrl="https://a:b@example.com/")),
        "notifications[0].webhookUrl",
        "INVALID_ATTRIBUTE",
    ),
    (config_with(webhook(webhookSecret="")), "notifications[0].webhookSecret", "INVALID_ATTRIBUTE"),
    (
        config_with(webhook(emailAddress="a@example.com")),
        "notifications[0].emailAddress",
        "INVALID_ATTRIBUTE",
    ),
    (config_with(webhook(webhookUrl=MASKED)), "notifications[0].webhookUrl", "REDACTED_VALUE_UNKNOWN"),
    (
        config_with(webhook(webhookSecret="******")),
        "notifications[0].webhookSecret",
        "REDACTED_VALUE_UNKNOWN",
    ),
    (matched("BACKUP_AGENT_DOWN"), "matchers", "INVALID_ATTRIBUTE"),
    (matched(fieldName="SHARD_NAME"), "matchers[0].fieldName", "INVALID_ENUM_VALUE"),
    (matched("NO_PRIMARY"), "matchers[0].fieldName", "INVALID_ENUM_VALUE"),
    (matched(fieldName="COLOUR"), "matchers[0].fieldName", "INVALID_ENUM_VALUE"),
    (matched(fieldName=None), "matchers[0].fieldName", "MISSING_ATTRIBUTE"),
    (matched(operator="LIKE"), "matchers[0].operator", "INVALID_ENUM_VALUE"),
    (matched(value=""), "matchers[0].value", "INVALID_ATTRIBUTE"),
    (matched(value=1), "matchers[0].value", "INVALID_ATTRIBUTE"),
    (matched(operator="REGEX", value="("), "matchers[0].value", "INVALID_ATTRIBUTE"),
    (matched(operator="REGEX", value="(?:" + "é" * 22 + "){1000}"), "matchers[0].value", "INVALID_ATTRIBUTE"),
    (matched(operator="REGEX", value="(a)\\1"), "matchers[0].value", "INVALID_ATTRIBUTE"),
    (matched(operator="REGEX", value="a" * 1001), "matchers[0].value", "INVALID_ATTRIBUTE"),
    (matched(field="HOSTNAME"), "matchers[0].field", "INVALID_ATTRIBUTE"),
    (alert_config(eventTypeName="OUTSIDE_METRIC_THRESHOLD"), "metricThreshold", "MISSING_METRIC_THRESHOLD"),
    (alert_config(metricThreshold=METRIC), "metricThreshold", "METRIC_THRESHOLD_PRESENT"),
    (alert_config(threshold=THRESHOLD), "threshold", "THRESHOLD_PRESENT"),
    (alert_config(eventTypeName="TOO_FEW_HEALTHY_MEMBERS"), "threshold", "MISSING_THRESHOLD"),
    (alert_config(eventTypeName="TOO_MANY_UNHEALTHY_MEMBERS"), "threshold", "MISSING_THRESHOLD"),
    (metric_config(units="BYTES"), "metricThreshold.units", "UNITS_MISMATCH"),
    (metric_config(units="PERCENT"), "metricThreshold.units", "UNITS_MISMATCH"),
    (
        metric_config(metricName="CONNECTIONS_PERCENT", units="RAW"),
        "metricThreshold.units",
        "UNITS_MISMATCH",
    ),
    (alert_config(id="a" * 24), "id", "ATTRIBUTE_READ_ONLY"),
    (alert_config(created="2026-11-21T07:26:14Z"), "created", "ATTRIBUTE_READ_ONLY"),
    (alert_config(updated="2026-11-21T07:26:14Z"), "updated", "ATTRIBUTE_READ_ONLY"),
]


PROJECT_REFUSED: list[Fault] = [
    (alert_config(eventTypeName="BACKUP_AGENT_CONF_CALL_FAILURE"), "eventTypeName", "GLOBAL_ALERTS_ONLY"),
    (alert_config(groupId="a" * 24), "groupId", "ATTRIBUTE_READ_ONLY"),
    (alert_config(forAllGroups=True), "forAllGroups", "INVALID_ATTRIBUTE"),
    (alert_config(groupIds=[OF_NOTHING]), "groupIds", "INVALID_ATTRIBUTE"),
    (alert_config(tags=["prod"]), "tags", "INVALID_ATTRIBUTE"),
]

GLOBAL_REFUSED: list[Fault] = [
    (global_alert_config(groupId="a" * 24), "groupId", "INVALID_ATTRIBUTE"),
    (global_alert_config(groupIds=[OF_NOTHING]), "groupIds", "INVALID_ATTRIBUTE"),
    (global_alert_config(forAllGroups=False), "groupIds", "MISSING_ATTRIBUTE"),
    (global_alert_config(forAllGroups=False, groupIds=[]), "groupIds", "MISSING_ATTRIBUTE"),
    (global_alert_config(forAllGroups=False, groupIds=["x"]), "groupIds[0]", "INVALID_ATTRIBUTE"),
    (global_alert_config(forAllGroups=False, groupIds=[OF_NOTHING]), "groupIds[0]", "INVALID_ATTRIBUTE"),
    (global_alert_config(forAllGroups=False, groupIds=[OF_NOTHING] * 2), "groupIds[1]", "INVALID_ATTRIBUTE"),
    (global_alert_config(tags=["a", "a"]), "tags[1]", "INVALID_ATTRIBUTE"),
]


def globally(body: dict[str, Any]) -> dict[str, Any]:
    """The body of a project's configuration as one over all projects."""
    return {"forAllGroups": True, **body}


CASES: list[tuple[str, Fault]] = [
    *[("project", fault) for fault in [*REFUSED, *PROJECT_REFUSED]],
    *[("global", (globally(body), field, code)) for body, field, code in REFUSED],
    *[("global", fault) for fault in GLOBAL_REFUSED],
]
VALID = {"project": alert_config(), "global": global_alert_config()}


def assert_refused(answer: Any, field: str, code: str) -> None:
    """By that code, naming that field alone."""
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]


@pytest.mark.slow
@each(("kind", "fault"), CASES)
def test_a_wrong_field_refuses_a_new_configuration(
    owner: ApiClient, paths: dict[str, str], kind: str, fault: Fault
) -> None:
    body, field, code = fault
    assert_refused(owner.post(paths[kind], body), field, code)
    assert not any(model.objects.exists() for model in (AlertConfig, NotificationSetting, Event, Signal))


@pytest.fixture
def existing(owner: ApiClient, paths: dict[str, str]) -> dict[str, str]:
    """The path of a configuration of each kind."""
    return {kind: f"{paths[kind]}/{owner.post(paths[kind], VALID[kind]).json()['id']}" for kind in KINDS}


@pytest.fixture
def before(owner: ApiClient, existing: dict[str, str]) -> dict[str, Any]:
    """What is stored of each kind."""
    return {kind: stored(owner, path) for kind, path in existing.items()}


def stored(owner: ApiClient, path: str) -> tuple[Any, int, int]:
    """A configuration, and the numbers of events and signals."""
    return owner.get(path).json(), Event.objects.count(), Signal.objects.count()


@pytest.mark.slow
@each(("kind", "fault"), list({(kind, fault[2]): (kind, fault) for kind, fault in CASES}.values()))
def test_a_wrong_field_leaves_a_configuration_as_it_is(
    owner: ApiClient, existing: dict[str, str], before: dict[str, Any], kind: str, fault: Fault
) -> None:
    body, field, code = fault
    assert_refused(owner.put(existing[kind], body), field, code)
    assert stored(owner, existing[kind]) == before[kind]


@each("kind", KINDS)
@each(
    ("body", "allowed"),
    [
        (alert_config(eventTypeName="HOST_UP"), "HOST_DOWN"),
        (metric_config(metricName="NOPE"), "CONNECTIONS"),
        (metric_config(units="BYTES"), "RAW"),
        (matched(fieldName="SHARD_NAME"), "HOSTNAME"),
        (matched("NO_PRIMARY"), "REPLICA_SET_NAME"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_closed_set_is_named_where_something_else_is(
    owner: ApiClient, paths: dict[str, str], kind: str, body: dict[str, Any], allowed: str
) -> None:
    document = owner.post(paths[kind], globally(body) if kind == "global" else body).json()
    assert allowed in document["badFields"][0]["allowed"]


def test_a_refusal_names_the_types_of_a_projects_configuration(
    owner: ApiClient, paths: dict[str, str]
) -> None:
    body = alert_config(eventTypeName="BACKUP_AGENT_CONF_CALL_FAILURE")
    allowed = owner.post(paths["project"], body).json()["badFields"][0]["allowed"]
    assert "HOST_DOWN" in allowed
    assert "BACKUP_AGENT_CONF_CALL_FAILURE" not in allowed
    assert owner.post(paths["global"], global_alert_config(**body)).status_code == 201


@each("body", [{}, {"enabled": None}])
def test_the_switch_of_a_global_configuration_has_to_be_said(
    owner: ApiClient, paths: dict[str, str], body: dict[str, Any]
) -> None:
    made = owner.post(paths["global"], global_alert_config()).json()
    answer = owner.patch(f"{paths['global']}/{made['id']}", body)
    assert_refused(answer, "enabled", "MISSING_ATTRIBUTE")


@each(
    ("body", "field"),
    [({"enabled": 1}, "enabled"), ({"enabled": False, "colour": []}, "colour")],
)
def test_the_switch_of_a_global_configuration_takes_nothing_else(
    owner: ApiClient, paths: dict[str, str], body: dict[str, Any], field: str
) -> None:
    made = owner.post(paths["global"], global_alert_config()).json()
    answer = owner.patch(f"{paths['global']}/{made['id']}", body)
    assert_refused(answer, field, "INVALID_ATTRIBUTE")
    assert owner.get(f"{paths['global']}/{made['id']}").json() == made


@each(
    ("body", "field", "code"),
    [
        ({"eventTypeName": "HOST_UP"}, "eventTypeName", "INVALID_EVENT_TYPE_FOR_ALERT"),
        ({"eventTypeName": "OUTSIDE_METRIC_THRESHOLD"}, "metricThreshold", "MISSING_METRIC_THRESHOLD"),
        ({"metricThreshold": METRIC}, "metricThreshold", "METRIC_THRESHOLD_PRESENT"),
        ({"threshold": THRESHOLD}, "threshold", "THRESHOLD_PRESENT"),
        ({"eventTypeName": "TOO_FEW_HEALTHY_MEMBERS"}, "matchers[0].fieldName", "INVALID_ENUM_VALUE"),
        ({"eventTypeName": "NEW_AGENT"}, "matchers", "INVALID_ATTRIBUTE"),
        (
            {"matchers": [{**MATCHER, "fieldName": "SHARD_NAME"}]},
            "matchers[0].fieldName",
            "INVALID_ENUM_VALUE",
        ),
        ({"notifications": []}, "notifications", "MISSING_NOTIFICATIONS"),
        ({"colour": "red"}, "colour", "INVALID_ATTRIBUTE"),
    ],
)
def test_a_wrong_change_is_held_against_what_stays(
    owner: ApiClient, paths: dict[str, str], body: dict[str, Any], field: str, code: str
) -> None:
    made = owner.post(paths["project"], matched()).json()
    path = f"{paths['project']}/{made['id']}"
    answer = owner.patch(path, body)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert answer.json()["badFields"][0]["field"] == field
    assert owner.get(path).json() == made
