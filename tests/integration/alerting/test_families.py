"""Every event type of configurations: its cause, its alert or event, and its notifications at a receiver."""

from collections.abc import Iterator
from typing import Any, Self

import pytest
from pytest_django import Settings

from automation.choices import AgentType
from events.types import EventType
from opsapi.roles import Grant, Role
from tests.client import ApiClient
from tests.factories.accesslist import KeyPair, ProjectFactory, make_key
from tests.integration.alerting.pipeline import deliver_all, evaluate
from tests.processes.conftest import FIRST_USER, JsonCaller
from tests.processes.families import (
    FAMILIES,
    NEVER_PRODUCED,
    OF_AN_ORGANIZATION,
    REPORTED,
    FamilyRow,
    assert_notified,
    assert_notified_in_and_beyond_its_project,
    condition,
    kinds,
)
from tests.processes.scenario import WatchedProject
from tests.receivers import LOOPBACK, HttpReceiver

ROWS = [row for rows in FAMILIES.values() for row in rows]


class InProcessCaller(JsonCaller):
    """Calls the API inside the test process."""

    def __init__(self, client: ApiClient) -> None:
        self._client = client

    def with_key(self, key: dict[str, Any]) -> Self:
        return type(self)(ApiClient(KeyPair(key["id"], key["publicKey"], key["privateKey"])))

    def _request(self, method: str, path: str, body: Any, status: int) -> Any:
        answer = self._client.request(method, path, body, base="")
        assert answer.status_code == status, answer.content
        return answer.json() if answer.content else None


class FactoryProject(WatchedProject[InProcessCaller]):
    """A project without the default configurations that new projects have."""

    def create(self) -> tuple[str, str, InProcessCaller]:
        """Without requests."""
        project = ProjectFactory.create()
        agent = make_key(Grant(Role.GROUP_AGENT, group_id=project.id))
        return project.id, project.org_id, InProcessCaller(ApiClient(agent))


@pytest.fixture
def first_user(db: None) -> InProcessCaller:
    """A Global owner, a person who can be in teams."""
    person = {**FIRST_USER, "firstName": "Ada", "lastName": "Lovelace"}
    made = InProcessCaller(ApiClient()).post("/unauth/users", person)
    return InProcessCaller(ApiClient()).with_key(made["programmaticApiKey"])


@pytest.fixture
def receiver(settings: Settings) -> Iterator[HttpReceiver]:
    """The receiver of a test's configurations."""
    settings.OPSAPI_OUTBOUND_ALLOW = [LOOPBACK]
    with HttpReceiver().running() as running:
        yield running


def settle(scenario: WatchedProject[Any], expected: list[str]) -> None:
    """Evaluate and deliver everything."""
    evaluate()
    deliver_all()
    assert kinds(scenario) == expected


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=[row.event_type for row in ROWS])
def test_the_start_and_the_end_of_a_condition_and_an_event_are_notified(
    first_user: InProcessCaller, receiver: HttpReceiver, row: FamilyRow
) -> None:
    assert_notified(FactoryProject(first_user, receiver, condition(row)), row, settle)


@pytest.mark.parametrize("row", OF_AN_ORGANIZATION, ids=[row.event_type for row in OF_AN_ORGANIZATION])
def test_an_event_of_an_organization_is_notified_once(
    first_user: InProcessCaller, receiver: HttpReceiver, row: FamilyRow
) -> None:
    scenario = FactoryProject(first_user, receiver, condition(row))
    assert_notified_in_and_beyond_its_project(scenario, row, settle)


def test_no_event_type_of_configurations_is_forgotten() -> None:
    alertable = {each.value for each in EventType if each.spec.alertable}
    elsewhere = {
        *REPORTED,
        # tests/processes/running/test_families.py
        *(f"{kind.value}_AGENT_DOWN" for kind in AgentType),
        "GROUP_CREATED",
        "BACKUP_AGENT_CONF_CALL_FAILURE",
        "USER_CREATED_AUDIT",
        # tests/integration/alerting/test_second_factor_alerts.py
        "ORG_USERS_WITHOUT_MFA",
        "USERS_WITHOUT_MULTI_FACTOR_AUTH",
        # tests/api/test_automation_turns.py, tests/api/test_automation_stops.py
        "AUTOMATION_PLAN_WAITING",
        "AUTOMATION_PLAN_STOPPED",
    }
    rows = {row.event_type for row in (*ROWS, *OF_AN_ORGANIZATION)}
    assert rows | elsewhere == alertable - NEVER_PRODUCED


def test_a_family_has_rows_of_its_category_only() -> None:
    for category, rows in FAMILIES.items():
        assert {EventType(row.event_type).spec.category for row in rows} == {category}
