"""Every family of event types, from its cause to its notifications, on a running platform.

All event types are in tests/integration/alerting/test_families.py.
"""

from collections.abc import Collection, Iterator
from typing import Any

import pytest

from automation.choices import AgentType
from events.types import EventType
from tests.api import bodies
from tests.eventually import eventually
from tests.processes.conftest import ProcessCaller
from tests.processes.families import (
    FAMILIES,
    OF_AN_ORGANIZATION,
    REPORTED,
    FamilyRow,
    Settle,
    agent,
    assert_notified,
    assert_notified_in_and_beyond_its_project,
    condition,
    configure_globally,
    documents,
    kinds,
    seen,
)
from tests.processes.scenario import RunningSite, WatchedProject
from tests.receivers import HttpReceiver

pytestmark = pytest.mark.processes

ANYWHERE = {"hostname": "db1.example.com", "port": 27017, "replicaSetName": "rs0", "clusterName": "orders"}
Project = WatchedProject[ProcessCaller]


@pytest.fixture(autouse=True)
def no_error_is_logged(site: RunningSite) -> Iterator[None]:
    """No test here brings an error forth."""
    before = len(site.platform.log)
    yield
    assert "Traceback" not in site.platform.log[before:]


@pytest.mark.parametrize("row", [rows[0] for rows in FAMILIES.values()], ids=list(FAMILIES))
def test_a_family_is_notified(site: RunningSite, receiver: HttpReceiver, row: FamilyRow) -> None:
    assert_notified(Project(site.owner, receiver, condition(row)), row, _settle(site))


def test_an_event_of_an_organization_is_notified_once(site: RunningSite, receiver: HttpReceiver) -> None:
    row = OF_AN_ORGANIZATION[0]
    scenario = Project(site.owner, receiver, condition(row))
    assert_notified_in_and_beyond_its_project(scenario, row, _settle(site))


def test_events_of_the_installation_are_notified_by_a_global_configuration(
    site: RunningSite, receiver: HttpReceiver
) -> None:
    scenario = Project(site.owner, receiver, {"eventTypeName": "USER_CREATED_AUDIT"})
    made = configure_globally(scenario, eventTypeName="USER_CREATED_AUDIT", forAllGroups=True)
    scenario.owner.post("/users", bodies.user(username="somebody@example.com"))
    _settle(site)(scenario, ["alert.inform"])
    assert documents(scenario)[0]["targetUsername"] == "somebody@example.com"
    # It would be notified of everybody the other tests make, where nobody listens any more.
    scenario.owner.delete(f"/globalAlertConfigs/{made}")


def test_everything_agents_may_report_is_notified(site: RunningSite, receiver: HttpReceiver) -> None:
    scenario = Project(site.owner, receiver)
    for event_type in REPORTED:
        scenario.configure({"eventTypeName": event_type})

    scenario.send(events=[{"eventTypeName": event_type, **ANYWHERE} for event_type in REPORTED])
    begun = {(each, "OPEN") if each.spec.closed_by else (each, None) for each in REPORTED}
    _eventually_all_notified(site, scenario, begun)

    closing = [each.spec.closed_by for each in REPORTED if each.spec.closed_by]
    scenario.send(events=[{"eventTypeName": event_type, **ANYWHERE} for event_type in closing])
    ended = {(each, "CLOSED") for each in REPORTED if each.spec.closed_by}
    _eventually_all_notified(site, scenario, begun | ended)


def test_a_heartbeat_timeout_and_its_end_are_notified(site: RunningSite, receiver: HttpReceiver) -> None:
    scenario = Project(site.owner, receiver)
    for kind in AgentType:
        scenario.configure({"eventTypeName": f"{kind.value}_AGENT_DOWN"})
        agent(1, "1.0", kind.value)(scenario)
    # Somebody has to be heard: where nobody is, the platform takes itself for the one that was away.
    agent(2, "1.0", "MONITORING")(scenario)
    names = {EventType(f"{kind.value}_AGENT_DOWN") for kind in AgentType}

    site.let_agent_time_out(scenario.group, "agent1")
    begun = {(name, "OPEN") for name in names}
    _eventually_all_notified(site, scenario, begun)

    for kind in AgentType:
        agent(1, "1.0", kind.value)(scenario)
    _eventually_all_notified(site, scenario, begun | {(name, "CLOSED") for name in names})
    assert {alert["hostnameAndPort"] for alert in scenario.alerts()} == {"agent1"}


def test_a_new_project_is_notified_by_a_global_configuration(
    site: RunningSite, receiver: HttpReceiver
) -> None:
    scenario = Project(site.owner, receiver)
    configure_globally(scenario, eventTypeName="GROUP_CREATED", forAllGroups=True, tags=[scenario.group])
    made = scenario.owner.post("/groups", {"name": f"after {scenario.group}", "tags": [scenario.group]})
    _settle(site)(scenario, ["alert.inform"])
    (event,) = documents(scenario)
    assert (event["eventTypeName"], event["groupId"]) == ("GROUP_CREATED", made["id"])


def test_types_of_global_configurations_are_notified_by_a_global_configuration(
    site: RunningSite, receiver: HttpReceiver
) -> None:
    scenario, event_type = Project(site.owner, receiver), "BACKUP_AGENT_CONF_CALL_FAILURE"
    configure_globally(scenario, eventTypeName=event_type, forAllGroups=False, groupIds=[scenario.group])
    seen(event_type, {"hostname": "agent1"})(scenario)
    _settle(site)(scenario, ["alert.inform"])
    (event,) = documents(scenario)
    assert (event["eventTypeName"], event["groupId"]) == (event_type, scenario.group)


def _settle(site: RunningSite) -> Settle:
    def settle(scenario: WatchedProject[Any], expected: list[str]) -> None:
        def done() -> bool:
            return len(kinds(scenario)) >= len(expected) and site.is_idle()

        eventually(done, message=f"{expected} sent")
        assert kinds(scenario) == expected

    return settle


def _eventually_all_notified(
    site: RunningSite, scenario: Project, expected: Collection[tuple[EventType, str | None]]
) -> None:
    """Each of these types with that status of its alert, exactly once; events have none."""

    def done() -> bool:
        return len(scenario.receiver.requests) >= len(expected) and site.is_idle()

    eventually(done, message=f"{len(expected)} sent")
    assert sorted(
        (document["eventTypeName"], document.get("status", "")) for document in documents(scenario)
    ) == sorted((event_type.value, status or "") for event_type, status in expected)
