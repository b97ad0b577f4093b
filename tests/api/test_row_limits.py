"""How many rows of each kind the reports of a project can create, and how a reached limit is said."""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest
import time_machine
from django.db.models import Model
from pytest_django import Settings

from accesslist.models import Project
from automation.models import (
    Agent,
    Cluster,
    Database,
    Host,
    PlanTurn,
    ProcessStatus,
    ReachedLimit,
    ReplicaSet,
    StoredDay,
    Watcher,
)
from automation.reports import growth
from automation.reports.limits import NOTED_EVERY
from automation.reports.store import SAID_FOR
from events.facts import EventFacts
from events.log.changes import NewEvent
from events.models import Event
from events.types import EventType
from opsapi import clock
from opsapi.api.errors import ApiError
from opsapi.roles import Grant, Role
from tests.api.automation import published
from tests.api.bodies import host, report
from tests.api.turns import ask, asked, replica_set
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.documents import document
from tests.steps import STEPS

# In the future: nonces from before the start of the tests are refused.
NOW = datetime(2099, 11, 23, 12, 0, 0, tzinfo=UTC)
pytestmark = pytest.mark.django_db


def agents(number: int) -> dict[str, Any]:
    return report(hostname=f"agent{number}.example.com")


def clusters(number: int) -> dict[str, Any]:
    return report(host(clusterName=f"cluster {number}"))


def replica_sets(number: int) -> dict[str, Any]:
    return report(host(replicaSetName=f"rs{number}", typeName="REPLICA_SECONDARY"))


def databases(number: int) -> dict[str, Any]:
    return report(host(port=number + 1, databases=[{"databaseName": "orders"}]))


def processes(number: int) -> dict[str, Any]:
    state = {"name": f"orders_{number}", "hostname": "db1.example.com", "lastGoalVersionAchieved": 1}
    return report(agentType="AUTOMATION", processes=[state])


def sharing_agents(number: int) -> dict[str, Any]:
    return report(leases={"instance": f"{number}", "intervalSeconds": 60, "hosts": []})


Row = tuple[str, str, Any, type[Model]]
LIMITS: Sequence[Row] = [
    ("agents", "OPSAPI_MAX_AGENTS", agents, Agent),
    ("clusters", "OPSAPI_MAX_CLUSTERS", clusters, Cluster),
    ("replica sets", "OPSAPI_MAX_REPLICA_SETS", replica_sets, ReplicaSet),
    ("databases", "OPSAPI_MAX_DATABASES", databases, Database),
    ("process states", "OPSAPI_MAX_PROCESSES", processes, ProcessStatus),
    ("agents that share hosts", "OPSAPI_MAX_SHARING_AGENTS", sharing_agents, Watcher),
]


def refused(answer: Any) -> tuple[int, str, list[str]]:
    """Status, code and parameters of a refusal."""
    shown = answer.json()
    return answer.status_code, shown["errorCode"], shown["parameters"]


@each("row", LIMITS, ids=lambda row: row[0])
def test_a_report_that_adds_more_is_refused_whole(
    row: Row, agent: ApiClient, project: Project, settings: Settings
) -> None:
    words, setting, sent, model = row
    setattr(settings, setting, 2)
    for number in (0, 1, 0):
        assert agent.report(project.id, sent(number)).status_code == 202
    events, hosts = Event.objects.count(), Host.objects.count()
    answer = agent.report(project.id, sent(2))
    assert refused(answer) == (400, "LIMIT_REACHED", [words, "2"])
    assert setting in answer.json()["detail"]
    assert (model._default_manager.count(), Host.objects.count()) == (2, hosts)
    assert Event.objects.count() == events + 1, "only the event of the limit"


@each("row", LIMITS, ids=lambda row: row[0])
def test_rows_that_are_there_go_on_being_reported(
    row: Row, agent: ApiClient, project: Project, settings: Settings
) -> None:
    _, setting, sent, _ = row
    for number in (0, 1):
        agent.report(project.id, sent(number))
    setattr(settings, setting, 1)
    assert [agent.report(project.id, sent(number)).status_code for number in (0, 1, 2)] == [202, 202, 400]


@each("row", LIMITS, ids=lambda row: row[0])
def test_the_limit_is_of_one_project(
    row: Row, agent: ApiClient, project: Project, settings: Settings
) -> None:
    _, setting, sent, _ = row
    setattr(settings, setting, 1)
    agent.report(project.id, sent(0))
    other = ProjectFactory.create()
    client = ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=other.id)))
    assert client.report(other.id, sent(0)).status_code == 202
    assert agent.report(project.id, sent(1)).status_code == 400


