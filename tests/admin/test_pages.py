"""Every page of the console: who may see it, what it holds, what it costs."""

import re
from collections.abc import Iterator
from datetime import timedelta

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
from alerting.models import AlertConfig, MaintenanceWindow, UnreachableHost
from automation.models import Host
from opsapi import clock
from opsapi.console import changelist
from opsapi.console.admin_urls import page_url
from opsapi.console.model_admin import ConsoleInline
from opsapi.console.widgets import host_links
from opsapi.fields import EncryptedField
from tests.admin.operators import action_url
from tests.admin.reading import admin_of, shown, text_of
from tests.admin.rows import fill, many, record_event, secrets_of_rows, shown_models
from tests.each import each

pytestmark = pytest.mark.django_db

MODELS = shown_models()
# Who looks, and the project without which nobody could have logged in.
MADE_BY_FIXTURES = {
    "accesslist.digestepoch",
    "accesslist.organization",
    "accesslist.project",
    "accesslist.rolegrant",
    "accesslist.user",
}
# Data that scripts read is none.
INLINE_SCRIPT = re.compile(
    r"<script(?![^>]*(?:\bsrc=|type=\"application/json\"))[^>]*>\s*\S|\son[a-z]+=",
)
OUTSIDE_HOST = re.compile(r"""(?:src|href|action)=["'](?:https?:)?//""")
names = pytest.mark.parametrize("name", [model._meta.label_lower for model in MODELS])


def _list_url(name: str) -> str:
    return reverse(f"admin:{name.replace('.', '_')}_changelist")


def _page_urls(name: str) -> Iterator[str]:
    prefix = "admin:" + name.replace(".", "_")
    yield reverse(f"{prefix}_changelist")
    if admin_of(name).add_action:
        yield reverse(f"{prefix}_add")
    for action in admin_of(name).list_actions:
        yield reverse(f"{prefix}_create", args=[action])
    for row in admin_of(name).model._default_manager.all():
        yield reverse(f"{prefix}_change", args=[row.pk])
        for action in admin_of(name).actions_of_row:
            yield action_url(row, action)


def _all_urls() -> list[str]:
    pages = [url for model in MODELS for url in _page_urls(model._meta.label_lower)]
    return [reverse("admin:index"), *pages]


def test_a_row_has_its_page_whatever_its_key_holds(console: Client, project: Project) -> None:
    moment = clock.now()
    key = "https://example.com/a_2Fb?c=1#d"
    host = UnreachableHost.objects.create(host=key, failures=3, since=moment, next_try=moment)
    page = console.get(page_url(host))
    assert page.status_code == 200
    assert page.context["original"] == host
    assert page.context["row_actions"] == []


def test_every_model_has_pages() -> None:
    assert {model._meta.label for model in MODELS} == {model._meta.label for model in admin.site._registry}


@each("model", [Group, Permission, LogEntry])
def test_it_does_not_show_what_means_nothing_here(model: type[Group | Permission | LogEntry]) -> None:
    assert not admin.site.is_registered(model)


@names
def test_no_page_writes_but_by_an_action(name: str, rf: RequestFactory, operator: User) -> None:
    request = rf.get("/")
    request.user = operator
    request.auth = UserPrincipal(operator, None)  # type: ignore[attr-defined]  # as the middleware does
    model_admin = admin_of(name)
    assert not model_admin.has_change_permission(request)
    assert not model_admin.has_delete_permission(request)
    assert model_admin.has_add_permission(request) == (model_admin.add_action is not None)
    bulk = {name for name, action in model_admin.actions_of_row.items() if action.bulk}
    # These lead to a form, which writes nothing before it is saved.
    links = {link.name for link in host_links()} if model_admin.model is Host else set()
    assert set(model_admin.get_actions(request)) == bulk | links
    assert not model_admin.list_editable
    for inline in model_admin.inlines:
        assert issubclass(inline, ConsoleInline)


@names
def test_no_page_names_a_secret_field(name: str) -> None:
    model_admin = admin_of(name)
    for pages in [model_admin, *(inline(model_admin.model, admin.site) for inline in model_admin.inlines)]:
        encrypted = {
            field.name for field in pages.model._meta.get_fields() if isinstance(field, EncryptedField)
        }
        assert pages.fields, "which fields are shown has to be declared"
        assert not {"password", *encrypted} & {*pages.fields, *getattr(pages, "list_display", ())}


@pytest.mark.slow
def test_a_global_owner_sees_every_page_and_none_holds_what_it_must_not(
    console: Client, project: Project
) -> None:
    fill(project)
    record_event(project)
    secrets = secrets_of_rows()
    assert len(secrets) > 5
    for browser, url in [*((console, url) for url in _all_urls()), (Client(), reverse("admin:login"))]:
        text = shown(browser, url)
        assert not [secret for secret in secrets if secret in text], url
        assert not INLINE_SCRIPT.findall(text), url
        assert not OUTSIDE_HOST.findall(text), url


