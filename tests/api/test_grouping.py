"""Configurations that group the messages about an outage, and what the log shows of it."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.evaluation import evaluate_signals
from alerting.models import Alert, Notification
from opsapi import clock
from tests.api.bodies import alert_config, global_alert_config, webhook
from tests.client import ApiClient
from tests.each import each
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.django_db
FIELDS = ("grouping", "groupWaitSec")


def shown(document: dict[str, Any]) -> dict[str, Any]:
    return {name: document[name] for name in FIELDS if name in document}


@each(
    "sent, answered",
    [
        ({}, {}),
        ({"grouping": "NONE"}, {}),
        ({"grouping": "TOPOLOGY"}, {"grouping": "TOPOLOGY", "groupWaitSec": 15}),
        ({"grouping": "TOPOLOGY", "groupWaitSec": 0}, {"grouping": "TOPOLOGY", "groupWaitSec": 0}),
        ({"grouping": "TOPOLOGY", "groupWaitSec": 300}, {"grouping": "TOPOLOGY", "groupWaitSec": 300}),
    ],
)
@each("is_global", [False, True])
def test_the_grouping_of_a_configuration_is_kept(
    owner: ApiClient, project: Project, is_global: bool, sent: dict[str, Any], answered: dict[str, Any]
) -> None:
    path = "/globalAlertConfigs" if is_global else f"/groups/{project.id}/alertConfigs"
    body = global_alert_config(**sent) if is_global else alert_config(**sent)
    made = owner.post(path, body).json()
    assert shown(made) == answered
    assert shown(owner.get(f"{path}/{made['id']}").json()) == answered


@each(
    "sent, field, code",
    [
        ({"groupWaitSec": 15}, "groupWaitSec", "INVALID_ATTRIBUTE"),
        ({"grouping": "NONE", "groupWaitSec": 15}, "groupWaitSec", "INVALID_ATTRIBUTE"),
    ],
)
def test_a_wrong_grouping_is_refused(
    owner: ApiClient, project: Project, sent: dict[str, Any], field: str, code: str
) -> None:
    answer = owner.post(f"/groups/{project.id}/alertConfigs", alert_config(**sent))
    assert answer.status_code == 400
    assert field in str(answer.json())
    assert answer.json()["errorCode"] in {code, "INVALID_ATTRIBUTE"}


def test_a_change_of_the_grouping_keeps_the_rest_and_alerts(owner: ApiClient, project: Project) -> None:
    path = f"/groups/{project.id}/alertConfigs"
    made = owner.post(path, alert_config(notifications=[webhook()])).json()
    ingest(project, host_report(reachable=False))
    while evaluate_signals(now=clock.now()):
        pass
    config = f"{path}/{made['id']}"
    grouped = owner.patch(config, {"grouping": "TOPOLOGY", "groupWaitSec": 30}).json()
    assert shown(grouped) == {"grouping": "TOPOLOGY", "groupWaitSec": 30}
    assert grouped["notifications"] == made["notifications"]
    assert shown(owner.patch(config, {"groupWaitSec": 60}).json())["groupWaitSec"] == 60
    assert shown(owner.patch(config, {"grouping": "NONE"}).json()) == {}
    assert owner.patch(config, {"groupWaitSec": 60}).status_code == 400
    owner.patch(config, {"grouping": "TOPOLOGY"})
    assert shown(owner.put(config, alert_config(notifications=[webhook()])).json()) == {}
    assert Alert.objects.get(config_id=made["id"]).status == "OPEN"


def test_the_log_of_each_alert_names_the_incident(owner: ApiClient, project: Project) -> None:
    body = alert_config(grouping="TOPOLOGY", notifications=[webhook()])
    made = owner.post(f"/groups/{project.id}/alertConfigs", body).json()
    ingest(project, *(host_report(name, reachable=False, replica_set_name="rs0") for name in ("a", "b")))
    while evaluate_signals(now=clock.now()):
        pass
    logs = [
        owner.get(f"/groups/{project.id}/alerts/{alert.id}/notifications").json()["results"]
        for alert in Alert.objects.filter(config_id=made["id"])
    ]
    first, other = sorted(logs, key=len)
    assert [line["status"] for line in first] == ["PENDING"]
    assert sorted(line["status"] for line in other) == ["DROPPED", "PENDING"]
    assert len({line["incidentId"] for line in [*first, *other]}) == 1
    sent = next(line for line in other if line["status"] == "PENDING")
    assert sent["id"] == first[0]["id"]
    path = f"/groups/{project.id}/alerts/{{}}/notifications/{sent['id']}/resend"
    for alert in Alert.objects.filter(config_id=made["id"]):
        Notification.objects.filter(id=sent["id"]).update(status="FAILED")
        assert owner.post(path.format(alert.id), None).json()["incidentId"] == sent["incidentId"]