class TestSaying:
    """A reached limit is an event once."""

    @pytest.fixture(autouse=True)
    def _one_agent(self, agent: ApiClient, project: Project, settings: Settings) -> Any:
        settings.OPSAPI_MAX_AGENTS = 1
        self.agent, self.project = agent, project
        with time_machine.travel(NOW, tick=False) as self.clock:
            agent.report(project.id, agents(0))
            yield

    def refuse(self) -> None:
        assert refused(self.agent.report(self.project.id, agents(1)))[1] == "LIMIT_REACHED"

    def events(self) -> list[Event]:
        kind = EventType.GROUP_LIMIT_REACHED_AUDIT.value
        return list(Event.objects.filter(event_type=kind).order_by("created"))

    def test_it_is_an_event_of_the_project_once(self) -> None:
        self.refuse()
        for _ in range(3):
            self.clock.shift(timedelta(hours=20))
            self.refuse()
        [event] = self.events()
        assert event.group_id == self.project.id
        [change] = event.diffs[0]["params"]
        assert (change["param"], change["new"]) == ("OPSAPI_MAX_AGENTS", "1 agents")

    def test_it_is_another_event_after_a_day_without_refusals(self) -> None:
        self.refuse()
        self.clock.shift(timedelta(days=1, seconds=1))
        self.refuse()
        assert len(self.events()) == 2

    def test_each_limit_is_an_event(self, settings: Settings) -> None:
        settings.OPSAPI_MAX_HOSTS = 1
        self.refuse()
        self.agent.report(self.project.id, report(host(), host(port=1), hostname="agent0.example.com"))
        assert len(self.events()) == 2

    @each("step", STEPS, ids=str)
    def test_a_refusal_of_a_clock_that_was_ahead_does_not_count(self, step: timedelta) -> None:
        then = NOW + step
        ReachedLimit.objects.create(group=self.project, words="agents", most=1, since=then, refused=then)
        self.refuse()
        assert bool(self.events()) is (not -SAID_FOR <= step <= clock.AHEAD)
        assert ReachedLimit.objects.get().refused == (then if abs(step) == NOTED_EVERY else NOW)


