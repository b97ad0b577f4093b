"""The wizard that adds a replica set to the automation configuration of a project."""

import html
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accesslist.models import Project, User
from automation.choices import AgentType
from automation.desired_state import set_wizard
from automation.desired_state.editor import NOT_SEEN
from automation.desired_state.set_wizard import NEW_REPLICA_SET
from automation.desired_state.set_wizard_page import PREPARE_URL
from automation.desired_state.store import revision_text
from automation.models import AutomationRevision
from automation.turns.console import SET_WIZARD, plan_url
from opsapi import clock
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.console.admin_urls import creation_url, list_url
from opsapi.roles import Role
from tests.admin.operators import browser_with
from tests.admin.writing import confirm, leaves_events, post, token
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.automation import make_agent, publish
from tests.factories.documents import process
from tests.factories.lost_keys import lose_key

pytestmark = pytest.mark.django_db

URL = creation_url(AutomationRevision, SET_WIZARD)
MACHINES = {f"machine_{number}": f"db{number}.example.com" for number in (1, 2, 3)}
ORDERS = {
    "name": "orders",
    "port": "27017",
    "new_version": "6.0.5",
    "url": "https://downloads.example.com/6.0.5.tgz",
    "commit": "C" * 40,
    "platform": "linux",
    "architecture": "amd64",
    "data_base": "/srv/mongodb",
    "download_base": "/srv/mongodb/downloads",
    "rotates_logs": "on",
    "seen": "",
    **MACHINES,
}


def fill_in(console: Client, project: Project, **changes: str) -> Any:
    """Send the form."""
    return confirm(console, URL, **{"group": project.pk, **ORDERS, **changes})


def shown(console: Client, project: Project, **changes: str) -> dict[str, Any]:
    """What the page sends back that shows the plan of this input."""
    form = fill_in(console, project, **changes).context["form"]
    assert form.shown_digest, form.errors
    return {**changes, "seen": form.shown_digest, "base": form.shown_base}


def errors(answer: Any) -> dict[str, Any]:
    found: dict[str, Any] = answer.context["form"].errors
    return {name: " ".join(texts) for name, texts in found.items()}


