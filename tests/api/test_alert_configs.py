"""Endpoints 8, 9, 10 and making a configuration: what is refused, and by which code (decisions 5)."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import AlertConfig, NotificationSetting
from events.models import Event, Signal
from events.types import EVENT_TYPES
from tests.api import bodies
from tests.api.bodies import alert_config, email, metric_config, webhook
from tests.client import ApiClient

MASKED = "https://hooks.example.com/******Zx9q"
THRESHOLD = {"operator": "LESS_THAN", "threshold": 3}
METRIC = {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 100}
MATCHER = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's configurations are."""
    return f"/groups/{project.id}/alertConfigs"


def told(*notifications: dict[str, Any]) -> dict[str, Any]:
    """A configuration with these notifications."""
    return alert_config(notifications=list(notifications))


def matched(event_type: str = "HOST_DOWN", **changes: Any) -> dict[str, Any]:
    """A configuration with one matcher."""
    matcher = {name: value for name, value in {**MATCHER, **changes}.items() if value is not None}
    return alert_config(eventTypeName=event_type, matchers=[matcher])


REFUSED = [
    (alert_config(eventTypeName=None), "eventTypeName", "MISSING_ATTRIBUTE"),
    (alert_config(eventTypeName="NOPE"), "eventTypeName", "INVALID_ENUM_VALUE"),
    (alert_config(eventTypeName=5), "eventTypeName", "INVALID_ATTRIBUTE"),
    (alert_config(eventTypeName="HOST_UP"), "eventTypeName", "INVALID_EVENT_TYPE_FOR_ALERT"),
    (alert_config(eventTypeName="API_KEY_CREATED_AUDIT"), "eventTypeName", "INVALID_EVENT_TYPE_FOR_ALERT"),
    (alert_config(eventTypeName="BACKUP_AGENT_CONF_CALL_FAILURE"), "eventTypeName", "GLOBAL_ALERTS_ONLY"),
    (alert_config(enabled="true"), "enabled", "INVALID_ATTRIBUTE"),
    (alert_config(notifications=None), "notifications", "MISSING_NOTIFICATIONS"),
    (alert_config(notifications=[]), "notifications", "MISSING_NOTIFICATIONS"),
    (alert_config(notifications={}), "notifications", "INVALID_ATTRIBUTE"),
    (told(email(typeName="PIGEON")), "notifications[0].typeName", "INVALID_ENUM_VALUE"),
    (told(email(typeName=None)), "notifications[0].typeName", "MISSING_ATTRIBUTE"),
    (told(email(), email(emailAddress=None)), "notifications[1].emailAddress", "MISSING_ATTRIBUTE"),
    (told(email(emailAddress="ada")), "notifications[0].emailAddress", "INVALID_EMAIL_ADDRESS"),
    (told(email(webhookSecret="x")), "notifications[0].webhookSecret", "INVALID_ATTRIBUTE"),
    (told(email(id="a" * 24)), "notifications[0].id", "ATTRIBUTE_READ_ONLY"),
    (told(email(delayMin=-1)), "notifications[0].delayMin", "INVALID_ATTRIBUTE"),
    (told(email(delayMin=5.0)), "notifications[0].delayMin", "INVALID_ATTRIBUTE"),
    (told(email(intervalMin=4)), "notifications[0].intervalMin", "NOTIFICATION_INTERVAL_OUT_OF_RANGE"),
    (told(email(intervalMin="5")), "notifications[0].intervalMin", "INVALID_ATTRIBUTE"),
    (told(webhook(webhookUrl="ftp://example.com/")), "notifications[0].webhookUrl", "INVALID_ATTRIBUTE"),
    (
        told(webhook(webhookUrl="https://a:b@example.com/")),
        "notifications[0].webhookUrl",
        "INVALID_ATTRIBUTE",
    ),
    (
        told(webhook(webhookUrl=None, webhookSecret=None)),
        "notifications[0].webhookUrl",
        "WEBHOOK_URL_NOT_SET",
    ),
    (told(webhook(webhookSecret="")), "notifications[0].webhookSecret", "INVALID_ATTRIBUTE"),
    (told(webhook(emailAddress="a@example.com")), "notifications[0].emailAddress", "INVALID_ATTRIBUTE"),
    (told(webhook(webhookUrl=MASKED)), "notifications[0].webhookUrl", "REDACTED_VALUE_UNKNOWN"),
    (told(webhook(webhookSecret="******")), "notifications[0].webhookSecret", "REDACTED_VALUE_UNKNOWN"),
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
    (metric_config(metricName="NOPE"), "metricThreshold.metricName", "INVALID_METRIC_NAME"),
    (metric_config(metricName=None), "metricThreshold.metricName", "MISSING_ATTRIBUTE"),
    (metric_config(mode="TOTAL"), "metricThreshold.mode", "INVALID_ENUM_VALUE"),
    (metric_config(operator="EQUALS"), "metricThreshold.operator", "INVALID_ENUM_VALUE"),
    (metric_config(threshold="5"), "metricThreshold.threshold", "INVALID_ATTRIBUTE"),
    (metric_config(threshold=None), "metricThreshold.threshold", "MISSING_ATTRIBUTE"),
    (metric_config(units="BYTES"), "metricThreshold.units", "UNITS_MISMATCH"),
    (metric_config(units="FURLONGS"), "metricThreshold.units", "INVALID_ENUM_VALUE"),
    (alert_config(id="a" * 24), "id", "ATTRIBUTE_READ_ONLY"),
    (alert_config(created="2026-11-21T07:26:14Z"), "created", "ATTRIBUTE_READ_ONLY"),
    (alert_config(updated="2026-11-21T07:26:14Z"), "updated", "ATTRIBUTE_READ_ONLY"),
    (alert_config(groupId="a" * 24), "groupId", "ATTRIBUTE_READ_ONLY"),
    (alert_config(forAllGroups=True), "forAllGroups", "INVALID_ATTRIBUTE"),
]