class TestBytesOfADay:
    """OPSAPI_MAX_DAILY_MB: what the reports of a project store from midnight to midnight UTC."""

    LIMITED = (400, "LIMIT_REACHED", [growth.WORDS, "1"])

    @pytest.fixture(autouse=True)
    def _a_megabyte(self, agent: ApiClient, project: Project, settings: Settings) -> Any:
        settings.OPSAPI_MAX_DAILY_MB = 1
        self.agent, self.project = agent, project
        with time_machine.travel(NOW, tick=False) as self.clock:
            agent.report(project.id, report())
            yield

    def stored(self) -> dict[str, int]:
        return {f"{row.day}": row.octets for row in StoredDay.objects.filter(group=self.project)}

    def send(self, events: int = 0) -> Any:
        sent = [{"eventTypeName": "HOST_ROLLBACK", "hostname": "db1", "port": 1}] * events
        return self.agent.report(self.project.id, report(events=sent))

    def test_reports_are_refused_until_the_next_day(self) -> None:
        assert self.send(900).status_code == 202
        events = Event.objects.count()
        for _ in range(2):
            assert refused(self.send()) == self.LIMITED
        assert Event.objects.count() == events + 1, "only the event of the limit"
        self.clock.move_to(NOW.replace(hour=23, minute=59, second=59))
        assert refused(self.send()) == self.LIMITED
        self.clock.shift(timedelta(seconds=1))
        assert self.send().status_code == 202

    def test_what_other_processes_stored_counts(self) -> None:
        StoredDay.objects.update(octets=1_000_000)
        assert self.send().status_code == 202
        self.clock.shift(growth.WRITE_EVERY)
        assert refused(self.send()) == self.LIMITED

    def test_events_and_measurements_count(self) -> None:
        before = self.stored()["2099-11-23"]
        sample = {"metricName": "CONNECTIONS", "number": 1}
        sent = report(host(measurements=[sample]), events=[])
        assert self.agent.report(self.project.id, sent).status_code == 202
        self.clock.shift(growth.WRITE_EVERY)
        self.send()
        # The new host is an event, and so was the new agent, which is written only now.
        assert self.stored()["2099-11-23"] - before == 2 * growth.EVENT_OCTETS + 112 + 8

    def test_an_event_with_long_names_counts_by_its_bytes(self) -> None:
        names = {"database": "d" * 2_000, "collection": "c" * 2_000}
        long = NewEvent(event_type=EventType.HOST_ROLLBACK, facts=EventFacts.of_document(names))
        short = NewEvent(event_type=EventType.HOST_ROLLBACK)
        assert growth.events_octets([short]) == growth.EVENT_OCTETS
        assert growth.events_octets([short, long]) > growth.EVENT_OCTETS + 4_000

    def test_the_answer_to_a_report_with_a_key_counts(self) -> None:
        before = self.stored()["2099-11-23"]
        for _ in range(2):
            self.agent.report(self.project.id, report(events=[]), headers={"Idempotency-Key": "first"})
        self.clock.shift(growth.WRITE_EVERY)
        self.send()
        assert self.stored()["2099-11-23"] - before == growth.EVENT_OCTETS + growth.ANSWER_OCTETS

    def test_publications_count_and_are_refused(self) -> None:
        client = ApiClient(make_key(Grant(Role.GROUP_AUTOMATION_ADMIN, group_id=self.project.id)))
        path = f"/groups/{self.project.id}/automationConfig"
        before = self.stored()["2099-11-23"]
        options = {"downloadBase": "/" + "d" * 2_000}
        number = published(client, path, document(version=0, options=options))["version"]
        self.clock.shift(growth.WRITE_EVERY)
        other = document(version=number, options={"downloadBase": "/d"})
        assert client.put(f"{path}?dryRun=true", other).status_code == 200
        self.send()
        assert self.stored()["2099-11-23"] - before > 2_000 + growth.EVENT_OCTETS
        assert self.send(900).status_code == 202
        assert refused(client.put(path, other)) == self.LIMITED
        assert refused(client.post(f"{path}/revisions/1/restore", {})) == self.LIMITED
        assert client.get(path).json()["version"] == number
        assert client.put(f"{path}?dryRun=true", other).status_code == 200

    def test_turns_count_and_are_refused(self) -> None:
        client = ApiClient(make_key(Grant(Role.GROUP_AUTOMATION_ADMIN, group_id=self.project.id)))
        published(client, f"/groups/{self.project.id}/automationConfig", replica_set())
        self.clock.shift(growth.WRITE_EVERY)
        self.send()
        before = self.stored()["2099-11-23"]
        failed = partial(asked, 1, "DOWNLOAD", reason="r" * 1_000)
        assert ask(self.agent, self.project, failed("first")).status_code == 201
        self.clock.shift(growth.WRITE_EVERY)
        self.send()
        assert self.stored()["2099-11-23"] - before == 2 * growth.EVENT_OCTETS + 1_000
        assert self.send(900).status_code == 202
        # The plan has stopped already. A first failure is accepted, because the plan must stop.
        assert refused(ask(self.agent, self.project, failed("second"))) == self.LIMITED
        assert PlanTurn.objects.count() == 1
        PlanTurn.objects.all().delete()
        assert ask(self.agent, self.project, failed("third")).status_code == 201
        assert ask(self.agent, self.project, failed("third")).status_code == 201, "a repeated request"

    def test_each_day_is_counted_on_its_own(self) -> None:
        self.clock.move_to(NOW + timedelta(days=1))
        self.send()
        assert self.stored() == {"2099-11-23": growth.EVENT_OCTETS, "2099-11-24": 0}

    @each("step", STEPS, ids=str)
    def test_what_is_stored_at_a_wrong_time_counts_in_the_day_of_that_time(self, step: timedelta) -> None:
        group_id = ProjectFactory.create().id
        growth.day_limited(group_id=group_id, now=NOW + step)
        growth.day_counted(group_id=group_id, octets=1_000_000, now=NOW + step)
        with pytest.raises(ApiError):
            growth.day_limited(group_id=group_id, now=NOW + step)
        is_same = (NOW + step).date() == NOW.date()
        with pytest.raises(ApiError) if is_same else nullcontext():
            growth.day_limited(group_id=group_id, now=NOW)
        growth.day_limited(group_id=group_id, now=NOW + timedelta(days=2))
        assert StoredDay.objects.get(octets=1_000_000).day == (NOW + step).date()

    def test_a_project_does_not_count_for_another(self) -> None:
        self.send(900)
        other = ProjectFactory.create()
        client = ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=other.id)))
        assert client.report(other.id, report()).status_code == 202
        assert refused(self.send()) == self.LIMITED
