"""What an agent's report leaves behind."""

from datetime import timedelta

import pytest

from accesslist.models import Project
from automation.choices import AgentType
from automation.models import Agent
from automation.reports import Report
from automation.services.ingest import report_ingest
from events.models import Event
from opsapi import clock
from tests.factories.automation import AGENT

pytestmark = pytest.mark.django_db


def agent_report(*, version: str, hostname: str = "agent1") -> Report:
    """A report that says nothing but who reports."""
    return Report(agent_type=AgentType.MONITORING, hostname=hostname, version=version, hosts=(), events=())


@pytest.mark.parametrize("hostname", ["agent1", "AGENT1"])
def test_a_second_report_updates_the_agents_version_and_moves_its_heartbeat(
    project: Project, hostname: str
) -> None:
    first = clock.now()
    second = first + timedelta(minutes=1)
    report_ingest(group_id=project.id, report=agent_report(version="1.0"), actor=AGENT, now=first)
    again = agent_report(version="1.1", hostname=hostname)
    report_ingest(group_id=project.id, report=again, actor=AGENT, now=second)
    agent = Agent.objects.get()
    assert (agent.version, agent.last_report, agent.created) == ("1.1", second, first)
    assert Event.objects.filter(event_type="NEW_AGENT").count() == 1
