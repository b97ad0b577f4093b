"""The timeline of alerts: bars by set or host, muted times, and what is left out."""

import re
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from time_machine import Traveller

from accesslist.models import Project, User
from alerting.models import Alert
from alerting.overview import alert_spans
from automation.models import Host, ReplicaSet
from opsapi import clock
from opsapi.roles import Role
from tests.admin.alert_pages import alert_page, make_window
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host

pytestmark = pytest.mark.django_db

TIMELINE = "/admin/alert-timeline/"
HOUR = timedelta(hours=1)


def about(host: Host, **changes: Any) -> Alert:
    """An alert about a host."""
    facts = {"hostId": host.id, "hostname": host.hostname, "port": host.port}
    return make_alert(host.group, facts=facts, **changes)


def ended(host: Host, began: datetime, length: timedelta) -> Alert:
    return about(host, created=began, opens=began, resolved=began + length, status="CLOSED")


def bars(page: str) -> list[str]:
    """The pages that the bars lead to."""
    return re.findall(r'<a href="([^"]*)" aria-label="[^"]*"><rect class="gantt-bar', page)


def groups(page: str) -> list[str]:
    return re.findall(r'role="group" aria-label="Alerts of ([^"]*)"', page)


def lanes(page: str) -> set[str]:
    return set(re.findall(r'class="gantt-bar[^>]* y="([^"]*)"', page))


def test_alerts_of_a_set_are_together_and_lead_to_their_pages(console: Client, project: Project) -> None:
    members = ReplicaSet.objects.create(group=project, name="rs0", created=clock.now())
    in_set = {"replica_set": members, "replica_set_name": "rs0"}
    alerts = [about(make_host(project, name, **in_set)) for name in ("db1", "db2")]
    alone = about(make_host(project, "db9"))
    page = shown(console, TIMELINE)
    assert sorted(groups(page)) == ["db9:27017", "rs0"]
    assert sorted(bars(page)) == sorted(alert_page(alert) for alert in [*alerts, alone])


def test_it_shows_alerts_that_were_open_in_the_time_range(console: Client, project: Project) -> None:
    host, now = make_host(project), clock.now()
    today = ended(host, now - 2 * HOUR, HOUR)
    before = ended(host, now - 90 * HOUR, HOUR)
    since_long = about(host, created=now - 900 * HOUR)
    about(host, status="TRACKING")
    about(host, status="CANCELLED", resolved=now, opens=now + HOUR)
    assert set(bars(shown(console, TIMELINE))) == {alert_page(today), alert_page(since_long)}
    week = bars(shown(console, f"{TIMELINE}?range=7d"))
    assert set(week) == {alert_page(alert) for alert in (today, before, since_long)}


def test_alerts_at_the_same_time_have_lanes_of_their_own(console: Client, project: Project) -> None:
    host, now = make_host(project), clock.now()
    for hours in (3, 6):
        ended(host, now - hours * HOUR, 2 * HOUR)
    assert lanes(shown(console, TIMELINE)) == {"3"}
    ended(host, now - 4 * HOUR, 3 * HOUR)
    assert lanes(shown(console, TIMELINE)) == {"3", "25"}


def test_muted_times_are_hatched(console: Client, project: Project) -> None:
    about(make_host(project))
    assert "url(#gantt-hatch)" not in shown(console, TIMELINE)
    make_window(project, description="new disks")
    assert 'fill="url(#gantt-hatch)"><title>muted by new disks' in shown(console, TIMELINE)


def test_it_says_what_is_left_out(console: Client, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("db1", "db2"):
        about(make_host(project, name))
    assert "are shown." not in shown(console, TIMELINE)
    monkeypatch.setattr(alert_spans, "MOST_ALERTS", 1)
    page = shown(console, TIMELINE)
    assert "Only the newest 1 open and the newest 1 ended alerts are shown." in page
    assert len(bars(page)) == 1


def test_alerts_of_other_projects_are_not_shown(project: Project) -> None:
    about(make_host(ProjectFactory.create(), "theirs"))
    mine = about(make_host(project, "mine"))
    page = shown(browser_with(Role.GROUP_READ_ONLY, project=project), TIMELINE)
    assert bars(page) == [alert_page(mine)]
    assert "theirs" not in page


def test_the_chosen_project_decides(console: Client, project: Project) -> None:
    about(make_host(ProjectFactory.create(), "theirs"))
    mine = about(make_host(project, "mine"))
    assert bars(shown(console, f"{TIMELINE}?project={project.id}")) == [alert_page(mine)]


def test_without_alerts_it_says_so(console: Client) -> None:
    assert "No alert was open in this time." in shown(console, TIMELINE)


def test_the_number_of_statements_does_not_depend_on_the_number_of_alerts(
    console: Client, project: Project
) -> None:
    make_window(project)
    about(make_host(project, "db0"))
    console.get(TIMELINE)
    numbers = []
    for more in (1, 12):
        for number in range(more):
            about(make_host(project, f"db{more}x{number}"))
        with CaptureQueriesContext(connection) as statements:
            console.get(TIMELINE)
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]


def test_the_axis_is_in_the_zone_of_the_operator(
    noon: Traveller, console: Client, project: Project, operator: User
) -> None:
    about(make_host(project))
    User.objects.filter(id=operator.id).update(time_zone="Asia/Kolkata")
    page = console.get(TIMELINE)
    assert "<span>Asia/Kolkata</span>" in page.content.decode()
    since = page.context["since"]
    assert len(page.context["ticks"]) == 8
    for place, words in page.context["ticks"]:
        moment = (since + timedelta(days=place / 100)).astimezone(ZoneInfo("Asia/Kolkata"))
        assert f"{moment + timedelta(seconds=30):%H:%M}" == words
