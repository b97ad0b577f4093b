"""Logging in to the console."""

import logging
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from accesslist.login.attempts import LOGIN_WINDOW, NAME_FACTOR
from accesslist.models import Project, RateWindow, Team, User
from opsapi.page_paths import SETUP_PATH
from opsapi.roles import Role
from opsapi.setup_link import CREATE_KEY
from tests.admin.rows import make_operator
from tests.factories.accesslist import PASSWORD, UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("noon")]

LOGIN = "/admin/login/"
NEUTRAL = "Incorrect username or password."


def _log_in(browser: Client, username: str = "ada", password: str = PASSWORD, **headers: Any) -> Any:
    return browser.post(LOGIN, {"username": username, "password": password, "next": "/admin/"}, **headers)


def test_a_global_owner_logs_in(client: Client, operator: User, project: Project) -> None:
    answer = _log_in(client)
    assert answer.status_code == 302
    assert answer["Location"] == "/admin/"
    assert client.get("/admin/").status_code == 200


def test_names_are_taken_in_any_case(client: Client, operator: User, project: Project) -> None:
    assert _log_in(client, "ADA").status_code == 302


@pytest.mark.parametrize("role", Role)
def test_whoever_may_read_anything_enters(role: Role, client: Client, project: Project) -> None:
    place = {"project": project} if role.is_group else {"org": project.org} if role.is_org else {}
    UserFactory.create(username="bob").grants.create(role=role.value, **place)
    assert _log_in(client, "bob").status_code == (403 if role is Role.GROUP_AGENT else 302)


def test_a_user_without_any_role_does_not_enter(client: Client, project: Project) -> None:
    UserFactory.create(username="bob")
    assert _log_in(client, "bob").status_code == 403


def test_a_role_of_a_team_lets_its_members_enter(client: Client, project: Project) -> None:
    team = Team.objects.create(org_id=project.org_id, name="on call", created=project.created)
    team.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    team.members.add(UserFactory.create(username="bob"))
    assert _log_in(client, "bob").status_code == 302


def test_every_wrong_log_in_gets_the_same_text(client: Client, operator: User, project: Project) -> None:
    UserFactory.create(username="bob")
    pages = [_log_in(client, *typed) for typed in [("ada", "wrong"), ("nobody", "wrong"), ("bob", PASSWORD)]]
    assert [page.status_code for page in pages] == [403, 403, 403]
    for page in pages:
        assert NEUTRAL in page.content.decode()
        assert page.context["form"].non_field_errors() == [NEUTRAL]


def test_a_refused_log_in_has_one_message_that_is_read_aloud(
    client: Client, operator: User, project: Project
) -> None:
    page = _log_in(client, password="wrong").content.decode()
    assert page.count(NEUTRAL) == 1
    assert page.count('role="alert"') == page.count("errornote") == 1
    assert 'role="alert"' not in client.get(LOGIN).content.decode()


def test_nobody_logs_in_while_no_project_exists(client: Client, operator: User) -> None:
    answer = _log_in(client)
    assert answer.status_code == 403
    assert "once a project exists" in answer.content.decode()
    assert "_auth_user_id" not in client.session


def test_the_login_page_of_an_empty_installation_leads_to_the_set_up_and_has_commands_for_scripts(
    client: Client, db: None
) -> None:
    here = Client(headers={"host": "localhost"})
    for browser, may in ((here, True), (client, False)):
        answer = browser.get(LOGIN)
        assert answer.context["may_set_up"] is may
        assert SETUP_PATH in answer.content.decode()
        user, project, log_in = answer.context["first_steps"]
        assert "/api/public/v1.0/unauth/users" in user.command
        assert project.command.startswith("curl --digest")
        assert log_in.command == ""


def test_a_user_without_a_project_is_led_to_the_first_project(client: Client, operator: User) -> None:
    answer = client.get(LOGIN, headers={"host": "localhost:8000"})
    key, project, log_in = answer.context["first_steps"]
    assert key.command == CREATE_KEY
    assert project.command.endswith(" http://localhost:8000/api/public/v1.0/groups")
    assert log_in.command == ""
    assert SETUP_PATH not in answer.content.decode()


def test_the_steps_name_the_public_url(client: Client, operator: User, settings: LazySettings) -> None:
    settings.OPSAPI_PUBLIC_URL = "https://ops.example.com"
    assert "https://ops.example.com/api/public/v1.0/groups" in client.get(LOGIN).content.decode()


