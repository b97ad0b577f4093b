"""The pause of a plan, and the plan of each process in the status."""

from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from automation.choices import AgentType
from automation.models import AutomationRevision, PausedPlan
from events.models import Event
from opsapi import clock
from opsapi.roles import Grant, Role
from tests.api import bodies
from tests.api.automation import path, published, publisher
from tests.api.test_automation_plan import replica_set, report
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.automation import host_report, ingest
from tests.factories.lost_keys import lose_key

__all__ = ["path", "publisher"]

pytestmark = pytest.mark.django_db

RESTART = "2026-11-21T07:26:14Z"


@pytest.fixture
def reader(project: Project) -> ApiClient:
    """The lowest role that may read the status."""
    return ApiClient(make_key(Grant(Role.GROUP_READ_ONLY, group_id=project.id)))


def changed(client: ApiClient, path: str, action: str) -> Any:
    """The answer to a pause, or to a resume."""
    answer = client.request("POST", f"{path}/{action}")
    assert answer.status_code == 200, answer.content
    return answer.json()


@each(
    ("sent", "code"),
    [(None, ""), ({}, ""), ({"foo": 1}, "INVALID_ATTRIBUTE"), (b"{", "INVALID_JSON"), ([], "INVALID_JSON")],
)
def test_a_body_is_optional_and_has_no_fields(publisher: ApiClient, path: str, sent: Any, code: str) -> None:
    for action, is_paused in (("pause", not code), ("resume", False)):
        answer = publisher.request("POST", f"{path}/{action}", sent)
        assert (answer.status_code, answer.json().get("errorCode", "")) == (400 if code else 200, code)
        assert PausedPlan.objects.exists() is is_paused


def status(client: ApiClient, project: Project) -> Any:
    answer = client.get(f"/groups/{project.id}/automationStatus")
    assert answer.status_code == 200, answer.content
    return answer.json()


def plans(client: ApiClient, project: Project) -> dict[str, Any]:
    """The plan of each process by its name."""
    return {process["name"]: process["plan"] for process in status(client, project)["processes"]}


def kinds(plan: Any) -> list[str]:
    return [move["move"] for move in plan["moves"]]


def pause_events(project: Project) -> list[tuple[str, Any, Any]]:
    rows = Event.objects.filter(group_id=project.id, event_type__startswith="AUTOMATION_PLAN_").order_by("id")
    return [(row.event_type, row.details["publicKey"], row.diffs[0]["params"]) for row in rows]


