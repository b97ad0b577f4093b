"""Endpoints 8, 9, 10 and creating a configuration: what is refused, and with which code."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import NotificationSetting
from events.models import Event
from events.types import EVENT_TYPES
from tests.api import bodies
from tests.api.bodies import alert_config, email, metric_config, webhook
from tests.client import ApiClient
from tests.each import each

MASKED = "https://hooks.example.com/******Zx9q"
THRESHOLD = {"operator": "LESS_THAN", "threshold": 3}
METRIC = {"metricName": "CONNECTIONS", "operator": "GREATER_THAN", "threshold": 100}
MATCHER = {"fieldName": "HOSTNAME", "operator": "EQUALS", "value": "db1"}
pytestmark = pytest.mark.django_db


@pytest.fixture
def path(project: Project) -> str:
    """Where the project's configurations are."""
    return f"/groups/{project.id}/alertConfigs"


def config_with(*notifications: dict[str, Any]) -> dict[str, Any]:
    """A configuration with these notifications."""
    return alert_config(notifications=list(notifications))


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


def test_a_threshold_on_a_share_is_in_percent(admin: ApiClient, path: str) -> None:
    made = admin.post(path, metric_config(metricName="CONNECTIONS_PERCENT", threshold=82.5, units=None))
    assert made.status_code == 201
    assert made.json()["metricThreshold"]["units"] == "PERCENT"
    document = metric_config(metricName="CONNECTIONS_PERCENT", threshold=82.5, units="PERCENT")
    assert admin.post(path, document).json()["metricThreshold"] == made.json()["metricThreshold"]


@each("ignored", [{"typeName": "AGENT"}, {"typeName": 5}, {"links": []}, {"matchers": []}])
def test_some_fields_are_taken_and_not_looked_at(
    admin: ApiClient, path: str, ignored: dict[str, Any]
) -> None:
    made = admin.post(path, alert_config(**ignored))
    assert (made.status_code, made.json()["typeName"]) == (201, "HOST")


@pytest.mark.slow
@each("spec", [spec for spec in EVENT_TYPES.values() if spec.alertable], ids=lambda spec: spec.name)
def test_every_alertable_type_can_be_configured(admin: ApiClient, path: str, spec: Any) -> None:
    needed: dict[str, dict[str, Any]] = {
        "METRIC_THRESHOLD": {"metricThreshold": METRIC},
        "THRESHOLD": {"threshold": THRESHOLD},
    }
    answer = admin.post(path, alert_config(eventTypeName=spec.name, **needed.get(spec.needs.value, {})))
    assert answer.status_code == (400 if spec.global_only else 201)


def test_configurations_are_listed_in_the_order_they_were_created(admin: ApiClient, path: str) -> None:
    made = [admin.post(path, alert_config(eventTypeName=name)).json() for name in ("HOST_DOWN", "NEW_HOST")]
    document = admin.get(path).json()
    assert [row["id"] for row in document["results"]] == [row["id"] for row in made]
    assert [link["rel"] for link in document["results"][0]["links"]] == ["self"]
    alone = admin.get(f"{path}/{made[0]['id']}").json()
    assert alone == made[0]
    assert [link["rel"] for link in alone["links"]] == [
        "self",
        *(f"urn:opsapi:rel:{name}" for name in ("group", "alerts")),
    ]


@each("number", [1e22, -1e300, 1.5e308, 2.0**64], ids=repr)
def test_a_threshold_may_be_any_double(admin: ApiClient, path: str, number: float) -> None:
    answer = admin.post(path, metric_config(threshold=number))
    assert answer.status_code == 201
    made = answer.json()
    assert made["metricThreshold"]["threshold"] == number
    (listed,) = admin.get(path).json()["results"]
    assert listed["metricThreshold"] == made["metricThreshold"]
    assert admin.get(path.replace("alertConfigs", "events")).status_code == 200


def test_a_deleted_configuration_is_gone_and_has_an_event(admin: ApiClient, path: str) -> None:
    made = admin.post(path, config_with(webhook())).json()
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
    made = admin.post(path, config_with(webhook(), webhook(webhookSecret=None), email())).json()
    with_secret, without, _ = made["notifications"]
    assert (with_secret["webhookUrl"], with_secret["webhookSecret"]) == (MASKED, "******")
    assert "webhookSecret" not in without
    assert bodies.SECRET not in str(list(NotificationSetting.objects.values()))