def words(answer: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def document_now(project: Project) -> dict[str, Any]:
    newest = AutomationRevision.objects.filter(group=project).latest("number")
    found: dict[str, Any] = json.loads(revision_text(newest))
    return found


def automation_agent(project: Project, hostname: str, **changes: Any) -> None:
    make_agent(project, hostname, agent_type=AgentType.AUTOMATION.value, **changes)


def test_the_plan_is_shown_and_then_published_with_live_progress(
    console: Client, operator: User, project: Project
) -> None:
    with leaves_events(operator):
        answer = fill_in(console, project)
    page = words(answer)
    assert errors(answer) == {}
    assert "initiates the replica set orders with orders_1, orders_2, orders_3" in page
    assert "db2.example.com:27017 /srv/mongodb/orders_2" in page
    form = answer.context["form"]
    assert f'name="seen" value="{form.shown_digest}"' in answer.text
    seen = {"seen": form.shown_digest, "base": form.shown_base}
    answer = fill_in(console, project, **seen)
    assert answer["Location"] == plan_url(project.pk)
    made = document_now(project)
    assert made["version"] == 1
    assert made["options"] == {"downloadBase": "/srv/mongodb/downloads"}
    assert made["databaseVersions"][0]["builds"][0]["gitVersion"] == "c" * 40
    assert [listed["name"] for listed in made["processes"]] == ["orders_1", "orders_2", "orders_3"]
    assert "0 of 3 processes have reached version 1" in words(console.get(plan_url(project.pk)))


def test_secrets_and_all_else_of_the_configuration_stay(console: Client, project: Project) -> None:
    used = process(hostname="db9.example.com")
    publish(project, 0, processes=[used], auth={"key": "a secret"}, extra={"kept": 1.50})
    seen = shown(console, project, version="7.0.2")
    assert "a secret" not in fill_in(console, project, **seen, preview="yes").text
    fill_in(console, project, **seen)
    made = document_now(project)
    assert (made["version"], made["auth"]["key"], made["extra"]) == (2, "a secret", {"kept": 1.50})
    assert [listed["name"] for listed in made["processes"]] == ["db_1", "orders_1", "orders_2", "orders_3"]
    assert made["options"] == {"downloadBase": "/var/lib/ops-agent"}
    assert [listed["name"] for listed in made["databaseVersions"]] == ["7.0.2"]
    assert made["processes"][1]["featureCompatibilityVersion"] == "7.0"


def test_changed_input_is_not_published_before_its_plan_was_shown(console: Client, project: Project) -> None:
    seen = shown(console, project)
    answer = fill_in(console, project, **seen, port="27018")
    assert NOT_SEEN in answer.text
    assert not AutomationRevision.objects.exists()


def test_a_second_click_publishes_nothing_again(console: Client, operator: User, project: Project) -> None:
    seen = shown(console, project)
    sent = {"group": project.pk, **ORDERS, **seen, "confirmed": "yes", "once": token(console, URL)}
    assert post(console, URL, **sent)["Location"] == plan_url(project.pk)
    with leaves_events(operator):
        answer = post(console, URL, **sent)
    assert answer["Location"] == plan_url(project.pk)
    assert AutomationRevision.objects.count() == 1
    assert "This was already done" in console.get(plan_url(project.pk)).text


def test_another_publication_meanwhile_is_said_and_its_plan_is_shown(
    console: Client, operator: User, project: Project
) -> None:
    seen = shown(console, project)
    publish(project, 0, processes=[process(hostname="db9.example.com")])
    with leaves_events(operator):
        answer = fill_in(console, project, **seen)
    assert "at version 1 now, not 0" in answer.text
    form = answer.context["form"]
    assert form.shown_base == 1
    again = {"seen": form.shown_digest, "base": form.shown_base}
    assert fill_in(console, project, **again)["Location"] == plan_url(project.pk)
    assert len(document_now(project)["processes"]) == 4


def test_a_publication_in_the_same_moment_is_said_too(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = shown(console, project)
    form, code = set_wizard.NewReplicaSetForm, ErrorCode.AUTOMATION_CONFIG_CONCURRENT_MODIFICATION
    show = form.add_refusal

    def refuse(*_: Any, **__: Any) -> None:
        raise ApiError(code, "0", "1")

    def show_late(shown: Any, refusal: ApiError) -> None:
        publish(project, 0, processes=[process(hostname="db9.example.com")])
        show(shown, refusal)

    monkeypatch.setattr(form, "add_refusal", show_late)
    monkeypatch.setattr(
        "automation.desired_state.console.AutomationRevisionAdmin.list_actions",
        {SET_WIZARD: replace(NEW_REPLICA_SET, run=refuse)},
    )
    answer = fill_in(console, project, **seen)
    assert "is at version 1, not 0" in answer.text
    assert answer.context["form"].shown_base == 1
    assert "orders_3" in words(answer).partition("Before you publish")[2]


@each(
    ("changes", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "with a blank"}, "name"),
        ({"name": "rs/0"}, "name"),
        ({"port": "0"}, "port"),
        ({"port": "65536"}, "port"),
        ({"port": "x"}, "port"),
        ({"new_version": ""}, "new_version"),
        ({"new_version": "2.6.0"}, "new_version"),
        ({"new_version": "newest"}, "new_version"),
        ({"url": "ftp://downloads.example.com/a.tgz"}, "url"),
        ({"url": "https://downloads.example.com"}, "url"),
        ({"url": "https://[/a.tgz"}, "url"),
        ({"commit": "c" * 39}, "commit"),
        ({"commit": ""}, "commit"),
        ({"architecture": "6502"}, "architecture"),
        ({"machine_1": "", "machine_2": "", "machine_3": ""}, "machine_1"),
        ({"machine_2": "not a host"}, "machine_2"),
        ({"machine_2": "db2.example.com:27017"}, "machine_2"),
        ({"machine_2": "", "machine_5": "DB1.example.com"}, "machine_5"),
        ({"machine_3": "", "has_arbiter": "on"}, "has_arbiter"),
        ({"data_base": "srv"}, "data_base"),
        ({"data_base": "/"}, "data_base"),
        ({"data_base": "/srv/../etc"}, "data_base"),
        ({"download_base": ""}, "download_base"),
    ],
)
def test_every_error_is_at_its_field(
    changes: dict[str, str], field: str, console: Client, project: Project
) -> None:
    answer = fill_in(console, project, **changes)
    assert list(errors(answer)) == [field]
    assert not AutomationRevision.objects.exists()


def test_a_process_with_the_same_machine_and_port_is_named_at_the_machine(
    console: Client, project: Project
) -> None:
    publish(project, 0, processes=[process(hostname="db2.example.com")])
    found = errors(fill_in(console, project, version="7.0.2"))
    assert found == {
        "machine_2": "db_1 uses the port 27017 of db2.example.com. Choose another port or machine."
    }
    assert errors(fill_in(console, project, version="7.0.2", port="27018")) == {}


def test_a_known_version_needs_no_other_version_and_a_new_name_must_be_new(
    console: Client, project: Project
) -> None:
    publish(project, 0)
    nothing = dict.fromkeys(("new_version", "url", "commit", "platform"), "")
    assert errors(fill_in(console, project, version="7.0.2", **nothing, machine_1="a.example.com")) == {}
    found = errors(fill_in(console, project, version="new", new_version="7.0.2", machine_1="a.example.com"))
    assert list(found) == ["new_version"]
    assert "Select it above" in found["new_version"]


