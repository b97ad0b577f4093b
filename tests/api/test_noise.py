"""How noisy an alert configuration is, over HTTP."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from alerting.models import AlertConfig
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.api.recipients import client, group, refusal
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, make_alert, make_config, make_global_config, make_notification

pytestmark = pytest.mark.django_db
MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


def lasted(config: AlertConfig, minutes: float, *, ago: timedelta = DAY, **changes: Any) -> Any:
    """An alert of the configuration that lasted so long."""
    began = clock.now() - ago
    times = {"created": began, "opens": began, "resolved": began + minutes * MINUTE}
    project = changes.pop("project", config.group)
    return make_alert(project, config_id=config.id, **({"status": "CLOSED"} | times | changes))


def noise(owner: ApiClient, config: AlertConfig) -> dict[str, Any]:
    """The document."""
    answer = owner.get(f"/groups/{config.group_id}/alertConfigs/{config.id}/noise")
    assert answer.status_code == 200, answer.json()
    document: dict[str, Any] = answer.json()
    return document


@pytest.fixture
def config(project: Project) -> AlertConfig:
    """A configuration that is older than the period."""
    made = make_config(project, notifications=[EMAIL])
    AlertConfig.objects.filter(id=made.id).update(created=clock.now() - 100 * DAY)
    return AlertConfig.objects.get(id=made.id)


def test_a_quiet_configuration(owner: ApiClient, config: AlertConfig) -> None:
    document = noise(owner, config)
    zeros = ("alerts", "alertsPerWeek", "flaps", "acknowledged", "messagesSent")
    assert [document[name] for name in zeros] == [0] * 5
    assert {"medianDurationSec", "suggestion"}.isdisjoint(document)
    assert document["alertConfigId"] == config.id
    assert document["start"] < wire_time(clock.now() - 27 * DAY) < document["end"]


def test_alerts_of_the_period_that_opened_are_counted(
    owner: ApiClient, config: AlertConfig, project: Project
) -> None:
    for minutes in (1, 3, 20):
        lasted(config, minutes)
    lasted(config, 1, resolved=None, status="OPEN", acknowledged_until=clock.now())
    lasted(config, 1, ago=29 * DAY)
    lasted(config, 1, opens=clock.now())  # ended before it opened
    lasted(config, 1, resolved=None, status="TRACKING")
    lasted(make_config(project), 1)
    document = noise(owner, config)
    assert (document["alerts"], document["alertsPerWeek"], document["acknowledged"]) == (4, 1.0, 1)
    assert document["medianDurationSec"] == 180


def test_weeks_before_the_configuration_existed_do_not_count(owner: ApiClient, project: Project) -> None:
    young = make_config(project)
    for _ in range(3):
        lasted(young, 20)
    assert noise(owner, young)["alertsPerWeek"] == 3.0


def test_retention_shortens_the_period(owner: ApiClient, config: AlertConfig, settings: Any) -> None:
    settings.OPSAPI_ALERT_RETENTION_DAYS = 7
    lasted(config, 20, ago=10 * DAY)
    lasted(config, 20)
    assert noise(owner, config)["alertsPerWeek"] == 1.0


def test_flaps_are_alerts_soon_after_another_on_the_same_target(
    owner: ApiClient, config: AlertConfig
) -> None:
    here, there = new_id(), new_id()
    lasted(config, 1, target_key=here)
    lasted(config, 1, target_key=here, ago=DAY - 30 * MINUTE)  # 29 minutes after the end
    lasted(config, 1, target_key=here, ago=DAY - 95 * MINUTE)  # 64 minutes after the end
    lasted(config, 1, target_key=there, ago=DAY - 96 * MINUTE)
    assert noise(owner, config)["flaps"] == 1


def test_delivered_messages_are_counted(owner: ApiClient, config: AlertConfig) -> None:
    alert, old = lasted(config, 1), lasted(config, 1, ago=40 * DAY)
    for status in ("DELIVERED", "DELIVERED", "FAILED", "DROPPED", "PENDING"):
        make_notification(alert.group, alert=alert, status=status)
    make_notification(alert.group, alert=old, status="DELIVERED")
    assert noise(owner, config)["messagesSent"] == 2


def test_a_delay_that_halves_the_alerts_is_suggested(owner: ApiClient, config: AlertConfig) -> None:
    for minutes in (1, 4.5, 20, 30):
        lasted(config, minutes)
    assert noise(owner, config)["suggestion"] == {"delayMin": 5, "alerts": 2}


def test_readers_may_ask(owner: ApiClient, config: AlertConfig, project: Project) -> None:
    path = f"/groups/{config.group_id}/alertConfigs/{config.id}/noise"
    reader = client(group(Role.GROUP_READ_ONLY, project))
    stranger = client(group(Role.GROUP_OWNER, ProjectFactory.create()))
    assert reader.get(path).status_code == 200
    assert refusal(stranger.get(path)) == (403, "NOT_IN_GROUP")
    missing = owner.get(f"/groups/{config.group_id}/alertConfigs/{new_id()}/noise")
    assert refusal(missing) == (404, "ALERT_CONFIG_NOT_FOUND")


def test_a_global_configuration_counts_the_alerts_of_all_projects(owner: ApiClient, project: Project) -> None:
    made = make_global_config()
    for each in (project, ProjectFactory.create()):
        lasted(made, 1, project=each, is_global=True)
    path = f"/globalAlertConfigs/{made.id}/noise"
    assert owner.get(path).json()["alerts"] == 2
    assert client(group(Role.GROUP_OWNER, project)).get(path).status_code == 403
