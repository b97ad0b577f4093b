"""What somebody tries who should not get in, or not that far."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.db.models import ForeignKey
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse

from accesslist.models import Project, User
from opsapi import clock
from opsapi.page_paths import INVITATION_PATH, SETUP_PATH
from opsapi.roles import Role
from tests.admin.operators import operator_with
from tests.admin.rows import make_operator
from tests.each import each
from tests.factories.accesslist import PASSWORD, OrganizationFactory, ProjectFactory, UserFactory
from tests.factories.second_factors import begin_second_factor

LOGIN = "/admin/login/"
SETUP = "/admin/account/second-factor/setup/"
TOKEN = f"{SETUP_PATH}token/"
OPEN = (SETUP_PATH, INVITATION_PATH)
"""Pages for visitors without an account, which have tests of their own."""
pytestmark = pytest.mark.django_db


def _paths(resolver: Any = None, before: str = "") -> Iterator[str]:
    """Every path of the console, with something in place of its parameters."""
    for pattern in (resolver or get_resolver()).url_patterns:
        path = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from _paths(pattern, path)
        elif isinstance(pattern, URLPattern) and path.startswith("admin/") and pattern.name != "app_list":
            named = path.replace("<path:object_id>", "x").replace("<slug:name>", "y").split("(?P")[0]
            yield "/" + named.rstrip("$^") if "<" not in named else _filled(named)


def _filled(path: str) -> str:
    return "/" + "/".join("x" if "<" in part else part for part in path.split("/"))


PATHS = sorted(set(_paths()))


def test_there_are_pages() -> None:
    assert len(PATHS) > 50
    assert {"/admin/login/code/", "/admin/overview/", "/admin/account/password/", "/admin/logout/"} <= {
        *PATHS
    }


@pytest.mark.slow
def test_every_post_needs_the_token_of_its_form(operator: User, project: Project) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(operator)
    assert {path: browser.post(path).status_code for path in PATHS} == dict.fromkeys(PATHS, 403)
    assert browser.get("/admin/").status_code == 200


def test_strangers_are_led_to_the_login_everywhere(client: Client, operator: User, project: Project) -> None:
    open_paths = (LOGIN, "/admin/logout/", TOKEN, INVITATION_PATH)
    guarded = [path for path in PATHS if not path.startswith(open_paths)]
    answers = {path: client.get(path) for path in guarded}
    odd = {path: answer.status_code for path, answer in answers.items() if answer.status_code != 302}
    assert odd == {}
    assert {path for path, answer in answers.items() if not answer["Location"].startswith(LOGIN)} == set()


@pytest.mark.slow
def test_who_lost_every_role_meanwhile_is_led_to_the_login_everywhere(
    console: Client, operator: User
) -> None:
    operator.grants.all().delete()
    for path in PATHS:
        if path.startswith((LOGIN, "/admin/logout/", *OPEN)):
            continue
        for answer in (console.get(path), console.post(path)):
            assert (answer.status_code, answer["Location"][: len(LOGIN)]) == (302, LOGIN), path
    page = console.get(LOGIN)
    assert page.status_code == 200
    assert "Log in" in page.content.decode()


def test_a_page_that_refreshes_itself_learns_that_its_session_ended(console: Client, operator: User) -> None:
    refresh = {"X-Console-Refresh": "1"}
    assert console.get("/admin/overview/", headers=refresh).status_code == 200
    console.logout()
    answer = console.get("/admin/overview/", headers=refresh)
    assert (answer.status_code, answer["Location"]) == (302, f"{LOGIN}?next=/admin/overview/")
    assert not answer.content


def test_what_was_seen_is_kept_by_no_browser(console: Client, operator: User) -> None:
    begin_second_factor(operator, clock.now())
    pages = ["/admin/", "/admin/overview/", "/admin/account/", SETUP, "/admin/accesslist/user/"]
    pages += ["/admin/autocomplete/?app_label=accesslist&model_name=rolegrant&field_name=user&term="]
    for page in (*pages, reverse("admin:accesslist_user_change", args=[operator.id])):
        answer = console.get(page)
        assert "no-store" in answer["Cache-Control"], page


def test_pages_of_other_hosts_names_are_refused(console: Client) -> None:
    for path in ("/admin/", LOGIN, SETUP_PATH, "/admin/account/", "/admin/overview/"):
        for browser in (console, Client()):
            answer = browser.get(path, headers={"host": "evil.example.com"})
            assert answer.status_code == 400, path
            assert "OPSAPI_ALLOWED_HOSTS" in answer.content.decode()


@each(
    "path",
    ["r/1/1/", "search/?s=a", "password_change/", "accesslist/user/1/history/", "accesslist/user/1/delete/"],
)
def test_pages_of_djangos_own_that_are_left_out(path: str, console: Client) -> None:
    answer = console.get(f"/admin/{path}")
    assert answer.status_code in {302, 404}
    assert answer.get("Location", "/admin/") in {"/admin/", f"/admin/{path}change/"}


@each(
    "query",
    [
        "_popup=1&_to_field=password",
        "_to_field=password",
        "password__startswith=argon2",
        "second_factor__secret__isnull=0",
        "_changelist_filters=//evil.example.com",
    ],
)
def test_columns_cannot_be_guessed_at(query: str, console: Client) -> None:
    assert console.get(f"/admin/accesslist/user/?{query}").status_code == 400


def test_a_popup_shows_no_more(console: Client, operator: User) -> None:
    page = console.get("/admin/accesslist/user/?_popup=1")
    assert page.status_code == 200
    assert operator.password not in page.content.decode()


def test_only_visible_rows_are_offered_for_choice(project: Project) -> None:
    other = ProjectFactory.create(name="elsewhere", org=OrganizationFactory.create(name="elsewhere"))
    UserFactory.create(username="elsewhere").grants.create(role=Role.GROUP_OWNER.value, project=other)
    make_operator(username="elsewhere2")
    _, browser = operator_with(Role.GROUP_READ_ONLY, project=project)
    answers: list[Any] = []
    for model in admin.site._registry:
        fields = (field for field in model._meta.get_fields() if isinstance(field, ForeignKey))
        answers.extend(_choices(browser, model, field.name) for field in fields)
    assert {answer.status_code for answer in answers} == {200, 403}
    assert not any("elsewhere" in answer.content.decode() for answer in answers)


def _choices(browser: Client, model: Any, field: str) -> Any:
    asked = {"app_label": model._meta.app_label, "model_name": model._meta.model_name, "field_name": field}
    return browser.get("/admin/autocomplete/", {**asked, "term": ""})


def test_who_logs_in_again_gets_another_session(operator: User, project: Project) -> None:
    browser = Client()
    keys = []
    for _ in range(2):
        browser.post(LOGIN, {"username": "ada", "password": PASSWORD})
        keys.append(browser.cookies["sessionid"].value)
    assert keys[0] != keys[1]
    old = Client()
    old.cookies["sessionid"] = keys[0]
    assert old.get("/admin/").status_code == 302
