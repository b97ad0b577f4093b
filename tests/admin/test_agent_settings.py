"""The settings that a project keeps for its agents, in the console."""

from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from automation.agent_settings.store import NO_VERSION, opened_settings
from automation.models import Agent, AgentSettings
from events.types import EventType
from opsapi.console.admin_urls import creation_url, list_url
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.writing import confirm, leaves_events
from tests.api.bodies import SECRET
from tests.factories.accesslist import ProjectFactory

PAGE = creation_url(Agent, "settings")
MONGODB = [f"mongodb://ada:{SECRET}@db1", f"mongodb://ada:{SECRET}2@db1"]
SHOWN = "mongodb://ada:******@db1"
CHANGED = EventType.AGENT_SETTINGS_CHANGED_AUDIT


def save(browser: Client, project: Project, **values: Any) -> Any:
    """Sends the form of the project."""
    form = browser.get(f"{PAGE}?group={project.id}").context["form"]
    shown = {name: value for name, value in form.initial.items() if value is not None}
    return confirm(browser, PAGE, **{**shown, **values})


def test_an_operator_writes_them_and_sees_them_redacted(
    console: Client, operator: User, project: Project
) -> None:
    with leaves_events(operator, CHANGED):
        answer = save(
            console,
            project,
            mongodb="\r\n".join(["", *MONGODB]),
            intervalSeconds="20",
            labels="env=a value\r\nsite=b=c",
            selfUpdate="on",
        )
    assert answer.url == list_url(Agent, group__id__exact=project.id)
    assert opened_settings(AgentSettings.objects.get()) == {
        "mongodb": MONGODB,
        "postgresql": [],
        "intervalSeconds": 20,
        "labels": {"env": "a value", "site": "b=c"},
        "selfUpdate": True,
    }
    page = console.get(f"{PAGE}?group={project.id}")
    assert page.context["form"].initial["mongodb"] == f"{SHOWN}\n{SHOWN}"
    assert page.context["form"].initial["selfUpdate"] is True
    assert SECRET not in page.content.decode()


def test_lines_that_stay_keep_their_secrets(console: Client, project: Project) -> None:
    save(console, project, mongodb="\n".join(MONGODB))
    save(console, project, postgresql="postgresql://db2", intervalSeconds="30")
    stored = opened_settings(AgentSettings.objects.get())
    assert stored
    assert (stored["mongodb"], stored["postgresql"]) == (MONGODB, ["postgresql://db2"])


@pytest.mark.parametrize(
    ("name", "value", "about"),
    [
        ("mongodb", f"mongodb://db1\n{SHOWN}", "Line 2: "),
        ("mongodb", "mongodb://db1\npostgresql://db2", "Line 2: "),
        ("postgresql", "postgresql://db1?service=x", "Line 1: "),
        ("intervalSeconds", "1", ""),
        ("labels", "__a=b", "__a: "),
        ("labels", "a", "a: "),
        ("labels", "env=a\nenv=b", "env: "),
    ],
)
def test_a_wrong_line_is_named(console: Client, project: Project, name: str, value: str, about: str) -> None:
    form = save(console, project, **{name: value}).context["form"]
    [error] = form.errors[name]
    assert error.startswith(about)
    assert error.endswith(".")
    assert not AgentSettings.objects.exists()


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        (MONGODB[0], SHOWN),
        (f"{SHOWN}\n{MONGODB[1]}\nmongodb://db2", f"{SHOWN}\n{SHOWN}\nmongodb://db2"),
        (f"mongodb://ada:{SECRET}/x@db1", "******"),
        (f"mongodb://ada:{SECRET}", "******"),
        (f"mongodb://db1/?authMechanismProperties=AWS_SESSION_TOKEN:{SECRET}&tls=true&x", "******"),
    ],
)
def test_a_refused_form_never_shows_a_typed_password(
    console: Client, project: Project, typed: str, shown: str
) -> None:
    answer = save(console, project, mongodb=typed, intervalSeconds="1")
    assert not AgentSettings.objects.exists()
    page = answer.content.decode()
    assert SECRET not in page
    assert "again in full" in page
    form = answer.context["form"]
    assert (form["mongodb"].value(), form["intervalSeconds"].value()) == (shown, "1")
    assert [form[name].value() for name in ("postgresql", "labels")] == ["", ""]


def test_a_new_password_in_a_refused_form_is_not_replaced_by_the_stored_password(
    console: Client, project: Project
) -> None:
    save(console, project, mongodb=MONGODB[0])
    form = save(console, project, mongodb=MONGODB[1], intervalSeconds="1").context["form"]
    assert form["mongodb"].value() == "******"
    form = save(console, project, mongodb=form["mongodb"].value(), intervalSeconds="20").context["form"]
    assert list(form.errors) == ["mongodb"]
    stored = opened_settings(AgentSettings.objects.get())
    assert stored
    assert stored["mongodb"] == MONGODB[:1]
    assert "intervalSeconds" not in stored


def test_settings_that_were_changed_meanwhile_are_not_overwritten(console: Client, project: Project) -> None:
    save(console, project, mongodb=MONGODB[0])
    answer = save(console, project, mongodb="", version=NO_VERSION)
    assert answer.context["form"].non_field_errors()
    assert AgentSettings.objects.get().shown["mongodb"] == [SHOWN]


def test_the_settings_of_another_project_are_shown_before_they_are_written(
    console: Client, project: Project
) -> None:
    other = ProjectFactory.create()
    answer = save(console, project, group=other.id, mongodb=MONGODB[0])
    assert answer.status_code == 200
    assert answer.context["form"].initial["asked_for"] == other.id
    assert not AgentSettings.objects.exists()


def test_projects_that_an_operator_cannot_read_show_nothing(console: Client, project: Project) -> None:
    save(console, project, mongodb=MONGODB[0])
    stranger = browser_with(Role.GROUP_MONITORING_ADMIN, project=ProjectFactory.create())
    page = stranger.get(f"{PAGE}?group={project.id}")
    assert page.status_code == 200
    assert "mongodb" not in page.context["form"].fields


def test_a_reader_cannot_write_them(console: Client, project: Project) -> None:
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert confirm(reader, PAGE, group=project.id, asked_for=project.id).status_code == 403
    assert PAGE not in reader.get(list_url(Agent)).content.decode()
    assert PAGE in console.get(list_url(Agent)).content.decode()
