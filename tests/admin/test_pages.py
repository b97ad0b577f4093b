"""Every page of the console: who may see it, what it holds, what it costs."""

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accesslist.models import Project, User
from accesslist.principal import UserPrincipal
from alerting.models import AlertConfig, MaintenanceWindow
from opsapi.console import paging
from opsapi.console.model_admin import ConsoleAdmin, ConsoleInline
from opsapi.fields import SealedField
from tests.admin.rows import fill, many, our_models, record_event, secrets_of_rows

pytestmark = pytest.mark.django_db

MODELS = our_models()
# Who looks, and the project without which nobody could have logged in.
MADE_BY_FIXTURES = {
    "accesslist.digestepoch",
    "accesslist.organization",
    "accesslist.project",
    "accesslist.rolegrant",
    "accesslist.user",
}
names = pytest.mark.parametrize("name", [model._meta.label_lower for model in MODELS])


def _admin(name: str) -> ConsoleAdmin:
    found = next(one for model, one in admin.site._registry.items() if model._meta.label_lower == name)
    assert isinstance(found, ConsoleAdmin)
    return found


def _list_url(name: str) -> str:
    return reverse(f"admin:{name.replace('.', '_')}_changelist")


def _page_urls(name: str) -> Iterator[str]:
    prefix = "admin:" + name.replace(".", "_")
    yield reverse(f"{prefix}_changelist")
    if _admin(name).add_action:
        yield reverse(f"{prefix}_add")
    for row in _admin(name).model._default_manager.all():
        yield reverse(f"{prefix}_change", args=[row.pk])
        for action in _admin(name).actions_of_row:
            yield _admin(name).action_url(row, action)


def _all_urls() -> list[str]:
    pages = [url for model in MODELS for url in _page_urls(model._meta.label_lower)]
    return [reverse("admin:index"), *pages]


def _text(response: Any) -> str:
    text: str = response.content.decode()
    return text


def test_every_model_has_pages() -> None:
    assert {model._meta.label for model in MODELS} == {model._meta.label for model in admin.site._registry}


@pytest.mark.parametrize("model", [Group, Permission, LogEntry])
def test_it_does_not_show_what_means_nothing_here(model: type[Group | Permission | LogEntry]) -> None:
    assert not admin.site.is_registered(model)


@names
def test_no_page_writes_but_by_an_action(name: str, rf: RequestFactory, operator: User) -> None:
    request = rf.get("/")
    request.user = operator
    request.auth = UserPrincipal(operator, None)  # type: ignore[attr-defined]  # as the middleware does
    model_admin = _admin(name)
    assert not model_admin.has_change_permission(request)
    assert not model_admin.has_delete_permission(request)
    assert model_admin.has_add_permission(request) == (model_admin.add_action is not None)
    bulk = {name for name, action in model_admin.actions_of_row.items() if action.bulk}
    assert set(model_admin.get_actions(request)) == bulk
    assert not model_admin.list_editable
    for inline in model_admin.inlines:
        assert issubclass(inline, ConsoleInline)


@names
def test_no_page_names_a_secret_field(name: str) -> None:
    model_admin = _admin(name)
    for one in [model_admin, *(inline(model_admin.model, admin.site) for inline in model_admin.inlines)]:
        sealed = {field.name for field in one.model._meta.get_fields() if isinstance(field, SealedField)}
        assert one.fields, "which fields are shown has to be declared"
        assert not {"password", *sealed} & {*one.fields, *getattr(one, "list_display", ())}


def test_a_global_owner_sees_every_page(console: Client, project: Project) -> None:
    fill(project)
    record_event(project)
    for url in _all_urls():
        assert console.get(url).status_code == 200, url


@pytest.mark.parametrize("name", sorted({model._meta.label_lower for model in MODELS} - MADE_BY_FIXTURES))
def test_an_empty_list_says_something(name: str, console: Client) -> None:
    assert _admin(name).empty_text in _text(console.get(_list_url(name)))


@pytest.mark.parametrize(("moved", "state"), [(-2, "over"), (0, "active"), (1, "coming")])
def test_a_maintenance_window_says_where_it_stands(
    console: Client, project: Project, moved: int, state: str
) -> None:
    fill(project)
    window = MaintenanceWindow.objects.get()
    window.start += timedelta(hours=moved)
    window.end += timedelta(hours=moved)
    window.save()
    page = reverse("admin:alerting_maintenancewindow_change", args=[window.pk])
    for url in (_list_url("alerting.maintenancewindow"), page):
        assert re.search(rf">\s*{state}\s*<", _text(console.get(url))), url


def test_a_search_without_result_offers_all(console: Client) -> None:
    for name in (model._meta.label_lower for model in MODELS):
        if _admin(name).search_fields:
            page = console.get(_list_url(name), {"q": "nothing is called this"})
            assert "Nothing fits the search" in _text(page), name


def test_strangers_and_users_without_a_role_are_sent_to_the_login(
    client: Client, project: Project, operator: User
) -> None:
    fill(project)
    operator.grants.all().delete()
    other = Client()
    other.force_login(operator)
    for url in _all_urls():
        for browser in (client, other):
            for answer in (browser.get(url), browser.post(url)):
                assert answer.status_code == 302, url
                assert answer["Location"].startswith(reverse("admin:login"))


