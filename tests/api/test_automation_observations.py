"""Agents of a replica set exchange what they observe of its members."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from automation.models import MemberObservation
from opsapi.api.links import AGENTS
from opsapi.roles import Grant, Role
from opsapi.sql import database_time
from tests.api.automation import path, published, publisher, refusal
from tests.api.turns import agent, machine, replica_set
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.steps import STEPS

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db

MEMBER = {
    "id": 0,
    "host": "p0",
    "priority": 1,
    "votes": 1,
    "hidden": False,
    "secondaryDelaySecs": 0,
    "arbiterOnly": False,
}
SEEN = {
    "running": True,
    "state": "PRIMARY",
    "version": "7.0.14",
    "featureCompatibilityVersion": "7.0",
    "hasData": True,
    "awaySeconds": 20,
    "severalArbiters": True,
    "nextMove": "RESTART",
    "nextVersion": "7.0.14",
    "members": [MEMBER],
    "oplogSeconds": 7200,
    "oplogFull": False,
}


@pytest.fixture
def goal(publisher: ApiClient, path: str, project: Project) -> int:
    """The version of a document with the members p0, p1 and p2, each on a machine of its own."""
    published(publisher, path, replica_set())
    version: int = publisher.request("GET", path).json()["version"]
    return version


def exchange(agent: ApiClient, project: Project, number: int, goal: int, **changes: Any) -> Any:
    """The answer to the agent of a machine that observes its process."""
    body = {
        "hostname": machine(number),
        "goalVersion": goal,
        "replicaSetName": "rs",
        "processes": [{"name": f"p{number}", **SEEN}],
        **changes,
    }
    return agent.request("POST", f"/groups/{project.id}/observations", body, base=AGENTS)


def reported(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [process["name"] for process in answer.json()["processes"]]


def test_an_agent_gets_what_agents_of_other_machines_observe(
    agent: ApiClient, project: Project, goal: int
) -> None:
    assert reported(exchange(agent, project, 0, goal)) == []
    assert reported(exchange(agent, project, 1, goal)) == ["p0"]
    answer = exchange(agent, project, 0, goal)
    assert answer.json()["processes"] == [{"name": "p1", **SEEN}]


def test_the_newest_observation_of_a_process_counts(agent: ApiClient, project: Project, goal: int) -> None:
    exchange(agent, project, 0, goal)
    exchange(agent, project, 0, goal, processes=[{"name": "p0", "running": False}])
    assert exchange(agent, project, 1, goal).json()["processes"] == [{"name": "p0", "running": False}]
    assert MemberObservation.objects.filter(process="p0").count() == 1


def test_an_observation_is_given_for_a_minute(agent: ApiClient, project: Project, goal: int) -> None:
    exchange(agent, project, 0, goal)
    MemberObservation.objects.update(observed=database_time() - timedelta(seconds=61))
    assert reported(exchange(agent, project, 1, goal)) == []
    MemberObservation.objects.filter(process="p0").update(observed=database_time() - timedelta(seconds=50))
    assert reported(exchange(agent, project, 1, goal)) == ["p0"]


@each("step", STEPS, ids=str)
def test_an_observation_at_a_wrong_time_does_not_count_until_the_next(
    agent: ApiClient, project: Project, goal: int, step: timedelta
) -> None:
    with time_machine.travel(database_time(), tick=False) as machine_clock:
        machine_clock.shift(step)
        exchange(agent, project, 0, goal)
        machine_clock.shift(-step)
        assert reported(exchange(agent, project, 1, goal)) == []
        exchange(agent, project, 0, goal)
        assert reported(exchange(agent, project, 1, goal)) == ["p0"]


def test_texts_that_are_no_names_of_processes_are_given_without_secrets(
    agent: ApiClient, project: Project, goal: int
) -> None:
    url = "https://ada:s3cret@db0.example.com/?sig=s3cret"
    member = {**MEMBER, "id": 1, "host": url}
    process = {"name": "p0", "memberName": url, "version": url, "members": [MEMBER, member]}
    exchange(agent, project, 0, goal, processes=[process])
    answer = exchange(agent, project, 1, goal)
    assert "s3cret" not in answer.content.decode()
    shown = "https://******@db0.example.com/?******"
    assert answer.json()["processes"] == [
        {
            "name": "p0",
            "memberName": shown,
            "version": shown,
            "members": [MEMBER, {**member, "host": shown}],
        }
    ]


def test_a_publication_ends_the_observations_of_the_version_before(
    publisher: ApiClient, path: str, agent: ApiClient, project: Project, goal: int
) -> None:
    exchange(agent, project, 2, goal)
    published(publisher, path, replica_set(goal, lastRestart="2026-01-01T00:00:00Z"))
    assert not MemberObservation.objects.exists()
    assert reported(exchange(agent, project, 1, goal + 1)) == []


def test_observations_of_another_version_are_not_given(agent: ApiClient, project: Project, goal: int) -> None:
    exchange(agent, project, 0, goal)
    MemberObservation.objects.update(goal_version=goal - 1)
    assert reported(exchange(agent, project, 1, goal)) == []


@each("changes", [{"replicaSetName": "another"}, {"hostname": "db2.example.com"}])
def test_an_agent_observes_processes_of_its_machine_and_of_the_replica_set_only(
    agent: ApiClient, project: Project, goal: int, changes: Any
) -> None:
    answer = exchange(agent, project, 0, goal, **changes)
    assert refusal(answer) == (400, "INVALID_ATTRIBUTE", ["processes[0].name"])


def test_an_agent_that_carries_out_another_version_is_refused(
    agent: ApiClient, project: Project, goal: int
) -> None:
    answer = exchange(agent, project, 0, goal + 1)
    assert refusal(answer)[:2] == (409, "AUTOMATION_CONFIG_CONCURRENT_MODIFICATION")
    assert not MemberObservation.objects.exists()


@each(
    ("processes", "field"),
    [
        ([{"name": "nowhere"}], "processes[0].name"),
        ([{"name": "p1"}], "processes[0].name"),
        ([{"name": "p0"}, {"name": "p0"}], "processes[1].name"),
        ([{"name": "p0", "state": "HAPPY"}], "processes[0].state"),
        ([{"name": "p0", "nextMove": "PAINT"}], "processes[0].nextMove"),
        ([{"name": "p0", "members": [{**MEMBER, "votes": 2}]}], "processes[0].members[0].votes"),
        ([{"name": "p0", "settings": {}}], "processes[0].settings"),
    ],
)
def test_a_wrong_observation_names_the_field_and_keeps_nothing(
    agent: ApiClient, project: Project, goal: int, processes: Any, field: str
) -> None:
    answer = exchange(agent, project, 0, goal, processes=processes)
    assert answer.status_code == 400
    assert [bad["field"] for bad in answer.json()["badFields"]] == [field]
    assert not MemberObservation.objects.exists()


def test_observations_of_another_project_are_not_given(agent: ApiClient, project: Project, goal: int) -> None:
    exchange(agent, project, 0, goal)
    MemberObservation.objects.update(group=ProjectFactory.create())
    assert reported(exchange(agent, project, 1, goal)) == []


@each("role", [Role.GROUP_READ_ONLY, Role.GROUP_MONITORING_ADMIN, Role.GROUP_AUTOMATION_ADMIN])
def test_only_agents_exchange_observations(project: Project, goal: int, role: Role) -> None:
    stranger = ApiClient(make_key(Grant(role, group_id=project.id)))
    assert exchange(stranger, project, 0, goal).status_code == 403
