"""Reports that race: every host is added once, and counted once (decisions 8 "agent report")."""

import pytest

from accesslist.models import Project
from automation.models import Agent, Host, Measurement
from events.models import Event
from tests.api import bodies
from tests.api.racing import THREADS, at_once
from tests.client import ApiClient
from tests.factories.accesslist import ProjectFactory

pytestmark = pytest.mark.django_db(transaction=True)


def counted(event_type: str) -> int:
    """How many such events there are."""
    return Event.objects.filter(event_type=event_type).count()


def test_reports_that_race_add_a_host_once(agent: ApiClient, project: Project) -> None:
    def send(number: int) -> int:
        # Each names the hosts in an order of its own, so that locks taken in that order would cross.
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
    assert Measurement.objects.count() == 4 * THREADS


def test_reports_that_race_find_a_host_down_once(agent: ApiClient, project: Project) -> None:
    agent.report(project.id, bodies.report(bodies.host()))
    down = bodies.report(bodies.host(reachable=False))
    answers = at_once(lambda _: agent.report(project.id, down).status_code)
    assert answers == [202] * THREADS
    assert counted("HOST_DOWN") == 1


def test_projects_that_race_for_a_name_leave_no_organization_behind(owner: ApiClient) -> None:
    before = ProjectFactory.create().org
    statuses = at_once(lambda _: owner.post("/groups", bodies.group()).status_code)
    assert sorted(statuses) == [201] + [409] * (THREADS - 1)
    assert type(before).objects.count() == 2