@pytest.mark.parametrize(("body", "field", "code"), REFUSED)
def test_a_wrong_field_refuses_the_configuration(
    admin: ApiClient, path: str, body: dict[str, Any], field: str, code: str
) -> None:
    answer = admin.post(path, body)
    assert (answer.status_code, answer.json()["errorCode"]) == (400, code)
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    stored = (AlertConfig, NotificationSetting, Event, Signal)
    assert not any(model.objects.exists() for model in stored)


def test_every_wrong_field_is_named_and_the_first_gives_the_code(admin: ApiClient, path: str) -> None:
    body = {
        "notifications": [email(intervalMin=1, delayMin="x"), webhook(webhookUrl="x")],
        "matchers": [{**MATCHER, "operator": "LIKE"}],
        "eventTypeName": "HOST_UP",
        "extra": 1,
    }
    document = admin.post(path, body).json()
    assert document["errorCode"] == "INVALID_EVENT_TYPE_FOR_ALERT"
    assert [bad["field"] for bad in document["badFields"]] == [
        "eventTypeName",
        "matchers[0].operator",
        "notifications[0].delayMin",
        "notifications[0].intervalMin",
        "notifications[1].webhookUrl",
        "extra",
    ]


def test_the_field_of_a_matcher_goes_by_its_older_name(admin: ApiClient, path: str) -> None:
    made = admin.post(
        path, alert_config(matchers=[{"field": "HOSTNAME", "operator": "EQUALS", "value": "x"}])
    )
    assert made.json()["matchers"] == [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "x"}]


def test_what_was_left_out_has_its_default(admin: ApiClient, path: str) -> None:
    made = admin.post(path, metric_config(units=None)).json()
    assert made["enabled"] is True
    assert made["typeName"] == "HOST"
    assert made["matchers"] == []
    assert made["metricThreshold"] == {**METRIC, "mode": "AVERAGE", "units": "RAW"}
    (notification,) = made["notifications"]
    assert (notification["delayMin"], notification["intervalMin"]) == (0, 60)
    assert isinstance(notification["delayMin"], int)
    assert not {"threshold", "webhookUrl"} & {*made, *notification}


@pytest.mark.parametrize("ignored", [{"typeName": "AGENT"}, {"typeName": 5}, {"links": []}, {"matchers": []}])
def test_some_fields_are_taken_and_not_looked_at(
    admin: ApiClient, path: str, ignored: dict[str, Any]
) -> None:
    made = admin.post(path, alert_config(**ignored))
    assert (made.status_code, made.json()["typeName"]) == (201, "HOST")


@pytest.mark.parametrize(
    "spec", [spec for spec in EVENT_TYPES.values() if spec.alertable], ids=lambda spec: spec.name
)
def test_every_alertable_type_can_be_configured(admin: ApiClient, path: str, spec: Any) -> None:
    needed: dict[str, dict[str, Any]] = {
        "METRIC_THRESHOLD": {"metricThreshold": METRIC},
        "THRESHOLD": {"threshold": THRESHOLD},
    }
    answer = admin.post(path, alert_config(eventTypeName=spec.name, **needed.get(spec.needs.value, {})))
    assert answer.status_code == (400 if spec.global_only else 201)


def test_configurations_are_listed_in_the_order_they_were_made(admin: ApiClient, path: str) -> None:
    made = [admin.post(path, alert_config(eventTypeName=name)).json() for name in ("HOST_DOWN", "NEW_HOST")]
    document = admin.get(path).json()
    assert [one["id"] for one in document["results"]] == [one["id"] for one in made]
    assert [link["rel"] for link in document["results"][0]["links"]] == ["self"]
    alone = admin.get(f"{path}/{made[0]['id']}").json()
    assert alone == made[0]
    assert [link["rel"] for link in alone["links"]] == ["self", "urn:opsapi:rel:group"]


def test_a_deleted_configuration_is_gone_and_its_event_tells_of_it(admin: ApiClient, path: str) -> None:
    made = admin.post(path, told(webhook())).json()
    answer = admin.delete(f"{path}/{made['id']}")
    assert (answer.status_code, answer.content) == (204, b"")
    for again in (admin.get(f"{path}/{made['id']}"), admin.delete(f"{path}/{made['id']}")):
        assert (again.status_code, again.json()["errorCode"]) == (404, "ALERT_CONFIG_NOT_FOUND")
    assert admin.get(path).json()["totalCount"] == 0
    (diff,) = Event.objects.get(event_type="ALERT_CONFIG_DELETED_AUDIT").diffs
    assert (diff["status"], {"old", "param", "display"}) == ("REMOVED", set(diff["params"][0]))


def test_an_unknown_configuration_names_itself_and_the_project(admin: ApiClient, path: str) -> None:
    document = admin.get(f"{path}/{'a' * 24}").json()
    assert document["parameters"] == ["a" * 24, path.split("/")[2]]
    assert document["detail"] == "No alert configuration with ID {} exists in group {}.".format(
        *document["parameters"]
    )


def test_secrets_are_redacted(admin: ApiClient, path: str) -> None:
    made = admin.post(path, told(webhook(), webhook(webhookSecret=None), email())).json()
    with_secret, without, _ = made["notifications"]
    assert (with_secret["webhookUrl"], with_secret["webhookSecret"]) == (MASKED, "******")
    assert "webhookSecret" not in without
    assert bodies.SECRET not in str(list(NotificationSetting.objects.values()))
