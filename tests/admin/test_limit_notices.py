"""The notice about projects whose reports are refused because of a limit."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.test import Client

from accesslist.models import Project
from automation.models import ReachedLimit
from automation.reports.limits import SETTINGS
from automation.reports.store import SAID_FOR, reached_limits
from opsapi import clock
from opsapi.api.principal import VisibleScope
from opsapi.roles import Role
from tests.admin.operators import browser_with, page_of
from tests.admin.reading import shown
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.steps import STEPS

OVERVIEW = "/admin/"
pytestmark = pytest.mark.django_db


def notices(browser: Client, url: str = OVERVIEW) -> list[str]:
    """The notices about limits on a page."""
    found = re.findall(r'<p class="console-notice.*?</p>', shown(browser, url), re.DOTALL)
    return [unescape(notice) for notice in found if "OPSAPI_MAX_" in notice]


def exceed(project: Project, *, words: str = "agents", ago: timedelta = timedelta(minutes=5)) -> None:
    refused = clock.now() - ago
    ReachedLimit.objects.create(group=project, words=words, most=20_000, since=refused, refused=refused)


def test_every_page_of_the_project_shows_it_for_a_day(console: Client, project: Project) -> None:
    assert not notices(console)
    exceed(project)
    for url in (OVERVIEW, page_of(project)):
        [notice] = notices(console, url)
        assert f"{project.name} has reached its limit of 20,000 agents" in notice
        assert "OPSAPI_MAX_AGENTS" in notice
    ReachedLimit.objects.update(refused=clock.now() - timedelta(days=1))
    assert not notices(console)


@each("step", STEPS, ids=str)
def test_a_refusal_at_a_wrong_time_is_a_notice_for_no_longer(project: Project, step: timedelta) -> None:
    exceed(project, ago=-step)
    sees_all, now = VisibleScope(everything=True), clock.now()
    assert bool(reached_limits(sees_all, None, now)) is (-SAID_FOR < step <= clock.AHEAD)
    assert not reached_limits(sees_all, None, now + max(step, -step) + SAID_FOR)


def test_nobody_learns_of_a_project_that_they_cannot_read(project: Project) -> None:
    other: Project = ProjectFactory.create(name="theirs")
    exceed(other)
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert not notices(reader)
    exceed(project)
    assert len(notices(reader)) == 1


@pytest.mark.parametrize("words", [*SETTINGS, "words of an earlier version"])
def test_it_names_the_setting_of_each_limit(console: Client, project: Project, words: str) -> None:
    exceed(project, words=words)
    page = unescape(shown(console, OVERVIEW))
    assert f"{project.name} has reached its limit of 20,000 {words}." in page
    assert re.findall("The setting is (OPSAPI_[A-Z_]+)", page) == [*filter(None, [SETTINGS.get(words)])]
