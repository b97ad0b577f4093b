"""Alerts about agents that are deleted: nothing else would end them."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.models import Notification
from automation.agents.changes import agent_delete
from automation.choices import AgentType
from integrations.choices import MessageKind
from opsapi.api.principal import SYSTEM
from tests.factories.alerting import make_config
from tests.factories.automation import ingest, sweep
from tests.integration.alerting.pipeline import evaluate, statuses

pytestmark = pytest.mark.django_db
START = datetime(2025, 1, 1, tzinfo=UTC)
LATER = START + timedelta(minutes=4)


def delete(project: Project, agent_type: AgentType = AgentType.MONITORING) -> None:
    """Delete agent1 of that type."""
    agent_delete(group_id=project.id, agent_type=agent_type, hostname="AGENT1", actor=SYSTEM, now=LATER)


def test_they_are_cancelled_and_alerts_about_others_stay(project: Project) -> None:
    monitoring, backup = (
        make_config(project, eventTypeName=f"{kind.value}_AGENT_DOWN")
        for kind in (AgentType.MONITORING, AgentType.BACKUP)
    )
    behind = make_config(project, eventTypeName="MONITORING_AGENT_VERSION_BEHIND")
    for agent in ("agent1", "agent2"):
        ingest(project, agent=agent, version=agent.replace("agent", "1."), now=START)
    ingest(project, agent_type=AgentType.BACKUP, now=START)
    evaluate(START)
    sweep(LATER)
    evaluate(LATER)
    assert (statuses(monitoring), statuses(backup), statuses(behind)) == (["OPEN"] * 2, ["OPEN"], ["OPEN"])
    delete(project)
    assert sorted(statuses(monitoring)) == ["CANCELLED", "OPEN"]
    assert (statuses(backup), statuses(behind)) == (["OPEN"], ["CANCELLED"])


def test_what_still_waits_to_be_evaluated_begins_none(project: Project) -> None:
    config = make_config(project, eventTypeName="MONITORING_AGENT_DOWN")
    evaluate(START)
    ingest(project, now=START)
    sweep(LATER)
    delete(project)
    evaluate(LATER)
    assert statuses(config) == []


def test_one_shot_notifications_are_sent_all_the_same(project: Project) -> None:
    make_config(project, eventTypeName="NEW_AGENT")
    evaluate(START)
    ingest(project, now=START)
    delete(project)
    evaluate(LATER)
    assert Notification.objects.filter(kind=MessageKind.INFORM.value).count() == 1
