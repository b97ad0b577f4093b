"""Every family of event types, from its cause to its notifications, on a running platform."""

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from automation.choices import AgentType
from events.types import EventType
from tests.api import bodies
from tests.eventually import eventually
from tests.processes.conftest import make_first_user
from tests.processes.families import FAMILIES, NEVER_PRODUCED, OF_AN_ORGANIZATION, FamilyRow, agent, seen
from tests.processes.platform import prepared_installation
from tests.processes.scenario import RunningSite, Scenario
from tests.receivers import HttpReceiver, MailReceiver

pytestmark = pytest.mark.processes

SWEEP_SECONDS = 240.0
"""A worker looks for timeouts four times a minute, and the machine may be busy."""
ROWS = [row for rows in FAMILIES.values() for row in rows]
OPENING = [row for row in ROWS if row.end]
ONE_SHOT = [row for row in ROWS if not row.end]
REPORTED = [
    each for each in EventType if each.spec.reported and each.spec.alertable and not each.spec.global_only
]
ANYWHERE = {"hostname": "db1.example.com", "port": 27017, "replicaSetName": "rs0", "clusterName": "orders"}
TARGET = ("hostnameAndPort", "replicaSetName", "clusterName", "sourceTypeName", "metricName")


@pytest.fixture(scope="module")
def site() -> Iterator[RunningSite]:
    """One for all families: each row has a project and a receiver of its own."""
    with ExitStack() as stack:
        mail_server = stack.enter_context(MailReceiver().running())
        platform = stack.enter_context(
            prepared_installation(
                OPSAPI_OUTBOUND_ALLOW="127.0.0.0/8", EMAIL_URL=f"smtp://127.0.0.1:{mail_server.port}"
            )
        )
        platform.start()
        yield RunningSite(platform, mail_server, make_first_user(platform))
        assert platform.stop() == 0
        assert "Traceback" not in platform.log


@pytest.fixture
def receiver() -> Iterator[HttpReceiver]:
    """The receiver of the configuration of a test."""
    with HttpReceiver().running() as running:
        yield running


def _scenario(site: RunningSite, receiver: HttpReceiver, row: FamilyRow) -> Scenario:
    return Scenario(site, receiver, {"eventTypeName": row.event_type, **row.threshold})


@pytest.mark.parametrize("row", OPENING, ids=[row.event_type for row in OPENING])
def test_the_start_and_the_end_of_a_condition_are_notified(
    site: RunningSite, receiver: HttpReceiver, row: FamilyRow
) -> None:
    assert row.end
    scenario = _scenario(site, receiver, row)

    row.cause(scenario)
    _eventually_notified(site, scenario, ["alert.open"])
    opened = _alert(scenario)
    assert (opened["status"], opened["eventTypeName"]) == ("OPEN", row.event_type)
    _assert_about(scenario, opened, row.about)

    row.end(scenario)
    _eventually_notified(site, scenario, ["alert.open", "alert.close"])
    closed = _alert(scenario)
    assert (closed["id"], closed["status"]) == (opened["id"], "CLOSED")
    _assert_about(scenario, closed, row.about)
    bodies_sent = [json.loads(request.body) for request in receiver.requests]
    assert [(alert["id"], alert["status"]) for alert in bodies_sent] == [
        (closed["id"], "OPEN"),
        (closed["id"], "CLOSED"),
    ]
    _assert_logged(scenario, row.event_type, closed["id"])


@pytest.mark.parametrize("row", ONE_SHOT, ids=[row.event_type for row in ONE_SHOT])
def test_an_event_is_notified_once(site: RunningSite, receiver: HttpReceiver, row: FamilyRow) -> None:
    scenario = _scenario(site, receiver, row)
    row.cause(scenario)
    _eventually_notified(site, scenario, ["alert.inform"])
    bodies_sent = _informed(receiver)
    assert (bodies_sent["eventTypeName"], bodies_sent["groupId"]) == (row.event_type, scenario.group)
    assert {name: bodies_sent[name] for name in row.about} == row.about
    assert scenario.log().count(row.event_type) == 1
    assert (
        scenario.owner.get(f"{scenario.path}/events/{bodies_sent['id']}")["eventTypeName"] == row.event_type
    )
    assert scenario.alerts() == []


