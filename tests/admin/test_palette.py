"""The search of the whole console: its results, permissions and limits."""

from typing import Any

import pytest
from django.contrib import admin
from django.db.models import Func, Value
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from automation.models import Host
from opsapi.console import palette
from opsapi.roles import Role
from tests.admin.operators import browser_with, page_of
from tests.each import each
from tests.factories.accesslist import ProjectFactory, UserFactory
from tests.factories.alerting import make_alert, make_config
from tests.factories.automation import make_host

pytestmark = pytest.mark.django_db


def answer(browser: Client, query: str) -> dict[str, Any]:
    response = browser.get(reverse("admin:palette"), {"q": query})
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]
    document: dict[str, Any] = response.json()
    return document


def found(browser: Client, query: str) -> dict[str, list[str]]:
    """The addresses of the results, by kind."""
    groups = answer(browser, query)["groups"]
    return {group["title"]: [row["url"] for row in group["results"]] for group in groups}


@pytest.fixture
def owner(project: Project) -> Client:
    return browser_with(Role.GLOBAL_OWNER)


@each("query", ["counts-C", "ACCOUNTS example", "accounts-c:27017", "accounts-c:27"])
def test_parts_of_words_find_a_host(query: str, owner: Client, project: Project) -> None:
    host = make_host(project, "accounts-c.example.com")
    make_host(project, "sessions-a.example.org")
    assert found(owner, query)["Hosts"] == [page_of(host)]


def test_it_finds_each_kind_by_a_part(owner: Client, project: Project) -> None:
    user = UserFactory.create(username="mira@harbour.example")
    other = ProjectFactory.create(name="harbour payments")
    config = make_config(project, name="Harbour is down")
    alert = make_alert(project, config_id=config.id)
    kinds = found(owner, "arbo")
    assert kinds["People"] == [page_of(user)]
    assert kinds["Projects"] == [page_of(other)]
    assert kinds["Rules"] == [page_of(config)]
    assert found(owner, "ost dow")["Alerts"] == [page_of(alert)]
    assert found(owner, project.name[1:])["Alerts"] == [page_of(alert)]


def test_it_finds_pages_and_actions(owner: Client) -> None:
    assert found(owner, "work")["Pages"] == [reverse("admin:alerting_workerheartbeat_changelist")]
    assert found(owner, "dd age")["Actions"] == [reverse("admin:automation_agent_add")]
    assert found(owner, "")["Pages"][0] == reverse("admin:index")


def test_an_operator_finds_only_what_they_can_see(project: Project) -> None:
    other = ProjectFactory.create(name="foreign project")
    make_host(other, "foreign.example.com")
    make_alert(other, config_id=make_config(other, name="foreign rule").id)
    UserFactory.create(username="foreign@example.com")
    mine = make_host(project, "not-foreign.example.com")
    reader = browser_with(Role.GROUP_READ_ONLY, project=project)
    assert found(reader, "foreign") == {"Hosts": [page_of(mine)]}
    assert found(reader, "workers") == {}
    assert found(reader, "add agent") == {}


def test_mail_addresses_are_found_only_by_operators_who_see_them(project: Project) -> None:
    user = UserFactory.create(username="nina", email_address="private@example.com")
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    assert found(browser_with(Role.GLOBAL_OWNER), "private")["People"] == [page_of(user)]
    assert "People" not in found(browser_with(Role.GROUP_OWNER, project=project), "private")


def test_ended_alerts_are_left_to_their_list(owner: Client, project: Project) -> None:
    make_alert(project, config_id=make_config(project).id, status="CLOSED")
    assert "Alerts" not in found(owner, "host down")


def test_results_and_input_are_bounded(owner: Client, project: Project) -> None:
    for number in range(palette.MOST_RESULTS + 2):
        make_host(project, f"db{number}.example.com")
    assert len(found(owner, "db")["Hosts"]) == palette.MOST_RESULTS
    assert "Hosts" in found(owner, " ".join(["db"] * palette.MOST_WORDS + ["nothing"]))
    assert "Hosts" not in found(owner, "x" * 10_000)
    assert found(owner, "%") == {}
    assert found(owner, "_") == {}


def test_a_kind_that_takes_too_long_is_named_and_others_are_found(
    owner: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_host(project, "db1.example.com")
    rows = Host.objects.alias(slow=Func(Value(60), function="pg_sleep")).filter(slow__isnull=False)
    monkeypatch.setattr(admin.site._registry[Host], "palette_rows", lambda *_: rows)
    document = answer(owner, project.name)
    assert document["unfinished"] == ["Hosts"]
    assert "Projects" in [group["title"] for group in document["groups"]]


def test_it_needs_a_session(project: Project) -> None:
    assert Client().get(reverse("admin:palette"), {"q": "db"}).status_code == 302
