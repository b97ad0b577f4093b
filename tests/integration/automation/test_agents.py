"""Agents out of service, deleted by hand."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accesslist.models import Project
from automation.agents.changes import agent_delete
from automation.choices import AgentType
from automation.hosts.versions import version_marks_update
from automation.models import Agent, Host
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.api.principal import SYSTEM
from tests.client import ApiClient
from tests.each import each
from tests.factories.automation import host_report, ingest, sweep
from tests.racing import THREADS, at_once, while_it_waits

pytestmark = pytest.mark.django_db
START = datetime(2025, 1, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def delete(project: Project, hostname: str = "agent1", now: datetime = START) -> None:
    """Delete a monitoring agent."""
    agent_delete(
        group_id=project.id, agent_type=AgentType.MONITORING, hostname=hostname, actor=SYSTEM, now=now
    )


def outcome(act: Any) -> str:
    """How it ended."""
    try:
        act()
    except ApiError as error:
        return error.code.value
    return "done"


class TestRequest:
    """DELETE /groups/{id}/agents/{agentType}/{hostname}."""

    def test_it_is_gone_and_others_stay(
        self, owner: ApiClient, project: Project, other_project: Project
    ) -> None:
        for group, kind, name in (
            (project, "MONITORING", "Agent1.example.com"),
            (project, "BACKUP", "agent1.example.com"),
            (project, "MONITORING", "agent2"),
            (other_project, "MONITORING", "agent1.example.com"),
        ):
            ingest(group, agent=name, agent_type=AgentType(kind))
        path = f"/groups/{project.id}/agents"
        assert owner.delete(f"{path}/MONITORING/agent1.EXAMPLE.com").status_code == 204
        listed = owner.get(path).json()["results"]
        assert [(agent["agentType"], agent["hostname"]) for agent in listed] == [
            ("BACKUP", "agent1.example.com"),
            ("MONITORING", "agent2"),
        ]
        assert Agent.objects.filter(group=other_project).count() == 1

    @each("name", ["MONITORING/agent2", "BACKUP/agent1", "monitoring/agent1", "X/agent1"])
    def test_one_that_is_not_there_is_404(self, owner: ApiClient, project: Project, name: str) -> None:
        ingest(project)
        answer = owner.delete(f"/groups/{project.id}/agents/{name}")
        assert (answer.status_code, answer.json()["errorCode"]) == (404, "AGENT_NOT_FOUND")
        assert answer.json()["parameters"] == name.split("/")
        assert Agent.objects.count() == 1

    @each(
        ("ago", "marks", "is_down"),
        [
            (timedelta(), {}, False),
            (2 * MINUTE, {}, False),
            (4 * MINUTE, {}, True),
            (timedelta(), {"down": True}, True),
            (4 * MINUTE, {"demonstration": True}, False),
        ],
    )
    def test_its_state_follows_from_its_last_report(
        self, owner: ApiClient, project: Project, ago: timedelta, marks: dict[str, bool], is_down: bool
    ) -> None:
        ingest(project, now=clock.now() - ago)
        Agent.objects.update(**marks)
        path = f"/groups/{project.id}/agents"
        for agent in (
            owner.get(path).json()["results"][0],
            owner.get(f"{path}/MONITORING/agent1").json(),
        ):
            assert (agent["down"], agent["stateName"]) == (is_down, "DOWN" if is_down else "ACTIVE")
            assert agent["demonstration"] is ("demonstration" in marks)

    def test_it_is_recorded_with_what_it_was(self, owner: ApiClient, project: Project) -> None:
        ingest(project, version="1.7")
        agent = Agent.objects.get()
        owner.delete(f"/groups/{project.id}/agents/MONITORING/agent1")
        event = Event.objects.get(event_type="AGENT_DELETED_AUDIT")
        assert (event.details["hostname"], event.details["sourceTypeName"]) == ("agent1", "MONITORING")
        (change,) = event.diffs
        assert (change["id"], change["type"], change["status"]) == (agent.id, "MONITORING_AGENT", "REMOVED")
        assert {param["param"]: param["old"] for param in change["params"]}["version"] == "1.7"


def test_its_hosts_keep_their_state(project: Project) -> None:
    ingest(project, host_report("a"), host_report("b", reachable=False), now=START)
    ingest(project, agent="other", now=START + 4 * MINUTE)
    delete(project)
    sweep(START + 5 * MINUTE)
    hosts = Host.objects.order_by("hostname")
    assert list(hosts.values_list("hostname", "down")) == [("a", False), ("b", True)]
    assert not hosts.exclude(reported_by=None).exists()


def test_its_next_report_adds_it_again(project: Project) -> None:
    ingest(project)
    before = Agent.objects.get().id
    delete(project)
    ingest(project)
    assert Agent.objects.get().id != before
    assert Event.objects.filter(event_type="NEW_AGENT").count() == 2


def test_others_are_not_behind_it_any_more(project: Project) -> None:
    ingest(project, agent="ahead", version="99.0")
    ingest(project, agent="usual")
    version_marks_update(group_id=project.id, now=START)
    assert Agent.objects.get(version_behind=True).hostname == "usual"
    Signal.objects.all().delete()
    delete(project, "ahead")
    assert Signal.objects.filter(kind="versions").count() == 1
    version_marks_update(group_id=project.id, now=START)
    assert not Agent.objects.filter(version_behind=True).exists()


@pytest.mark.django_db(transaction=True)
class TestRaces:
    """Whoever comes first."""

    def test_it_is_deleted_once(self, project: Project) -> None:
        ingest(project)
        ended = at_once(lambda _: outcome(lambda: delete(project)))
        assert sorted(ended) == ["AGENT_NOT_FOUND"] * (THREADS - 1) + ["done"]
        assert Event.objects.filter(event_type="AGENT_DELETED_AUDIT").count() == 1

    def test_a_report_that_is_being_taken_ends_first(self, project: Project) -> None:
        ingest(project, host_report("a"))
        while_it_waits(lambda: delete(project), lambda: ingest(project, host_report("b")))
        assert not Agent.objects.exists()
        assert Host.objects.filter(reported_by=None).count() == 2
