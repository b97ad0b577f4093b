"""Integrations in the console: each type's own fields, and secrets that are written and never shown."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from events.types import EventType
from integrations.credentials.store import integration_values
from integrations.models import Integration
from integrations.types import INTEGRATION_TYPES
from opsapi.roles import Role
from tests.admin.operators import action_url, operator_with, page_of
from tests.admin.reading import shown
from tests.admin.typed import typed_in
from tests.admin.writing import confirm, leaves_events, post
from tests.each import each
from tests.factories.integrations import make_integration

pytestmark = pytest.mark.django_db

ADD = "/admin/integrations/integration/add/"
ADDED = EventType.INTEGRATION_ADDED_AUDIT
CHANGED = EventType.INTEGRATION_CHANGED_AUDIT
DELETED = EventType.INTEGRATION_DELETED_AUDIT
HOOK = "WEBHOOK"


def typed(project: Project, kind: str, **changes: Any) -> dict[str, Any]:
    """What is typed to make an integration of this type: its example."""
    example = {name: str(value) for name, value in INTEGRATION_TYPES[kind].example.items()}
    return {"group": project.id, "type": kind, "asked_for": kind, **example, **changes}


def stored(kind: str) -> dict[str, Any]:
    """What is stored, in full."""
    return dict(integration_values(Integration.objects.get(type=kind)))


@pytest.mark.parametrize("kind", list(INTEGRATION_TYPES))
def test_an_integration_of_each_type_is_created_with_its_own_fields(
    kind: str, console: Client, operator: User, project: Project
) -> None:
    first = post(console, ADD, confirmed="yes", group=project.id, type=kind)
    form = typed_in(first.content.decode())
    names = {field.name for field in INTEGRATION_TYPES[kind].fields}
    # An unticked checkbox is not sent.
    assert names <= {*form, "enabled", "updateInPlace"}
    assert form["group"] == [project.id]
    assert "This field is required" not in first.content.decode()
    with leaves_events(operator, ADDED):
        answer = post(console, ADD, **form | typed(project, kind))
    assert answer["Location"] == f"/admin/channels/?created={Integration.objects.get().id}"
    assert stored(kind) == INTEGRATION_TYPES[kind].example


@pytest.mark.parametrize("kind", list(INTEGRATION_TYPES))
def test_no_page_and_no_event_holds_a_secret(
    kind: str, console: Client, operator: User, project: Project
) -> None:
    with leaves_events(operator, ADDED) as events:
        confirm(console, ADD, **typed(project, kind))
    made = Integration.objects.get()
    secrets = INTEGRATION_TYPES[kind].secrets(INTEGRATION_TYPES[kind].example)
    assert secrets
    pages = [page_of(made), action_url(made, "change"), action_url(made, "delete"), ADD[:-4]]
    shown = [console.get(url).content.decode() for url in pages] + [str(events[0].__dict__)]
    assert not [secret for secret in secrets.values() for page in shown if secret in page]


def test_a_wrong_answer_does_not_repeat_the_secret(console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD, **typed(project, HOOK, url="ftp://x", secret="planted secret"))
    page = answer.content.decode()
    assert "http" in page
    assert "planted secret" not in page
    assert not Integration.objects.exists()


@each(
    ("kind", "changes", "message"),
    [
        (HOOK, {"url": ""}, "This field is required."),
        (HOOK, {"url": "https://ada:pw@example.com/"}, "user"),
        (HOOK, {"group": ""}, "This field is required."),
        ("SCRAPER", {"password": "short"}, "Must have 12 to"),
        ("SCRAPER", {"listenAddress": "nowhere"}, "Must be an address and a port"),
        ("SCRAPER", {"scheme": "gopher"}, "Must be one of http, https"),
        ("CHAT_SERVICE", {"channelName": "x" * 201}, "Must have 1 to 200 characters"),
    ],
)
def test_a_wrong_integration_is_reported_and_not_created(
    *,
    kind: str,
    changes: dict[str, str],
    message: str,
    console: Client,
    operator: User,
    project: Project,
) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD, **typed(project, kind, **changes))
    assert answer.status_code == 200
    assert message in answer.content.decode()
    assert not Integration.objects.exists()


@pytest.mark.parametrize("name", ["", "SMOKE_SIGNALS"])
def test_a_type_there_is_not_is_refused(name: str, console: Client, operator: User, project: Project) -> None:
    with leaves_events(operator):
        answer = confirm(console, ADD, **typed(project, HOOK, type=name, asked_for=name))
    assert answer.status_code == 200
    assert console.get(ADD, {"type": name}).status_code == 200
    assert not Integration.objects.exists()


def test_a_second_one_of_a_type_is_refused(console: Client, operator: User, project: Project) -> None:
    make_integration(project, HOOK)
    with leaves_events(operator):
        answer = confirm(console, ADD, **typed(project, HOOK))
    assert "WEBHOOK" in answer.content.decode()
    assert Integration.objects.count() == 1


def test_a_secret_that_is_left_empty_stays(console: Client, operator: User, project: Project) -> None:
    made = make_integration(project, "CHAT_SERVICE")
    url = action_url(made, "change")
    form = typed_in(console.get(url).content.decode())
    assert form["apiToken"] == [""]
    with leaves_events(operator):
        post(console, url, **form)
    with leaves_events(operator, CHANGED):
        post(console, url, **form | {"channelName": ["night"]})
    expected = {**INTEGRATION_TYPES["CHAT_SERVICE"].example, "channelName": "night"}
    assert stored("CHAT_SERVICE") == expected


def test_messages_are_changed_in_place_while_the_box_is_ticked(
    console: Client, operator: User, project: Project
) -> None:
    made = make_integration(project, "CHAT_SERVICE")
    url = action_url(made, "change")
    with leaves_events(operator, CHANGED):
        post(console, url, **typed_in(console.get(url).content.decode()) | {"updateInPlace": ["on"]})
    assert stored("CHAT_SERVICE")["updateInPlace"] is True
    form = typed_in(console.get(url).content.decode())
    with leaves_events(operator):
        post(console, url, **form)
    del form["updateInPlace"]
    with leaves_events(operator, CHANGED):
        post(console, url, **form)
    assert stored("CHAT_SERVICE") == INTEGRATION_TYPES["CHAT_SERVICE"].example


def test_a_secret_is_replaced(console: Client, operator: User, project: Project) -> None:
    made = make_integration(project, "PAGER_SERVICE")
    with leaves_events(operator, CHANGED):
        confirm(console, action_url(made, "change"), serviceKey="f" * 32)
    assert stored("PAGER_SERVICE") == {"serviceKey": "f" * 32}


def test_an_optional_secret_is_taken_away(console: Client, operator: User, project: Project) -> None:
    made = make_integration(project, HOOK)
    with leaves_events(operator, CHANGED):
        confirm(console, action_url(made, "change"), **{"url": "", "secret": "", "secret.clear": "on"})
    assert stored(HOOK) == {"url": INTEGRATION_TYPES[HOOK].example["url"]}


def test_a_secret_does_not_follow_to_another_url(console: Client, operator: User, project: Project) -> None:
    made = make_integration(project, HOOK)
    with leaves_events(operator):
        answer = confirm(console, action_url(made, "change"), url="https://elsewhere.example/in", secret="")
    assert "because url was changed" in answer.content.decode()
    assert stored(HOOK) == INTEGRATION_TYPES[HOOK].example


def test_a_scraper_is_switched_off(console: Client, operator: User, project: Project) -> None:
    made = make_integration(project)
    url = action_url(made, "change")
    form = typed_in(console.get(url).content.decode())
    assert form.pop("enabled") == ["on"]
    with leaves_events(operator, CHANGED):
        post(console, url, **form)
    assert stored("SCRAPER")["enabled"] is False


@pytest.mark.parametrize(
    ("role", "may"),
    [
        (Role.GROUP_MONITORING_ADMIN, True),
        (Role.GROUP_AUTOMATION_ADMIN, False),
        (Role.GROUP_USER_ADMIN, False),
        (Role.GROUP_READ_ONLY, False),
    ],
)
def test_who_writes_integrations(role: Role, may: bool, project: Project) -> None:
    user, browser = operator_with(role, project=project)
    made = make_integration(project, "PAGER_SERVICE")
    for url, values, event in (
        (ADD, typed(project, HOOK), ADDED),
        (action_url(made, "change"), {"serviceKey": "f" * 32}, CHANGED),
        (action_url(made, "delete"), {}, DELETED),
    ):
        with leaves_events(user, *([event] if may else []), as_owner=False):
            answer = confirm(browser, url, **values)
        assert answer.status_code == (302 if may else 403)
    types = set(Integration.objects.values_list("type", flat=True))
    assert types == ({"WEBHOOK"} if may else {"PAGER_SERVICE"})


def test_a_page_shows_hostile_text_as_text(console: Client, project: Project) -> None:
    made = make_integration(project, "CHAT_SERVICE", channelName="<script>alert(1)</script>")
    for url in (page_of(made), action_url(made, "change")):
        assert "<script>alert(1)" not in console.get(url).content.decode()


def test_every_field_has_the_looks_of_the_theme(console: Client, project: Project) -> None:
    page = console.get(ADD, {"type": "SCRAPER"}).context["form"]
    plain = [name for name, field in page.fields.items() if "class" not in field.widget.attrs]
    assert plain == ["group", "asked_for"]


def test_a_preview_shows_what_a_webhook_sends_and_saves_nothing(console: Client, project: Project) -> None:
    body = json.dumps({"about": "{{what}} <b>", "to": "{{url.topic}}", "now": "{{condition}}"})
    page = post(console, ADD, confirmed="yes", preview="yes", **typed(project, "WEBHOOK", url="", body=body))
    text = unescape(page.content.decode())
    shown = [
        json.loads(found) for found in re.findall(r'<pre class="json"[^>]*>(.*?)</pre>', text, re.DOTALL)
    ]
    assert [document["now"] for document in shown] == ["firing", "firing", "resolved"]
    assert shown[0] == {"about": "Host down <b>", "to": "topic", "now": "firing"}
    assert "<b>" not in page.content.decode()
    assert not Integration.objects.exists()


@pytest.mark.parametrize("body", ['{"a": "{{titel}}"}', '{"a": ', "[]", ""])
def test_a_preview_of_a_wrong_body_says_why(console: Client, project: Project, body: str) -> None:
    page = post(console, ADD, confirmed="yes", preview="yes", **typed(project, "WEBHOOK", body=body))
    assert (
        b'id="id_body_error"' in page.content or b"errornote" in page.content or b"text-red" in page.content
    )
    assert '<pre class="json"' not in page.content.decode()
    assert not Integration.objects.exists()


def test_a_form_with_an_error_asks_again_for_typed_secrets(console: Client, project: Project) -> None:
    page = confirm(console, ADD, **typed(project, HOOK, secret="", body="["))
    text = page.content.decode()
    lost = re.findall(r'id="id_(\w+)_again"', text)
    assert lost == ["url"]
    assert not Integration.objects.exists()


@pytest.mark.parametrize("preview", [{}, {"preview": "yes"}])
def test_an_error_in_a_body_names_its_place_and_the_placeholders(
    console: Client, project: Project, preview: dict[str, str]
) -> None:
    body = json.dumps({"a": [{"b": "{{titel}}"}]})
    page = confirm(console, ADD, **preview, **typed(project, HOOK, body=body))
    [fault] = page.context["form"].errors["body"]
    assert fault.startswith("a[0].b: ")
    assert "{{titel}}" in fault
    assert "hostnameAndPort," in fault.split()
    assert not Integration.objects.exists()


def test_an_error_in_a_header_field_names_it(console: Client, project: Project) -> None:
    page = confirm(console, ADD, **typed(project, HOOK, headers="X-Fine: 1\nHost: a\nX-None"))
    faults = page.context["form"].errors["headers"]
    assert [fault.partition(": ")[0] for fault in faults] == ["Host", "X-None"]


def test_templates_have_the_names_of_their_services(console: Client, project: Project) -> None:
    page = post(console, ADD, confirmed="yes", group=project.id, type=HOOK).content.decode()
    offered = dict(re.findall(r'<option value="([^"]*)"[^>]*>([^<]*)<', page))
    assert offered["jira-service-management"] == "Jira Service Management"
    url = "https://ntfy.example.com/?topic=a"
    confirm(console, ADD, **typed(project, HOOK, url=url, template="grafana-irm"))
    assert "Grafana IRM" in console.get(page_of(Integration.objects.get())).content.decode()


def test_header_fields_and_a_body_are_typed_kept_and_removed(console: Client, project: Project) -> None:
    body = '{"summary": "{{title}}"}'
    headers = "X-Key: header-canary\r\nX-B: a:b"
    confirm(console, ADD, **typed(project, "WEBHOOK", headers=headers, body=body, authorization="Bearer abc"))
    made = Integration.objects.get()
    assert stored("WEBHOOK")["headers"] == {"X-Key": "header-canary", "X-B": "a:b"}
    assert stored("WEBHOOK")["body"] == {"summary": "{{title}}"}
    page = console.get(f"{page_of(made)}").content.decode()
    assert "header-canary" not in page
    assert "X-Key" in page
    change = action_url(made, "change")
    form = {"body": typed_in(console.get(change).content.decode())["body"]}
    confirm(console, change, **form)
    assert stored("WEBHOOK")["headers"] == {"X-Key": "header-canary", "X-B": "a:b"}
    confirm(console, change, **{**form, "headers.clear": "on", "body": ""})
    assert not {"headers", "body"} & stored("WEBHOOK").keys()


def test_the_page_of_a_service_has_its_name_and_leads_to_its_test(console: Client, project: Project) -> None:
    service = make_integration(project, "TEAM_CHAT_SERVICE")
    page = shown(console, page_of(service))
    assert INTEGRATION_TYPES["TEAM_CHAT_SERVICE"].label in page.partition("</title>")[0]
    place = f"channel-{project.id}-TEAM_CHAT_SERVICE"
    assert f'href="/admin/channels/#{place}"' in page
    assert f'id="{place}"' in shown(console, "/admin/channels/")