def test_a_pause_has_its_time_and_author(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    assert status(reader, project)["paused"] is False
    shown = changed(publisher, path, "pause")
    assert publisher.key is not None
    assert shown["paused"] is True
    assert shown["pausedBy"]["publicKey"] == publisher.key.public_key
    fields = ("paused", "pausedSince", "pausedBy")
    now = status(reader, project)
    assert {name: now[name] for name in fields} == {name: shown[name] for name in fields}


def test_a_second_pause_keeps_the_first_and_records_nothing(
    publisher: ApiClient, owner: ApiClient, path: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = changed(publisher, path, "pause")
    now = clock.now()
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(minutes=5))
    assert changed(owner, path, "pause") == first
    assert len(pause_events(project)) == 1


def test_a_resume_ends_the_pause_and_can_be_repeated(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    changed(publisher, path, "resume")
    assert pause_events(project) == []
    changed(publisher, path, "pause")
    for _ in range(2):
        shown = changed(publisher, path, "resume")
        assert (shown["paused"], "pausedSince" in shown, "pausedBy" in shown) == (False, False, False)
    assert status(reader, project)["paused"] is False
    assert not PausedPlan.objects.exists()
    public_key = publisher.key.public_key if publisher.key else ""
    assert pause_events(project) == [
        (
            "AUTOMATION_PLAN_PAUSED_AUDIT",
            public_key,
            [{"param": "paused", "display": "paused", "old": "false", "new": "true"}],
        ),
        (
            "AUTOMATION_PLAN_RESUMED_AUDIT",
            public_key,
            [{"param": "paused", "display": "paused", "old": "true", "new": "false"}],
        ),
    ]


@pytest.mark.parametrize("role", [Role.GROUP_READ_ONLY, Role.GROUP_MONITORING_ADMIN, Role.GROUP_AGENT])
def test_it_refuses_other_roles(project: Project, path: str, role: Role) -> None:
    other = ApiClient(make_key(Grant(role, group_id=project.id)))
    for action in ("pause", "resume"):
        answer = other.request("POST", f"{path}/{action}")
        assert (answer.status_code, answer.json()["errorCode"]) == (403, "USER_UNAUTHORIZED")
    assert not PausedPlan.objects.exists()


def test_a_pause_belongs_to_its_project(publisher: ApiClient, owner: ApiClient, path: str) -> None:
    changed(publisher, path, "pause")
    assert status(owner, ProjectFactory.create())["paused"] is False


def test_the_status_shows_the_moves_of_each_process(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project)
    assert {name: plan["moves"] for name, plan in plans(reader, project).items()} == {
        "p0": [],
        "p1": [],
        "p2": [],
    }
    published(publisher, path, replica_set(1, lastRestart=RESTART))
    shown = plans(reader, project)
    assert {name: kinds(plan) for name, plan in shown.items()} == {
        "p0": ["STEP_DOWN", "RESTART"],
        "p1": ["RESTART"],
        "p2": ["RESTART"],
    }
    (move,) = shown["p1"]["moves"]
    assert move == {"move": "RESTART", "detail": "restarts", "disturbs": True, "state": "PLANNED"}


def test_the_plan_begins_at_the_version_that_each_process_has_reached(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    """Two versions later, the processes run with the settings of the first version."""
    published(publisher, path, replica_set())
    report(project)
    settings = {**replica_set()["processes"][0]["args2_6"], "setParameter": {"a": 1}}
    published(publisher, path, replica_set(1, args2_6=settings))
    published(publisher, path, replica_set(2))
    assert {name: kinds(plan) for name, plan in plans(reader, project).items()} == {
        "p0": [],
        "p1": [],
        "p2": [],
    }
    report(project, reached=2)
    assert kinds(plans(reader, project)["p1"]) == ["RESTART"]


def test_a_pause_is_the_reason_of_each_process_that_has_moves(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project)
    published(publisher, path, replica_set(1, lastRestart=RESTART))
    since = changed(publisher, path, "pause")["pausedSince"]
    for plan in plans(reader, project).values():
        (wait,) = plan["waits"]
        assert (wait["reason"], wait["since"]) == ("PAUSED", since)


def test_a_member_that_is_away_leaves_no_majority_without_another(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project, reached=1)
    published(publisher, path, replica_set(1, lastRestart=RESTART, manualMode=True))
    ingest(project, host_report("db2.example.com", reachable=False), agent_type=AgentType.AUTOMATION)
    sent = replica_set(2, lastRestart="2026-11-22T07:26:14Z")
    sent["processes"][2]["manualMode"] = True
    published(publisher, path, sent)
    waits = {wait["reason"] for wait in plans(reader, project)["p1"]["waits"]}
    assert waits == {"MAJORITY"}


def test_a_default_concern_that_no_process_has_reached_is_planned(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    concern = {"defaultWriteConcern": {"w": 1}}
    published(publisher, path, replica_set(defaultRWConcern=concern))
    report(project)
    published(publisher, path, replica_set(1, defaultRWConcern={"defaultWriteConcern": {"w": "majority"}}))
    assert kinds(plans(reader, project)["p0"]) == ["SET_DEFAULT_CONCERN"]
    published(publisher, path, replica_set(2, defaultRWConcern=concern))
    assert kinds(plans(reader, project)["p0"]) == []


def test_what_the_plan_does_not_do_is_said(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project)
    published(publisher, path, replica_set(1, backupRestoreUrl="CANCEL"))
    assert [row["reason"] for row in plans(reader, project)["p1"]["refused"]] == ["NOT_PLANNED"]


def test_what_no_agent_does_is_said_after_the_version_is_reached_until_it_is_published_without(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    def refused() -> list[list[str]]:
        shown = plans(reader, project)
        return [[row["reason"] for row in shown[name]["refused"]] for name in ("p0", "p1", "p2")]

    published(publisher, path, replica_set(backupRestoreUrl="CANCEL"))
    for _ in range(2):
        assert refused() == [["NOT_PLANNED"]] * 3
        report(project)
    with_agents = {**replica_set(1), "agentVersion": {"directoryUrl": "https://example.com/agents"}}
    published(publisher, path, with_agents)
    report(project, reached=2)
    assert refused() == [["AGENT_VERSION_REFUSED"]] * 3
    published(publisher, path, replica_set(2))
    report(project, reached=3)
    assert refused() == [[]] * 3


def test_no_secret_is_in_the_status(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    report(project)
    settings = {**replica_set()["processes"][0]["args2_6"], "security": {"clusterPassword": bodies.SECRET}}
    published(publisher, path, replica_set(1, args2_6=settings))
    answer = reader.get(f"/groups/{project.id}/automationStatus")
    assert bodies.SECRET not in answer.content.decode()
    assert "security.clusterPassword" in answer.content.decode()


def test_without_the_key_of_the_document_the_status_shows_no_plans(
    publisher: ApiClient, reader: ApiClient, path: str, project: Project
) -> None:
    published(publisher, path, replica_set())
    lose_key(AutomationRevision)
    processes = status(reader, project)["processes"]
    assert len(processes) == 3
    assert all("plan" not in process for process in processes)
