"""Credentials that a notification leaves out come from the project's integration."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import AlertConfig, NotificationSetting
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES
from tests.api.notifications import SERVICES, SHORTEST, TOKEN, URL, ConfigPath, faults, longest, shortest
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.integrations import make_integration

NEARBY = {
    "CHAT_SERVICE": {"channelName": "at-night"},
    "GROUP_CHAT_SERVICE": {"roomName": "at-night"},
    "OPS_ALERT_SERVICE": {"opsAlertRegion": "EU"},
    "ON_CALL_SERVICE": {"onCallRoutingKey": TOKEN},
}
"""What can be said of a notification whose credential is the integration's."""
pytestmark = pytest.mark.django_db


@pytest.fixture
def place(owner: ApiClient, project: Project) -> ConfigPath:
    """A project's configurations."""
    return ConfigPath(owner, project, is_global=False)


def bare(name: str, **fields: Any) -> dict[str, Any]:
    """A notification without any credential."""
    return {"typeName": name, **fields}


def fields() -> dict[str, Any]:
    """What is stored of the one notification there is."""
    stored: dict[str, Any] = NotificationSetting.objects.get().fields
    return stored


@each("name", SERVICES)
def test_they_can_be_left_out_where_the_project_has_an_integration(
    place: ConfigPath, project: Project, name: str
) -> None:
    make_integration(project, name)
    answer = place.post(bare(name))
    assert answer.status_code == 201, answer.json()
    assert not {*SHORTEST[name]} & {*answer.json()["notifications"][0]}
    assert fields() == {}


@each("name", SERVICES)
def test_an_integration_of_another_project_or_type_does_not_count(
    place: ConfigPath, project: Project, name: str
) -> None:
    make_integration(ProjectFactory.create(), name)
    for other in INTEGRATION_TYPES:
        if other != name:
            make_integration(project, other)
    code = "WEBHOOK_URL_NOT_SET" if name == "WEBHOOK" else "MISSING_ATTRIBUTE"
    assert faults(place.post(bare(name))) == [(f"notifications[0].{field}", code) for field in SHORTEST[name]]
    assert not AlertConfig.objects.exists()


@each("name", NEARBY)
def test_the_rest_is_the_notifications_own(place: ConfigPath, project: Project, name: str) -> None:
    make_integration(project, name)
    assert place.post(bare(name, **NEARBY[name])).status_code == 201
    assert set(fields()) == set(NEARBY[name])


@each("name", ["CHAT_SERVICE", "GROUP_CHAT_SERVICE"])
def test_with_a_credential_of_its_own_it_has_to_be_whole(
    place: ConfigPath, project: Project, name: str
) -> None:
    make_integration(project, name)
    first, second = SHORTEST[name]
    answer = place.post(shortest(name, **{second: None}))
    assert faults(answer) == [(f"notifications[0].{second}", "MISSING_ATTRIBUTE")]
    assert answer.json()["badFields"][0]["message"] == f"is required with {first}"


@each("integrated", [True, False])
def test_a_webhooks_secret_goes_with_its_own_url_only(
    place: ConfigPath, project: Project, integrated: bool
) -> None:
    if integrated:
        make_integration(project, "WEBHOOK")
    found = [field for field, _ in faults(place.post(bare("WEBHOOK", webhookSecret="a webhook secret")))]
    assert found == [
        *([] if integrated else ["notifications[0].webhookUrl"]),
        "notifications[0].webhookSecret",
    ]


@each("name", SERVICES)
def test_a_global_configuration_takes_what_each_project_has(
    owner: ApiClient, project: Project, name: str
) -> None:
    answer = ConfigPath(owner, project, is_global=True).post(bare(name))
    assert answer.status_code == 201, answer.json()
    assert fields() == {}


@pytest.mark.slow
@each("name", SERVICES)
def test_it_can_be_written_back_when_the_integration_is_gone(
    place: ConfigPath, project: Project, name: str
) -> None:
    make_integration(project, name)
    made = place.post(bare(name)).json()
    Integration.objects.all().delete()
    assert place.put(made, *made["notifications"]).json() == made
    assert faults(place.post(bare(name)))


@pytest.mark.slow
@each("name", SERVICES)
def test_credentials_of_its_own_can_come_and_go(place: ConfigPath, project: Project, name: str) -> None:
    make_integration(project, name)
    made = place.post(longest(name)).json()
    (notification,) = made["notifications"]
    without = place.put(made, bare(name, id=notification["id"])).json()
    assert fields() == {}
    assert not NotificationSetting.objects.exclude(secrets=None).exists()
    again = place.put(without, longest(name, id=notification["id"])).json()
    assert again["notifications"] == [notification]


def test_the_region_is_that_of_the_key(place: ConfigPath, project: Project) -> None:
    example = INTEGRATION_TYPES["OPS_ALERT_SERVICE"].example
    make_integration(project, "OPS_ALERT_SERVICE")
    assert example["region"] == "EU"
    made = place.post(shortest("OPS_ALERT_SERVICE"), bare("OPS_ALERT_SERVICE")).json()
    assert [notification.get("opsAlertRegion") for notification in made["notifications"]] == ["US", None]


def test_a_url_of_an_integration_is_not_shown(place: ConfigPath, project: Project) -> None:
    make_integration(project, "WEBHOOK", url=URL)
    made = place.post(bare("WEBHOOK")).json()
    assert "webhookUrl" not in made["notifications"][0]
