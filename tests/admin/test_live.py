"""Pages that refresh themselves, as the server answers them."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from alerting.incidents.choices import AlertStatus
from opsapi import clock
from opsapi.console.widgets import MOST_NEEDING
from opsapi.roles import Role
from tests.admin.alert_pages import make_window
from tests.admin.operators import action_url, browser_with
from tests.admin.writing import confirm
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.django_db

ALERTS = reverse("admin:alerting_alert_changelist")
MESSAGE = "Acknowledged until"
REFRESH = {"X-Console-Refresh": "1"}


def needs(browser: Client) -> str:
    """The number in the title of the list of alerts."""
    page = browser.get(ALERTS).content.decode()
    title = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    assert title
    number = re.match(r"\s*\((.*?)\)", title[1])
    return number[1] if number else ""


def test_the_title_counts_open_alerts_that_nobody_acknowledged_and_no_window_mutes(project: Project) -> None:
    browser = browser_with(Role.GLOBAL_OWNER)
    assert needs(browser) == ""
    make_alert(project, facts={"hostname": "a.example.com", "port": 1})
    make_alert(project, facts={"hostname": "b.example.com", "port": 1}, status=AlertStatus.TRACKING.value)
    make_alert(project, facts={"hostname": "c.example.com", "port": 1}, status=AlertStatus.CLOSED.value)
    make_alert(
        project,
        facts={"hostname": "d.example.com", "port": 1},
        acknowledged_until=clock.now() + timedelta(hours=1),
    )
    assert needs(browser) == "1"
    make_window(project)
    assert needs(browser) == ""


def test_the_title_counts_only_visible_alerts(project: Project) -> None:
    other: Project = ProjectFactory.create()
    make_alert(other)
    assert needs(browser_with(Role.GROUP_READ_ONLY, project=project)) == ""
    assert needs(browser_with(Role.GROUP_READ_ONLY, project=other)) == "1"


def test_large_numbers_are_cut(project: Project) -> None:
    for number in range(MOST_NEEDING + 1):
        make_alert(project, facts={"hostname": f"db{number}.example.com", "port": 1})
    assert needs(browser_with(Role.GLOBAL_OWNER)) == f"{MOST_NEEDING}+"


def test_a_refresh_does_not_take_the_message_of_another_page(project: Project) -> None:
    alert = make_alert(project)
    browser = browser_with(Role.GLOBAL_OWNER)
    assert confirm(browser, action_url(alert, "acknowledge"), until="1h").status_code == 302
    refreshed = browser.get(ALERTS, headers=REFRESH).content.decode()
    then = browser.get(ALERTS).content.decode()
    assert MESSAGE not in refreshed
    assert MESSAGE in then
