"""Rows that are equal in what a list is ordered by have an order too, whatever the order of the table."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.models import Notification
from alerting.overview.store import notifications_failing
from automation.agents.store import first_report
from automation.models import Agent, ReachedLimit
from automation.reports.store import reached_limits
from opsapi.api.principal import VisibleScope
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_failed_notification
from tests.factories.automation import make_agent

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
EVERYTHING = VisibleScope(everything=True)
NUMBERS = (2, 4, 1, 3)
"""The order in which the rows are written."""


def test_of_notifications_that_fail_at_the_same_time_the_last_created_is_first(project: Project) -> None:
    for number in NUMBERS:
        made = make_failed_notification(project)
        Notification.objects.filter(id=made.id).update(due=NOW, sequence=number)
    shown = notifications_failing(visible_scope=EVERYTHING, now=NOW).rows
    assert [row.sequence for row in shown] == [4, 3, 2, 1]


def test_agents_that_arrive_in_the_same_report_are_in_the_order_of_their_ids(project: Project) -> None:
    ids = [
        make_agent(project, f"agent{number}", id=f"{number:024x}", created=NOW, last_report=NOW).id
        for number in NUMBERS
    ]
    arrived = first_report(project.id, NOW - timedelta(minutes=1)).arrived
    assert [agent.id for agent in arrived] == sorted(ids)


def test_agents_of_one_hostname_are_in_the_order_of_their_types(project: Project) -> None:
    for agent_type in ("BACKUP", "MONITORING", "AUTOMATION"):
        make_agent(project, agent_type=agent_type, created=NOW - timedelta(days=1), last_report=NOW)
    others = first_report(project.id, NOW - timedelta(minutes=1)).others
    assert [agent.agent_type for agent in others] == ["AUTOMATION", "BACKUP", "MONITORING"]
    assert Agent.objects.count() == len(others)


def test_limits_that_refuse_the_same_report_are_in_the_order_in_which_they_were_first_reached() -> None:
    for number in NUMBERS:
        project: Project = ProjectFactory.create()
        ReachedLimit.objects.create(
            id=number, group=project, words="agents", most=number, since=NOW, refused=NOW
        )
    assert [row.id for row in reached_limits(EVERYTHING, None, NOW)] == [1, 2, 3, 4]