@pytest.mark.parametrize("row", OF_AN_ORGANIZATION, ids=[row.event_type for row in OF_AN_ORGANIZATION])
def test_an_event_of_an_organization_is_notified_once(
    site: RunningSite, receiver: HttpReceiver, row: FamilyRow
) -> None:
    scenario = _scenario(site, receiver, row)
    beyond = {"eventTypeName": row.event_type, "forAllGroups": False, "groupIds": [scenario.group]}
    _configure_globally(scenario, **beyond)
    row.cause(scenario)
    _eventually_notified(site, scenario, ["alert.inform"] * 2)
    first, second = [json.loads(request.body) for request in receiver.requests]
    assert first == second
    assert (first["eventTypeName"], first["orgId"], "groupId" in first) == (
        row.event_type,
        scenario.org,
        False,
    )
    assert {name: first[name] for name in row.about} == row.about
    logged = scenario.owner.get(f"{scenario.path}/events/{first['id']}/notifications")["results"]
    assert {notification["status"] for notification in logged} == {"DELIVERED"}
    assert scenario.owner.get(f"/orgs/{scenario.org}/events/{first['id']}")["eventTypeName"] == row.event_type
    assert scenario.alerts() == []


def test_events_of_the_installation_are_notified_by_a_global_configuration(
    site: RunningSite, receiver: HttpReceiver
) -> None:
    scenario = Scenario(site, receiver, {"eventTypeName": "USER_CREATED_AUDIT"})
    made = _configure_globally(scenario, eventTypeName="USER_CREATED_AUDIT", forAllGroups=True)
    scenario.owner.post("/users", bodies.user(username="somebody@example.com"))
    _eventually_notified(site, scenario, ["alert.inform"])
    assert _informed(receiver)["targetUsername"] == "somebody@example.com"
    # It would be notified of everybody the other tests make, where nobody listens any more.
    scenario.owner.delete(f"/globalAlertConfigs/{made}")


def test_everything_agents_may_report_is_notified(site: RunningSite, receiver: HttpReceiver) -> None:
    scenario = Scenario(site, receiver)
    for event_type in REPORTED:
        scenario.configure({"eventTypeName": event_type})

    scenario.send(events=[{"eventTypeName": event_type, **ANYWHERE} for event_type in REPORTED])
    begun = {(each, "OPEN") if each.spec.closed_by else (each, None) for each in REPORTED}
    _eventually_all_notified(site, receiver, begun)

    closing = [each.spec.closed_by for each in REPORTED if each.spec.closed_by]
    scenario.send(events=[{"eventTypeName": event_type, **ANYWHERE} for event_type in closing])
    ended = {(each, "CLOSED") for each in REPORTED if each.spec.closed_by}
    _eventually_all_notified(site, receiver, begun | ended)


def test_a_heartbeat_timeout_and_its_end_are_notified(site: RunningSite, receiver: HttpReceiver) -> None:
    scenario = Scenario(site, receiver)
    for kind in AgentType:
        scenario.configure({"eventTypeName": f"{kind.value}_AGENT_DOWN"})
        agent(1, "1.0", kind.value)(scenario)
    # Somebody has to be heard: where nobody is, the platform takes itself for the one that was away.
    agent(2, "1.0", "MONITORING")(scenario)
    names = {EventType(f"{kind.value}_AGENT_DOWN") for kind in AgentType}

    site.let_agent_time_out(scenario.group, "agent1")
    begun = {(name, "OPEN") for name in names}
    _eventually_all_notified(site, receiver, begun)

    for kind in AgentType:
        agent(1, "1.0", kind.value)(scenario)
    _eventually_all_notified(site, receiver, begun | {(name, "CLOSED") for name in names})
    assert {alert["hostnameAndPort"] for alert in scenario.alerts()} == {"agent1"}


def test_a_new_project_is_notified_by_a_global_configuration(
    site: RunningSite, receiver: HttpReceiver
) -> None:
    scenario = Scenario(site, receiver)
    _configure_globally(scenario, eventTypeName="GROUP_CREATED", forAllGroups=True, tags=[scenario.group])
    made = scenario.owner.post("/groups", {"name": f"after {scenario.group}", "tags": [scenario.group]})
    _eventually_notified(site, scenario, ["alert.inform"])
    bodies_sent = _informed(receiver)
    assert (bodies_sent["eventTypeName"], bodies_sent["groupId"]) == ("GROUP_CREATED", made["id"])


