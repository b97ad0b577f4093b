"""Reports that race: every host is added once, and counted once."""

from datetime import timedelta

import pytest

from accesslist.models import Project
from automation.models import Agent, Host, Reading, ReplicaSet
from events.models import Event, Signal
from opsapi import clock
from tests.api import bodies
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import sweep
from tests.racing import THREADS, at_once

pytestmark = pytest.mark.django_db(transaction=True)


def counted(event_type: str) -> int:
    """How many such events there are."""
    return Event.objects.filter(event_type=event_type).count()


def test_reports_that_race_add_a_host_once(agent: ApiClient, project: Project) -> None:
    def send(number: int) -> int:
        # Each report names the hosts in another order, so locks in the order of the report would cross.
        ports = [27017 + (number + place) % 4 for place in range(4)]
        hosts = [
            bodies.host(port=port, measurements=[{"metricName": "CONNECTIONS", "number": number}])
            for port in ports
        ]
        status: int = agent.report(project.id, bodies.report(*hosts)).status_code
        return status

    assert at_once(send) == [202] * THREADS
    project.refresh_from_db()
    assert (Host.objects.count(), project.host_count, counted("NEW_HOST")) == (4, 4, 4)
    assert (Agent.objects.count(), counted("NEW_AGENT")) == (1, 1)
    assert Reading.objects.count() == 4 * THREADS


def test_reports_that_race_find_a_host_down_once(agent: ApiClient, project: Project) -> None:
    agent.report(project.id, bodies.report(bodies.host()))
    down = bodies.report(bodies.host(reachable=False))
    answers = at_once(lambda _: agent.report(project.id, down).status_code)
    assert answers == [202] * THREADS
    assert counted("HOST_DOWN") == 1


@pytest.mark.slow
def test_reports_of_different_members_that_race_leave_the_set_as_it_is(
    agent: ApiClient, project: Project
) -> None:
    """Whatever their order: the last one to count has seen what the others said."""
    members = [
        bodies.host(port=27017 + number, typeName="REPLICA_SECONDARY", replicaSetName="rs0")
        for number in range(THREADS)
    ]

    def send(number: int) -> int:
        said = dict(members[number], typeName="REPLICA_PRIMARY" if number < 2 else "REPLICA_SECONDARY")
        status: int = agent.report(project.id, bodies.report(said, hostname=f"agent{number}")).status_code
        return status

    # At first none of them is known, then all of them are.
    for _ in range(2):
        assert at_once(send) == [202] * THREADS
        (replica_set,) = ReplicaSet.objects.all()
        assert (replica_set.primaries, replica_set.healthy, replica_set.unhealthy) == (2, THREADS, 0)
        said = Signal.objects.filter(kind="hosts").latest("id").payload["replicaSets"]
        assert [(state["primaries"], state["healthy"]) for state in said] == [(2, THREADS)]
    gone = [dict(member, reachable=False) for member in members]
    alone = [bodies.report(host, hostname=f"agent{number}") for number, host in enumerate(gone)]
    assert at_once(lambda number: agent.report(project.id, alone[number]).status_code) == [202] * THREADS
    replica_set.refresh_from_db()
    assert (replica_set.primaries, replica_set.healthy, replica_set.unhealthy) == (0, 0, THREADS)
    assert counted("MULTIPLE_PRIMARIES") == 1


def test_a_report_that_races_with_the_search_for_heartbeat_timeouts_wins(
    agent: ApiClient, project: Project
) -> None:
    """Whichever is first: in the end the host that was reported is up, and so is its agent."""
    agent.report(project.id, bodies.report(bodies.host()))
    long_ago = clock.now() - timedelta(minutes=9)
    Host.objects.update(last_report=long_ago)
    Agent.objects.update(last_report=long_ago)

    def call(number: int) -> int:
        if number % 2:
            sweep(clock.now())
            return 202
        status: int = agent.report(project.id, bodies.report(bodies.host())).status_code
        return status

    assert at_once(call) == [202] * THREADS
    assert not Host.objects.filter(down=True).exists()
    assert not Agent.objects.filter(down=True).exists()
    assert counted("MONITORING_AGENT_DOWN") == counted("MONITORING_AGENT_UP") <= 1
    assert counted("HOST_DOWN") == 0


def test_projects_that_race_for_a_name_leave_no_organization_behind(owner: ApiClient) -> None:
    before = ProjectFactory.create().org
    statuses = at_once(lambda _: owner.post("/groups", bodies.group()).status_code)
    assert sorted(statuses) == [201] + [409] * (THREADS - 1)
    assert type(before).objects.count() == 2
