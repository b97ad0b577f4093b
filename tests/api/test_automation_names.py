"""Long names of processes and replica sets: refused by name when published, and never an internal error."""

from typing import Any

import pytest

from accesslist.models import Project
from automation.desired_state.document.text import write
from automation.models import AutomationRevision, PlanTurn
from automation.sections import LONGEST_PROCESS_NAME, LONGEST_SET_NAME
from opsapi.api.links import AGENTS
from opsapi.encryption import encrypt
from tests.api import bodies
from tests.api.automation import path, published, publisher, refusal
from tests.api.turns import agent, ask, asked, give, machine, measured, replica_set, taken, why_not
from tests.client import ApiClient
from tests.each import each
from tests.factories.documents import ABSENT, document, process

__all__ = ["agent", "path", "publisher"]

pytestmark = pytest.mark.django_db

NAME, SET_NAME = "/processes/0/name", "/processes/0/args2_6/replication/replSetName"
LONGEST_HOST = ".".join(["h" * 63] * 3 + ["h" * 61])


def of_set(name: str) -> dict[str, Any]:
    """A replica set of this name."""
    settings = {"net": {"port": 27017}, "replication": {"replSetName": name}}
    return {**replica_set(args2_6=settings), "replicaSets": []}


def of_process(name: str) -> dict[str, Any]:
    """A process of this name that is alone."""
    return document(version=0, processes=[process(name=name, hostname=machine(1))])


def stored_long(project: Project, stored: Any) -> None:
    """Keep a document that an earlier build accepted."""
    revision = AutomationRevision.objects.get(group=project)
    revision.document = encrypt(write({**stored, "version": 1}), owner=revision.id)
    revision.save()


@each(
    ("sent", "field", "limit"),
    [
        (of_process("n" * (LONGEST_PROCESS_NAME + 1)), NAME, "300"),
        (of_process("a\nb"), NAME, "control characters"),
        (of_set("r" * (LONGEST_SET_NAME + 1)), SET_NAME, "200"),
        (of_set("a\tb"), SET_NAME, "control characters"),
    ],
    ids=["long name", "lines", "long set", "tab"],
)
def test_a_name_that_agents_cannot_report_is_refused_with_its_limit(
    publisher: ApiClient, path: str, sent: Any, field: str, limit: str
) -> None:
    answer = publisher.put(path, sent)
    status, code, fields = refusal(answer)
    assert (status, code, fields[0]) == (400, "INVALID_ATTRIBUTE", field)
    assert limit in answer.json()["badFields"][0]["message"]


def test_the_longest_names_get_turns_and_are_reported(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    name = "n" * LONGEST_PROCESS_NAME
    alone = process(name=ABSENT, hostname=LONGEST_HOST)
    sent = document(version=0, processes=[process(name=name, hostname=machine(1)), alone])
    published(publisher, path, sent)
    for named, hostname in ((name, machine(1)), (f"{LONGEST_HOST}:27017", LONGEST_HOST)):
        body = {**asked(request_id=hostname[:40]), "process": named, "hostname": hostname}
        turn = taken(agent, project, body)
        assert give(agent, project, turn, outcome="DONE").status_code == 200
        state = {"name": named, "hostname": hostname, "lastGoalVersionAchieved": 1}
        answer = agent.report(project.id, bodies.report(agentType="AUTOMATION", processes=[state]))
        assert answer.status_code == 202, answer.content
    shown = publisher.get(f"/groups/{project.id}/automationStatus").json()["processes"]
    assert [process["lastGoalVersionAchieved"] for process in shown] == [1, 1]


def test_the_longest_name_of_a_set_gets_turns(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    name = "r" * LONGEST_SET_NAME
    published(publisher, path, of_set(name))
    members: Any = {f"p{n}": {"replica_set_name": name} for n in range(3)}
    measured(project, **members)
    assert taken(agent, project, asked())["replicaSetName"] == name


@each("stored", [of_set("r" * 5000), of_process("n" * 5000)], ids=["set", "process"])
def test_a_stored_name_that_is_too_long_is_no_internal_error(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project, stored: Any
) -> None:
    alone = process(name="alone", hostname="alone.example.com")
    stored = {**stored, "processes": [*stored["processes"], alone]}
    published(publisher, path, replica_set())
    stored_long(project, stored)
    part = agent.request("GET", f"/groups/{project.id}/automation?hostname={machine(1)}", base=AGENTS)
    assert part.status_code == 200
    asks = [asked(), asked(request_id="failed", move="DOWNLOAD", reason="no disk"), asked(1, "START")]
    assert [ask(agent, project, body).status_code < 500 for body in asks] == [True] * 3
    assert publisher.get(f"/groups/{project.id}/automationStatus").status_code == 200


def test_a_stop_of_a_stored_set_with_a_long_name_is_known_to_its_agents(
    agent: ApiClient, publisher: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    stored_long(project, of_set("r" * 5000))
    failed = taken(agent, project, asked(move="DOWNLOAD", reason="no disk", goalVersion=1))
    assert failed["state"] == "FAILED"
    assert why_not(ask(agent, project, asked(2, request_id="other"))) == "STOPPED"
    part = agent.request("GET", f"/groups/{project.id}/automation?hostname={machine(2)}", base=AGENTS)
    assert [stop["process"] for stop in part.json()["stopped"]] == ["p1"]
    shown = publisher.get(f"/groups/{project.id}/automationStatus").json()["processes"]
    assert [{wait["reason"] for wait in process["plan"]["waits"]} for process in shown] == [{"STOPPED"}] * 3
    assert PlanTurn.objects.count() == 1