def test_types_of_global_configurations_are_notified_by_a_global_configuration(
    site: RunningSite, receiver: HttpReceiver
) -> None:
    scenario, event_type = Scenario(site, receiver), "BACKUP_AGENT_CONF_CALL_FAILURE"
    _configure_globally(scenario, eventTypeName=event_type, forAllGroups=False, groupIds=[scenario.group])
    seen(event_type, {"hostname": "agent1"})(scenario)
    _eventually_notified(site, scenario, ["alert.inform"])
    bodies_sent = _informed(receiver)
    assert (bodies_sent["eventTypeName"], bodies_sent["groupId"]) == (event_type, scenario.group)


def test_no_event_type_of_configurations_is_forgotten() -> None:
    alertable = {each.value for each in EventType if each.spec.alertable}
    of_timeouts = {f"{kind.value}_AGENT_DOWN" for kind in AgentType}
    elsewhere = {
        *REPORTED,
        *of_timeouts,
        "GROUP_CREATED",
        "BACKUP_AGENT_CONF_CALL_FAILURE",
        "USER_CREATED_AUDIT",
        # tests/integration/alerting/test_second_factor_alerts.py
        "ORG_USERS_WITHOUT_MFA",
        "USERS_WITHOUT_MULTI_FACTOR_AUTH",
    }
    rows = {row.event_type for row in (*ROWS, *OF_AN_ORGANIZATION)}
    assert rows | elsewhere == alertable - NEVER_PRODUCED


@pytest.mark.parametrize("category", FAMILIES)
def test_a_family_has_rows_of_its_category_only(category: str) -> None:
    assert {EventType(row.event_type).spec.category for row in FAMILIES[category]} == {category}


def _alert(scenario: Scenario) -> dict[str, Any]:
    """The alert of the configuration; default configurations of the project can have further alerts."""
    (alert,) = (alert for alert in scenario.alerts() if alert["alertConfigId"] == scenario.config)
    return alert


def _configure_globally(scenario: Scenario, **config: Any) -> str:
    config = {**config, "notifications": scenario.notifications()}
    made: str = scenario.owner.post("/globalAlertConfigs", config)["id"]
    return made


def _eventually_notified(site: RunningSite, scenario: Scenario, kinds: list[str]) -> None:
    """Exactly these messages are sent, and no more are due."""

    def done() -> bool:
        return len(_kinds(scenario)) >= len(kinds) and site.is_idle()

    eventually(done, message=f"{kinds} sent")
    assert _kinds(scenario) == kinds


def _eventually_all_notified(
    site: RunningSite, receiver: HttpReceiver, expected: Collection[tuple[EventType, str | None]]
) -> None:
    """Each of these types with that status of its alert, exactly once; events have none."""

    def done() -> bool:
        return len(receiver.requests) >= len(expected) and site.is_idle()

    eventually(done, SWEEP_SECONDS, message=f"{len(expected)} sent")
    documents = [json.loads(request.body) for request in receiver.requests]
    assert sorted(
        (document["eventTypeName"], document.get("status", "")) for document in documents
    ) == sorted((event_type.value, status or "") for event_type, status in expected)


def _kinds(scenario: Scenario) -> list[str]:
    return [request.headers["X-Ops-Event"] for request in scenario.receiver.requests]


def _informed(receiver: HttpReceiver) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(receiver.requests[0].body)
    return document


def _assert_about(scenario: Scenario, alert: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """The alert names only its target, with the ids that the project has for these names."""
    assert {name: alert[name] for name in TARGET if name in alert} == about
    known = scenario.owner.get(f"{scenario.path}/hosts")["results"]
    hosts = {f"{host['hostname']}:{host['port']}": host["id"] for host in known}
    assert alert.get("hostId") == hosts.get(alert.get("hostnameAndPort", ""))
    known = scenario.owner.get(f"{scenario.path}/clusters")["results"]
    clusters = {cluster["clusterName"]: cluster["id"] for cluster in known}
    assert alert.get("clusterId") == clusters.get(alert.get("clusterName", ""))


def _assert_logged(scenario: Scenario, event_type: str, alert_id: str) -> None:
    """The log has the beginning and the end of the alert, in this order."""
    events = scenario.owner.get(f"{scenario.path}/events")["results"]
    closing = EventType(event_type).spec.closed_by
    of_alert = [event["eventTypeName"] for event in reversed(events) if event.get("alertId") == alert_id]
    assert of_alert == [event_type, closing]