def test_no_page_shows_a_secret(console: Client, project: Project) -> None:
    fill(project)
    secrets = secrets_of_rows()
    assert len(secrets) > 5
    for url in _all_urls():
        text = _text(console.get(url))
        assert not [secret for secret in secrets if secret in text], url


@pytest.mark.parametrize(
    ("name", "lookup"),
    [
        ("accesslist.user", "password__startswith"),
        ("accesslist.apikey", "ha1__startswith"),
        ("alerting.notificationsetting", "secrets__contains"),
        ("accesslist.rolegrant", "user__password__startswith"),
        ("alerting.alertconfig", "settings__secrets__contains"),
    ],
)
def test_no_filter_lets_a_secret_be_guessed(name: str, lookup: str, console: Client) -> None:
    assert console.get(_list_url(name), {lookup: "a"}).status_code == 400


def test_a_list_costs_the_same_queries_for_any_number_of_rows(console: Client) -> None:
    many(1)
    console.get(_list_url("events.event"))  # the first visit writes the session
    few = _queries_of_lists(console)
    many(3)
    assert _queries_of_lists(console) == few


def _queries_of_lists(console: Client) -> dict[str, int]:
    found = {}
    for name in (model._meta.label_lower for model in MODELS):
        with CaptureQueriesContext(connection) as queries:
            assert console.get(_list_url(name)).status_code == 200
        found[name] = len(queries)
    return found


def test_a_list_counts_no_further_than_its_bound(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paging, "MOST_ROWS", 2)
    for number in range(3):
        record_event(project, f"db{number}")
    with CaptureQueriesContext(connection) as queries:
        page = console.get(_list_url("events.signal"))
    assert "The list ends after 2 signals" in _text(page)
    counts = [one["sql"] for one in queries if "COUNT(" in one["sql"]]
    assert counts
    assert all("LIMIT 2" in sql for sql in counts)


def test_an_event_shows_its_details_and_changes_escaped(console: Client, project: Project) -> None:
    event = record_event(project)
    text = _text(console.get(reverse("admin:events_event_change", args=[event.id])))
    assert "&quot;hostname&quot;: &quot;db1&quot;" in text
    assert "&lt;b&gt;old&lt;/b&gt;" in text
    assert "<b>old</b>" not in text


def test_events_are_found_by_category_and_by_project(console: Client, project: Project) -> None:
    event = record_event(project)
    for query, found in [
        ({"category": "HOST"}, True),
        ({"category": "TEAM"}, False),
        ({"q": project.id}, True),
        ({"q": event.id}, True),
        ({"q": "0" * 24}, False),
    ]:
        assert (event.id in _text(console.get(_list_url("events.event"), query))) is found, query


def test_a_deleted_configuration_is_not_shown(console: Client, project: Project) -> None:
    fill(project)
    config = AlertConfig.objects.get(group=project)
    AlertConfig.objects.update(deleted=config.created)
    assert config.id not in _text(console.get(_list_url("alerting.alertconfig")))
    page = console.get(reverse("admin:alerting_alertconfig_change", args=[config.id]))
    assert page.status_code == 302


def test_pages_have_no_inline_script_and_no_outside_host(console: Client, project: Project) -> None:
    fill(project)
    record_event(project)
    for url in [*_all_urls(), reverse("admin:login")]:
        text = _text(console.get(url, follow=True))
        # Data that scripts read is none.
        scripts = re.findall(r"<script(?![^>]*(?:\bsrc=|type=\"application/json\"))[^>]*>\s*\S", text)
        assert not scripts, url
        assert not re.findall(r"\son[a-z]+=", text), url
        assert not re.findall(r"""(?:src|href|action)=["'](?:https?:)?//""", text), url


@pytest.mark.parametrize(
    "path",
    [
        "/admin/events/event/%00/change/",
        "/admin/events/event/nothing/change/",
        "/admin/events/signal/99999999999999999999999/change/",
        "/admin/events/event/?q=%00",
        "/admin/events/event/?category=%00",
        "/admin/events/event/?category=nothing",
        "/admin/events/event/?created__gte=never",
        "/admin/events/event/?created__gte=9999999-01-01",
        "/admin/events/event/?p=99999999999999999999999",
        "/admin/events/event/?p=x&o=x&all=",
        "/admin/events/event/?q=%ED%A0%80",
        "/admin/automation/host/?type_name__exact=%00",
        "/admin/automation/host/?down__exact=x",
        "/admin/alerting/alert/?_to_field=secrets",
        "/admin/accesslist/apikey/?q='",
        "/admin/autocomplete/",
        "/admin/events/event/x/history/",
        "/admin/password_change/",
        "/admin/nothing/",
    ],
)
def test_no_request_however_odd_breaks_a_page(path: str, console: Client) -> None:
    assert console.get(path).status_code < 500


@pytest.mark.parametrize(
    "path", ["/admin/password_change/", "/admin/events/event/x/history/", "/admin/r/1/1/"]
)
def test_pages_that_write_or_log_beside_the_services_are_gone(path: str, console: Client) -> None:
    assert console.get(path).status_code in {302, 404}
    assert console.post(path, {"old_password": "x"}).status_code in {302, 403, 404}


def test_the_console_answers_without_its_slash_too(console: Client) -> None:
    assert console.get("/admin", follow=True).status_code == 200