def test_the_steps_are_not_shown_once_a_project_exists(
    client: Client, operator: User, project: Project
) -> None:
    assert "first-steps" not in client.get(LOGIN).content.decode()


def test_attempts_on_one_name_are_throttled_from_wherever_they_come(
    operator: User, project: Project, settings: LazySettings
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 1
    for number in range(NAME_FACTOR):
        address = f"192.0.2.{number}"
        assert _log_in(Client(), "ada", "wrong", REMOTE_ADDR=address).status_code == 403
    refused = _log_in(Client(), "ADA", PASSWORD, REMOTE_ADDR="192.0.2.200")
    assert refused.status_code == 429
    assert refused["Retry-After"] == str(int(LOGIN_WINDOW.total_seconds()))
    assert "Too many log-in attempts" in refused.content.decode()
    assert "_auth_user_id" not in refused.wsgi_request.session


def test_attempts_from_one_address_are_throttled_whatever_the_name(
    client: Client, operator: User, project: Project, settings: LazySettings
) -> None:
    for number in range(settings.OPSAPI_LOGIN_ATTEMPTS):
        _log_in(client, f"user{number}", "wrong")
    assert _log_in(client).status_code == 429
    assert _log_in(Client(), REMOTE_ADDR="192.0.2.9").status_code == 302


def test_the_throttle_ends_with_its_window(
    client: Client, operator: User, project: Project, settings: LazySettings, noon: time_machine.Traveller
) -> None:
    settings.OPSAPI_LOGIN_ATTEMPTS = 1
    _log_in(client, "ada", "wrong")
    noon.shift(LOGIN_WINDOW - timedelta(seconds=1))
    assert _log_in(client)["Retry-After"] == "1"
    noon.shift(timedelta(seconds=1))
    assert _log_in(client).status_code == 302


def test_what_was_typed_as_a_name_is_kept_nowhere(client: Client, project: Project) -> None:
    _log_in(client, "my secret password", "x")
    assert RateWindow.objects.count() == 2
    assert not RateWindow.objects.filter(bucket__contains="secret").exists()


def test_a_session_ends_with_the_role(console: Client, operator: User) -> None:
    assert console.get("/admin/").status_code == 200
    operator.grants.all().delete()
    answer = console.get("/admin/")
    assert answer.status_code == 302
    assert answer["Location"].startswith(LOGIN)


def test_log_ins_are_in_the_request_log(
    operator: User, project: Project, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "opsapi.requests")
    _log_in(Client(), "ada", "wrong")
    browser = Client()
    _log_in(browser)
    browser.get("/admin/")
    seen = [(line.getMessage(), line.__dict__["actor"]) for line in caplog.records]
    assert seen == [
        ("POST /admin/login/ 403", "-"),
        ("POST /admin/login/ 302", "ada"),
        ("GET /admin/ 200", "ada"),
    ]


@pytest.mark.parametrize("field", ["username", "password", "next"])
@pytest.mark.parametrize("value", ["\0", "a\0b", "x" * 5000, "\ud800".encode("utf-8", "surrogatepass")])
def test_no_log_in_however_odd_breaks_the_page(
    field: str, value: str | bytes, client: Client, project: Project
) -> None:
    typed: dict[str, Any] = {"username": "ada", "password": "wrong", "next": "/admin/"}
    assert client.post(LOGIN, {**typed, field: value}).status_code in {200, 403}


def test_a_log_in_leads_to_no_other_host(client: Client, operator: User, project: Project) -> None:
    answer = client.post(LOGIN + "?next=//evil.example.com/", {"username": "ada", "password": PASSWORD})
    assert "evil" not in answer["Location"]


def test_a_log_in_needs_the_token_of_its_form(operator: User, project: Project) -> None:
    assert _log_in(Client(enforce_csrf_checks=True)).status_code == 403


def test_logging_out_ends_the_session(console: Client) -> None:
    assert console.post(reverse("admin:logout")).status_code in {200, 302}
    assert console.get("/admin/").status_code == 302


def test_two_operators_have_sessions_of_their_own(console: Client, project: Project) -> None:
    make_operator(username="grace")
    other = Client()
    _log_in(other, "grace")
    assert "grace" in other.get("/admin/").content.decode()
    assert "grace" not in console.get("/admin/").content.decode()
