"""An older automation configuration is published again, once it was seen what that does."""

import pytest
from django.test import Client

from accesslist.models import Project, User
from automation.models import AutomationRevision
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import action_url, operator_with, page_of
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.automation import publish
from tests.factories.documents import build, process, version

pytestmark = pytest.mark.django_db

PUBLISHED = EventType.AUTOMATION_CONFIG_PUBLISHED_AUDIT


@pytest.fixture
def first(project: Project) -> AutomationRevision:
    """The first of two revisions, which differ in a process."""
    found = publish(project, 0, auth={"key": "a secret"})
    publish(project, 1, processes=[process(), process(name="db_2", hostname="db2.example.com")])
    return found


def numbers(project: Project) -> list[int]:
    """The revisions there are."""
    return list(
        AutomationRevision.objects.filter(group=project).order_by("number").values_list("number", flat=True)
    )


def test_what_it_would_do_is_shown_and_nothing_done(
    console: Client, operator: User, first: AutomationRevision, project: Project
) -> None:
    with leaves_events(operator):
        answer = console.get(action_url(first, "restore"))
    page = answer.content.decode()
    assert "<strong>db_2</strong> is no longer managed" in page
    assert answer.context["form"]["version"].value() == 2
    assert "a secret" not in page
    assert numbers(project) == [1, 2]


def test_it_is_published_as_the_next_version(
    console: Client, operator: User, first: AutomationRevision, project: Project
) -> None:
    with leaves_events(operator, PUBLISHED):
        answer = confirm(console, action_url(first, "restore"), version="2")
    made = AutomationRevision.objects.get(group=project, number=3)
    assert (made.restored_from, made.actor_name) == (1, operator.username)
    assert answer["Location"] == page_of(made)


def test_upon_another_version_than_was_shown_nothing_is_done(
    console: Client, operator: User, first: AutomationRevision, project: Project
) -> None:
    publish(project, 2, processes=[])
    with leaves_events(operator):
        answer = confirm(console, action_url(first, "restore"), version="2")
    page = answer.content.decode()
    assert "is at version 3, not 2" in page
    assert "<strong>db_1</strong>" in page
    assert 'name="version" value="3"' in page
    assert numbers(project) == [1, 2, 3]


@each("sent", ["", "x", "-1", "99999999999999999999"])
def test_a_page_that_was_tampered_with_does_nothing(
    sent: str, console: Client, first: AutomationRevision, project: Project
) -> None:
    assert confirm(console, action_url(first, "restore"), version=sent).status_code == 200
    assert numbers(project) == [1, 2]


def test_what_is_so_already_is_not_published(console: Client, operator: User, project: Project) -> None:
    only = publish(project, 0)
    assert "nothing would be published" in console.get(action_url(only, "restore")).content.decode()
    assert action_url(only, "restore") not in console.get(page_of(only)).content.decode()
    with leaves_events(operator):
        confirm(console, action_url(only, "restore"), version="1")
    assert numbers(project) == [1]


def test_what_would_be_refused_is_reported_before(console: Client, operator: User, project: Project) -> None:
    first = publish(project, 0)
    publish(project, 1, databaseVersions=[version(builds=[build(), build(platform="osx", bits=64)])])
    AutomationRevision.objects.filter(group=project).update(created=first.created)
    publish(project, 2, databaseVersions=[version(builds=[build(bits=64)])])
    page = console.get(action_url(first, "restore")).content.decode()
    assert "This version cannot be published" in page
    with leaves_events(operator):
        assert confirm(console, action_url(first, "restore"), version="3").status_code == 200
    assert numbers(project) == [1, 2, 3]


@each(("role", "may"), [(Role.GROUP_AUTOMATION_ADMIN, True), (Role.GROUP_MONITORING_ADMIN, False)])
def test_who_restores(role: Role, may: bool, first: AutomationRevision, project: Project) -> None:
    user, browser = operator_with(role, project=project)
    with leaves_events(user, *([PUBLISHED] if may else []), as_owner=False):
        answer = confirm(browser, action_url(first, "restore"), version="2")
    assert answer.status_code == (302 if may else 403)
    assert numbers(project) == ([1, 2, 3] if may else [1, 2])
