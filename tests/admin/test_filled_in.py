"""What the address of an action's page may fill in: what saves typing, never what gives a right."""

from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import reverse

from accesslist.models import Project, User
from opsapi.console.admin_urls import creation_url
from opsapi.console.forms import ConsoleForm
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.roles import Role
from tests.admin.operators import action_url
from tests.admin.rows import fill
from tests.admin.typed import typed_in

pytestmark = pytest.mark.django_db

HARMLESS = {
    "group",
    "databases",
    "type",
    "startDate",
    "endDate",
    "alertTypeNames",
    "hosts",
    "sets",
    "description",
    "notification",
    "add",
    "timeZone",
    "event",
    "preset",
    "org",
    "project",
    "team",
}


def _forms() -> Iterator[type[ConsoleForm]]:
    for pages in admin.site._registry.values():
        if isinstance(pages, ConsoleAdmin):
            made = [*filter(None, [pages.add_action]), *pages.list_actions.values()]
            actions = [*pages.actions_of_row.values(), *made]
            yield from (action.form for action in actions if action.form)


def test_forms_take_only_declared_fields_from_the_address() -> None:
    forms = list(_forms())
    assert len(forms) > 10
    assert {name for form in forms for name in form.from_address} == HARMLESS


def _pages(project: Project) -> Iterator[str]:
    """Every page with a form."""
    for model, pages in admin.site._registry.items():
        if not isinstance(pages, ConsoleAdmin):
            continue
        if pages.add_action and pages.add_action.form:
            yield reverse(pages.add_url_name)
        yield from (creation_url(model, name) for name, action in pages.list_actions.items() if action.form)
        row = model._default_manager.first()
        if row is not None:
            yield from (action_url(row, name) for name, action in pages.actions_of_row.items() if action.form)


def test_each_form_that_searches_rows_loads_the_script_of_the_search(
    console: Client, project: Project
) -> None:
    texts = {url: console.get(url).text for url in _pages(project)}
    searching = {url for url, text in texts.items() if "admin-autocomplete" in text}
    assert len(searching) > 3
    assert {url for url in searching if "/autocomplete." not in texts[url]} == set()


@pytest.mark.slow
def test_a_link_fills_in_no_other_fields(console: Client, project: Project) -> None:
    fill(project)
    urls = list(_pages(project))
    assert len(urls) > 15
    for url in urls:
        page = console.get(url)
        if page.status_code != 200:
            continue
        plain = typed_in(page.content.decode())
        form = page.context["form"]
        asked = dict.fromkeys({*form.fields} - form.from_address, "1")
        found = typed_in(console.get(url, asked).content.decode())
        assert _without_times(found) == _without_times(plain), url


def _without_times(typed: dict[str, list[str]]) -> dict[str, list[str]]:
    """Tokens and times of now are others on each page."""
    moving = {"csrfmiddlewaretoken", "once", "startDate", "endDate"}
    return {name: values for name, values in typed.items() if name not in moving}


def test_a_link_selects_no_role(console: Client, operator: User) -> None:
    page = console.get(action_url(operator, "roles"), {"global_roles": Role.GLOBAL_OWNER.value, "held": "0"})
    typed = typed_in(page.content.decode())
    assert "global_roles" not in typed
    assert len(typed["held"]) == 1


def test_a_link_fills_in_where_a_window_is_and_why(console: Client, project: Project) -> None:
    asked = {"group": project.id, "alertTypeNames": "HOST", "description": "new disks"}
    page = console.get("/admin/alerting/maintenancewindow/add/", asked)
    typed = typed_in(page.content.decode())
    assert {name: typed[name] for name in asked} == {name: [value] for name, value in asked.items()}