@pytest.mark.slow
def test_an_empty_list_says_something(console: Client) -> None:
    for name in {model._meta.label_lower for model in MODELS} - MADE_BY_FIXTURES:
        assert admin_of(name).empty_text in shown(console, _list_url(name)), name


@pytest.mark.slow
@each(("moved", "state"), [(-2, "ended"), (0, "active"), (1, "scheduled")])
def test_a_maintenance_window_says_where_it_is(
    console: Client, project: Project, moved: int, state: str
) -> None:
    fill(project)
    window = MaintenanceWindow.objects.get()
    window.start += timedelta(hours=moved)
    window.end += timedelta(hours=moved)
    window.save()
    page = reverse("admin:alerting_maintenancewindow_change", args=[window.pk])
    for url in (_list_url("alerting.maintenancewindow"), page):
        assert re.search(rf">\s*{state}\s*<", text_of(console.get(url))), url


@pytest.mark.slow
def test_a_search_without_result_offers_all(console: Client) -> None:
    for name in (model._meta.label_lower for model in MODELS):
        if admin_of(name).search_fields:
            page = console.get(_list_url(name), {"q": "nothing is called this"})
            assert "No matches for this search" in text_of(page), name


@pytest.mark.slow
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


@each(
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


@pytest.mark.slow
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
    monkeypatch.setattr(changelist, "MOST_ROWS", 2)
    for number in range(3):
        record_event(project, f"db{number}")
    with CaptureQueriesContext(connection) as queries:
        page = console.get(_list_url("events.signal"))
    assert "The list ends after 2 signals" in text_of(page)
    counts = [query["sql"] for query in queries if "COUNT(" in query["sql"]]
    assert counts
    assert all("LIMIT 2" in sql for sql in counts)


def test_an_event_shows_its_details_and_changes_escaped(console: Client, project: Project) -> None:
    event = record_event(project)
    text = text_of(console.get(reverse("admin:events_event_change", args=[event.id])))
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
        assert (event.id in text_of(console.get(_list_url("events.event"), query))) is found, query


def test_a_deleted_configuration_is_not_shown(console: Client, project: Project) -> None:
    fill(project)
    config = AlertConfig.objects.get(group=project)
    AlertConfig.objects.update(deleted=config.created)
    assert config.id not in text_of(console.get(_list_url("alerting.alertconfig")))
    page = console.get(reverse("admin:alerting_alertconfig_change", args=[config.id]))
    assert page.status_code == 404


@each(
    ("path", "status"),
    [
        ("/admin/events/event/%00/change/", 404),
        ("/admin/events/event/nothing/change/", 404),
        ("/admin/events/signal/99999999999999999999999/change/", 404),
        ("/admin/events/event/?q=%00", 404),
        ("/admin/events/event/?category=%00", 404),
        ("/admin/events/event/?category=nothing", 400),
        ("/admin/events/event/?q=%ED%A0%80", 400),
        ("/admin/alerting/notification/?q=%ED%A0%80", 200),
        ("/admin/alerting/notification/?status__exact=nothing", 200),
        ("/admin/events/signal/?q=%00", 404),
        ("/admin/events/signal/?created__gte=never", 400),
        ("/admin/events/signal/?created__gte=9999999-01-01", 400),
        ("/admin/events/signal/?nothing=1", 400),
        ("/admin/events/signal/?p=99999999999999999999999", 200),
        ("/admin/events/signal/?p=x&o=x&all=", 200),
        ("/admin/automation/host/?type_name__exact=%00", 404),
        ("/admin/automation/host/?down__exact=x", 302),
        ("/admin/alerting/alert/?_to_field=secrets", 400),
        ("/admin/accesslist/apikey/?q='", 200),
        ("/admin/autocomplete/", 403),
        ("/admin/nothing/", 404),
    ],
)
def test_an_odd_request_is_answered_as_what_it_is(path: str, status: int, console: Client) -> None:
    assert console.get(path).status_code == status


@each("path", ["/admin/password_change/", "/admin/r/1/1/"])
def test_pages_that_write_or_log_next_to_the_services_are_gone(path: str, console: Client) -> None:
    assert console.get(path).status_code == 404
    assert console.post(path, {"old_password": "x"}).status_code == 404


def test_a_row_has_no_page_of_django_s_own_log(console: Client, project: Project) -> None:
    # Django takes what is no page for the id of a row, which is not there.
    page = reverse("admin:events_event_change", args=[record_event(project).id]).replace(
        "change/", "history/"
    )
    for answer in (console.get(page), console.post(page)):
        assert (answer.status_code, answer["Location"]) == (302, f"{page}change/")
    assert console.get(f"{page}change/").status_code == 404


def test_the_console_answers_without_its_slash_too(console: Client) -> None:
    assert console.get("/admin", follow=True).status_code == 200
