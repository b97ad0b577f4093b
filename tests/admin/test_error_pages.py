"""What the console answers where there is no page: pages that say what happened and where to go."""

from typing import Any, NoReturn

import pytest
from django.contrib import admin
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from accesslist.models import Project
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.roles import Role
from tests.admin.failing_urls import SECRET
from tests.admin.operators import action_url, browser_with
from tests.admin.reading import text_of
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import WEBHOOK, make_alert, make_config

NAVIGATION = 'id="nav-sidebar"'
HOME = 'href="/admin/"'


def _is_page(answer: Any, status: int) -> str:
    """The text of an error page, which has to lead to the start page."""
    text = text_of(answer)
    assert (answer.status_code, answer["Content-Type"]) == (status, "text/html; charset=utf-8")
    assert HOME in text
    assert "no-store" in answer["Cache-Control"]
    return text


def _what_it_says(text: str) -> str:
    return text.partition("console-error")[2].partition("</section>")[0]


@pytest.mark.slow
@pytest.mark.django_db
def test_an_unknown_id_is_not_found_on_the_page_of_every_model(console: Client) -> None:
    models = [model for model, pages in admin.site._registry.items() if isinstance(pages, ConsoleAdmin)]
    assert len(models) > 15
    for model in models:
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        for page in (
            reverse(f"admin:{name}_change", args=["0" * 24]),
            reverse(f"admin:{name}_do", args=["0" * 24, "delete"]),
        ):
            text = _is_page(console.get(page), 404)
            assert NAVIGATION in text
            assert "0" * 24 in text
            assert reverse(f"admin:{name}_changelist") in text


@pytest.mark.django_db
def test_an_id_is_escaped(console: Client) -> None:
    text = _is_page(console.get("/admin/alerting/alert/<script>alert(1)</change/"), 404)
    assert "<script>alert(1)" not in text


@pytest.mark.django_db
@each("path", ["/admin/nothing/", "/admin/alerting/nothing", "/admin/events/event/?q=%00"])
def test_a_path_without_a_page_is_a_page_in_the_frame(path: str, console: Client) -> None:
    assert NAVIGATION in _is_page(console.get(path), 404)


@pytest.mark.django_db
def test_an_unreadable_request_gets_a_page_in_the_frame(console: Client) -> None:
    assert NAVIGATION in _is_page(console.get("/admin/events/signal/?nothing=1"), 400)


@pytest.mark.django_db
def test_another_host_gets_no_frame(console: Client) -> None:
    text = _is_page(console.get("/admin/", headers={"host": "evil.example.com"}), 400)
    assert NAVIGATION not in text
    assert "ada" not in text


@pytest.mark.django_db
def test_a_refused_action_names_the_role_and_the_project(project: Project) -> None:
    config = make_config(project, notifications=[WEBHOOK])
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    for answer in (browser.get(action_url(config, "disable")), browser.post(action_url(config, "disable"))):
        text = _is_page(answer, 403)
        assert NAVIGATION in text
        assert Role.GROUP_MONITORING_ADMIN in text
        assert project.name in text


@pytest.mark.django_db
def test_a_refused_page_names_the_role(project: Project) -> None:
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    for page, role in (
        ("/admin/alerting/maintenancewindow/add/", Role.GROUP_MONITORING_ADMIN),
        ("/admin/events/signal/", Role.GLOBAL_READ_ONLY),
        (f"/admin/events/signal/{'1' * 8}/change/", Role.GLOBAL_READ_ONLY),
    ):
        assert role in _is_page(browser.get(page), 403), page


@pytest.mark.django_db
def test_an_invisible_row_looks_like_a_missing_row(project: Project) -> None:
    other = ProjectFactory.create(name="theirs")
    browser = browser_with(Role.GROUP_READ_ONLY, project=project)
    alert = make_alert(other)
    url = reverse("admin:alerting_alert_change", args=[alert.id])
    nothing = _is_page(browser.get(url.replace(alert.id, "0" * 24)), 404)
    text = _is_page(browser.get(url), 404)
    assert "theirs" not in text
    assert _what_it_says(text).replace(alert.id, "0" * 24) == _what_it_says(nothing)


@pytest.mark.django_db
def test_a_form_of_another_site_is_refused_on_a_page(console: Client) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.cookies = console.cookies
    assert NAVIGATION in _is_page(browser.post("/admin/accesslist/apikey/add/", {}), 403)
    assert NAVIGATION not in _is_page(Client(enforce_csrf_checks=True).post("/admin/login/", {}), 403)


@pytest.mark.django_db
@each("path", ["/admin/nothing/", f"/admin/alerting/alert/{'0' * 24}/change/"])
def test_visitors_are_redirected_to_the_log_in(path: str, project: Project) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/admin/login/")


@pytest.mark.django_db
@each("path", ["/nothing", "/api/nothing"])
def test_outside_of_the_console_errors_stay_documents(path: str, console: Client) -> None:
    answer = console.get(path)
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "RESOURCE_NOT_FOUND")


# Without a mark for the database: a statement would fail these tests, also one of the session.
@pytest.mark.urls("tests.admin.failing_urls")
@pytest.mark.parametrize(
    ("path", "status", "logged"), [("fails", 500, "unexpected error"), ("away", 503, "the database failed")]
)
def test_the_500_page_needs_no_database_and_shows_the_request_id(
    path: str, status: int, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    browser = Client(raise_request_exception=False)
    browser.cookies["sessionid"] = "a" * 32
    answer = browser.get(f"/admin/{path}/", headers={"X-Request-ID": "id-of-this-request"})
    text = _is_page(answer, status)
    assert "id-of-this-request" in text
    assert SECRET not in text
    assert logged in caplog.text
    assert SECRET in caplog.text


# Without a mark for the database: a statement would fail these tests.
@pytest.mark.urls("tests.admin.failing_urls")
@pytest.mark.parametrize(
    ("path", "status", "code", "logged"),
    [
        ("fails", 500, "UNEXPECTED_ERROR", "unexpected error"),
        ("away", 503, "SERVICE_UNAVAILABLE", "the database failed"),
    ],
)
def test_an_error_outside_of_the_console_is_logged_once_and_answered_without_its_cause(
    path: str, status: int, code: str, logged: str, caplog: pytest.LogCaptureFixture
) -> None:
    answer = Client(raise_request_exception=False).get(f"/{path}/")
    assert (answer.status_code, answer.json()["errorCode"]) == (status, code)
    assert SECRET not in answer.content.decode()
    assert [SECRET in caplog.text, caplog.text.count(logged)] == [True, 1]


@pytest.mark.parametrize(
    ("error", "status", "logged"),
    [(RuntimeError(SECRET), 500, "unexpected error"), (OperationalError(SECRET), 503, "the database failed")],
)
def test_an_error_of_a_middleware_is_logged_once(
    error: Exception,
    status: int,
    logged: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(SessionMiddleware, "process_request", fail)
    answer = Client(raise_request_exception=False).get("/health/live")
    assert answer.status_code == status
    assert SECRET not in answer.content.decode()
    assert [SECRET in caplog.text, caplog.text.count(logged)] == [True, 1]


@pytest.mark.django_db
@pytest.mark.urls("tests.admin.failing_urls")
def test_a_refusal_of_a_service_while_a_page_is_read_is_a_page(console: Client) -> None:
    assert NAVIGATION in _is_page(console.get("/admin/refuses/"), 404)
