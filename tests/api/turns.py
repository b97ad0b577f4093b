"""What tests of the turns of agents share."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import AgentType, HostType
from opsapi import clock
from opsapi.api.links import AGENTS
from opsapi.roles import Grant, Role
from tests.api.test_automation_plan import TYPES, replica_set
from tests.client import ApiClient
from tests.factories.accesslist import make_key
from tests.factories.automation import host_report, ingest

__all__ = ["replica_set"]

LAG = "OPLOG_SLAVE_LAG_MASTER_TIME"
OPLOG = "OPLOG_MASTER_TIME"
DAY = 86_400.0


@pytest.fixture
def agent(project: Project) -> ApiClient:
    """A key of an agent."""
    return ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=project.id)))


def machine(number: int) -> str:
    """The host name of a process of `replica_set`."""
    return f"db{number}.example.com"


def measured(
    project: Project,
    *,
    lag: float | None = 1.0,
    oplog: float | None = DAY,
    behind: timedelta = timedelta(),
    **changes: Any,
) -> None:
    """All members run and are measured: p0 is the primary. `changes`: of single members by name.

    `behind`: how far the clocks of the agents are behind.
    """
    observed = clock.now() - behind if behind else None
    for number, type_name in enumerate(TYPES):
        is_primary = type_name is HostType.REPLICA_PRIMARY
        name, number_of = (OPLOG, oplog) if is_primary else (LAG, lag)
        metrics = {} if number_of is None else {name: number_of}
        values = {"type_name": type_name, "version": "7.0.2", "replica_set_name": "rs", **metrics}
        report = host_report(machine(number), **{**values, **changes.get(f"p{number}", {})})
        ingest(project, report, agent=f"agent{number}", agent_type=AgentType.MONITORING, observed=observed)


def asked(number: int = 1, move: str = "RESTART", request_id: str = "first", **fields: Any) -> Any:
    """A request for the turn of a process."""
    named = {"hostname": machine(number), "process": f"p{number}", "move": move, "requestId": request_id}
    return {**named, **fields}


def ask(agent: ApiClient, project: Project, body: Any) -> Any:
    return agent.request("POST", f"/groups/{project.id}/turns", body, base=AGENTS)


def taken(agent: ApiClient, project: Project, body: Any) -> Any:
    """The turn of a request that is granted."""
    answer = ask(agent, project, body)
    assert answer.status_code == 201, answer.content
    return answer.json()


def give(agent: ApiClient, project: Project, turn: Any, **fields: Any) -> Any:
    """The answer to a renewal, or to a turn that is given back."""
    body = {"fence": turn["fence"], **fields}
    return agent.request("PATCH", f"/groups/{project.id}/turns/{turn['id']}", body, base=AGENTS)


def why_not(answer: Any) -> str:
    """The reason why a turn is refused."""
    shown = answer.json()
    assert (answer.status_code, shown["errorCode"]) == (409, "AUTOMATION_TURN_REFUSED"), answer.content
    reason: str = shown["parameters"][2]
    return reason
