"""The project that an operator works with: chosen, remembered, and applied to lists."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from opsapi.roles import Role
from tests.admin.operators import browser_with, page_of
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host

pytestmark = pytest.mark.django_db

HOSTS = reverse("admin:automation_host_changelist")
HOME = reverse("admin:index")


@pytest.fixture
def other() -> Project:
    made: Project = ProjectFactory.create(name="the other")
    return made


def chosen(browser: Client, url: str) -> str:
    """The name that the switcher of a page shows."""
    page = browser.get(url, follow=True).content.decode()
    found = re.search(r'id="project-open".*?<span class="truncate">(.*?)</span>', page, re.DOTALL)
    assert found
    return found[1]


def test_a_list_shows_the_project_of_its_url_and_the_next_lists_do_too(
    project: Project, other: Project
) -> None:
    browser = browser_with(Role.GLOBAL_OWNER)
    mine, foreign = make_host(project, "mine.example.com"), make_host(other, "foreign.example.com")
    alert = make_alert(other)
    page = browser.get(HOSTS, {"project": project.id}).content.decode()
    assert page_of(mine) in page
    assert page_of(foreign) not in page
    assert f"o=1&amp;project={project.id}" in page or f"project={project.id}&amp;o=1" in page

    alerts = reverse("admin:alerting_alert_changelist")
    answer = browser.get(alerts, {"state": "pending"})
    assert answer.status_code == 302
    assert answer["Location"] == f"{alerts}?state=pending&project={project.id}"
    assert page_of(alert) not in browser.get(alerts, follow=True).content.decode()
    assert chosen(browser, alerts) == project.name
    assert chosen(browser, reverse("admin:events_event_changelist")) == project.name

    assert chosen(browser, f"{HOSTS}?project=") == "All projects"
    page = browser.get(HOSTS).content.decode()
    assert page_of(mine) in page
    assert page_of(foreign) in page


def test_home_shows_the_chosen_project(project: Project, other: Project) -> None:
    browser = browser_with(Role.GLOBAL_OWNER)
    mine, foreign = make_alert(project), make_alert(other)
    page = browser.get(HOME, {"project": project.id}).content.decode()
    assert page_of(mine) in page
    assert page_of(foreign) not in page
    assert f"You see only the project <strong>{project.name}</strong>." in page
    page = browser.get(HOME, {"project": ""}).content.decode()
    assert page_of(foreign) in page
    assert "You see only" not in page


def test_lists_without_projects_are_whole(project: Project) -> None:
    browser = browser_with(Role.GLOBAL_OWNER)
    browser.get(HOSTS, {"project": project.id})
    assert browser.get(reverse("admin:accesslist_user_changelist")).status_code == 200
    assert browser.get(HOSTS, {"group__id__exact": project.id}).status_code == 200


def test_an_invisible_project_is_neither_shown_nor_remembered(project: Project, other: Project) -> None:
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    foreign = make_host(other, "foreign.example.com")
    page = browser.get(HOSTS, {"project": other.id}).content.decode()
    assert page_of(foreign) not in page
    assert other.name not in page
    assert browser.get(HOSTS).status_code == 200
    page = browser.get(HOME, {"project": other.id}).content.decode()
    assert other.name not in page


def test_a_remembered_project_that_is_lost_is_forgotten(project: Project, other: Project) -> None:
    browser = browser_with(Role.GLOBAL_OWNER)
    browser.get(HOSTS, {"project": other.id})
    Project.objects.filter(pk=other.pk).delete()
    assert browser.get(HOSTS).status_code == 200
    assert chosen(browser, HOSTS) == "All projects"


def test_a_refresh_remembers_nothing(project: Project) -> None:
    browser = browser_with(Role.GLOBAL_OWNER)
    browser.get(HOSTS, {"project": project.id}, headers={"X-Console-Refresh": "1"})
    assert browser.get(HOSTS).status_code == 200


def test_the_switcher_finds_visible_projects_and_leads_to_the_list_or_home(
    project: Project, other: Project
) -> None:
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    url = reverse("admin:palette")
    (group,) = browser.get(url, {"q": "", "from": HOSTS}).json()["groups"]
    assert [row["url"] for row in group["results"]] == [f"{HOSTS}?project=", f"{HOSTS}?project={project.id}"]
    (group,) = browser.get(url, {"q": project.name[1:], "from": "//example.com/"}).json()["groups"]
    assert [row["url"] for row in group["results"]] == [f"{HOME}?project=", f"{HOME}?project={project.id}"]