def test_the_form_says_which_machines_have_an_agent_that_reports(console: Client, project: Project) -> None:
    automation_agent(project, "db1.example.com")
    automation_agent(project, "db2.example.com", last_report=clock.now() - timedelta(minutes=20))
    make_agent(project, "db3.example.com")
    page = words(console.get(URL))
    assert '<option value="db2.example.com">agent: no report · 20 min</option>' in console.get(URL).text
    assert "agent: reporting" in page
    assert "The plan waits for" not in page
    answer = fill_in(console, project)
    assert answer.context["form"].page.waits_for == ["db2.example.com", "db3.example.com"]
    page = words(answer)
    for text in ("agent: reporting", "agent: no report · 20 min", "no automation agent"):
        assert text in page
    assert "The plan waits for the automation agent of db2.example.com, db3.example.com." in page
    assert f'href="{PREPARE_URL}"' in answer.text


def test_the_plan_is_not_said_to_wait_for_a_wrong_name(console: Client, project: Project) -> None:
    answer = fill_in(console, project, machine_1="bad host!")
    assert list(errors(answer)) == ["machine_1"]
    assert "bad host!" not in answer.context["form"].page.waits_for


def test_machines_with_a_free_agent_that_reports_are_filled_in(console: Client, project: Project) -> None:
    publish(project, 0, processes=[process(hostname="DB1.example.com")])
    for number in range(1, 6):
        automation_agent(project, f"db{number}.example.com")
    automation_agent(project, "a.example.com", last_report=clock.now() - timedelta(minutes=20))
    form = console.get(URL).context["form"]
    names = [machine.field.value() for machine in (*form.page.machines, *form.page.more_machines)]
    assert names == ["db2.example.com", "db3.example.com", "db4.example.com", *[None] * 4]


def test_without_an_agent_the_form_says_so(console: Client, project: Project) -> None:
    assert "No automation agent has reported to this project yet" in console.get(URL).text


def test_the_project_is_asked_first_if_there_are_several(console: Client, project: Project) -> None:
    other: Project = ProjectFactory.create()
    page = console.get(URL)
    assert list(page.context["form"].fields) == ["group"]
    assert "Continue" in page.text
    answer = confirm(console, URL, group=other.pk)
    assert answer.context["form"].fields["name"]
    assert errors(answer) == {}
    assert other.name in words(answer)
    assert console.get(creation_url(AutomationRevision, SET_WIZARD, group=project.pk)).context["form"]["name"]


@each(("role", "may"), [(Role.GROUP_AUTOMATION_ADMIN, True), (Role.GROUP_MONITORING_ADMIN, False)])
def test_only_who_may_publish_sees_the_button_and_the_page(role: Role, may: bool, project: Project) -> None:
    browser = browser_with(role, project=project)
    with_project = creation_url(AutomationRevision, SET_WIZARD, group=project.pk)
    assert browser.get(URL).status_code == (200 if may else 403)
    for place in (plan_url(project.pk), list_url("automation.replicaset", project=project.pk)):
        assert (with_project in browser.get(place).text) is may, place
    assert (URL in browser.get(reverse("automation_plan")).text) is may
    found = browser.get(reverse("admin:palette"), {"q": "new replica"}).json()["groups"]
    assert ("New replica set" in str(found)) is may
    publish(project, 0)
    assert (with_project in browser.get(plan_url(project.pk)).text) is may
    assert confirm(browser, URL, group=project.pk).status_code == (200 if may else 403)


@each("role", [None, Role.GROUP_READ_ONLY])
def test_another_project_can_neither_be_seen_nor_changed(role: Role | None, project: Project) -> None:
    other: Project = ProjectFactory.create()
    publish(other, 0, processes=[process(name="their_process")])
    automation_agent(other, "theirs.example.com")
    browser = browser_with(Role.GROUP_AUTOMATION_ADMIN, project=project)
    if role is not None:
        User.objects.get(pk=browser.session["_auth_user_id"]).grants.create(role=role.value, project=other)
    page = browser.get(creation_url(AutomationRevision, SET_WIZARD, group=other.pk))
    answer = fill_in(browser, other, version="7.0.2", preview="yes")
    assert list(errors(answer)) == ["group"]
    for text in (page.text, answer.text):
        assert "their_process" not in text
        assert "theirs.example.com" not in text
    assert AutomationRevision.objects.filter(group=other).count() == 1


def test_without_the_key_of_the_document_the_form_says_why(console: Client, project: Project) -> None:
    publish(project, 0)
    lose_key(AutomationRevision)
    answer = fill_in(console, project)
    assert "cannot be read without its encryption key" in errors(answer)["__all__"]


def test_a_project_without_a_configuration_leads_to_the_wizard(console: Client, project: Project) -> None:
    page = console.get(plan_url(project.pk)).text
    assert "has no automation configuration" in page
    assert creation_url(AutomationRevision, SET_WIZARD, group=project.pk) in page


def test_home_leads_to_the_wizard_if_only_automation_agents_report(console: Client, project: Project) -> None:
    assert URL not in console.get(reverse("admin:index")).text
    automation_agent(project, "db1.example.com")
    assert URL in console.get(reverse("admin:index")).text
