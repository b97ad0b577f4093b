"""Content-Security-Policy: every answer has one, strict but for the pages that need more."""

from typing import Any
from unittest.mock import patch

import pytest
from django.db import OperationalError
from django.test import Client

from accesslist.models import Project
from opsapi.api.links import PUBLIC
from tests.admin.rows import make_operator
from tests.client import ApiClient
from tests.each import each

STRICT = {
    "default-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
}
CONSOLE = {
    **STRICT,
    "script-src": "'self' 'unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
}
pytestmark = pytest.mark.django_db


def policy(answer: Any) -> dict[str, str]:
    """The directives of an answer."""
    directives = (directive.partition(" ") for directive in answer["Content-Security-Policy"].split("; "))
    return {name: sources for name, _, sources in directives}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", f"{PUBLIC}/groups", 401),
        ("GET", "/", 302),
        ("GET", "/admin", 302),
        ("GET", "/nothing", 404),
        ("GET", f"{PUBLIC}/nothing", 401),
        ("POST", "/health/live", 405),
        ("GET", "/health/live", 200),
        ("HEAD", "/health/ready", 503),
        ("GET", "/metrics", 200),
        ("GET", "/api/schema", 200),
        ("POST", "/api/docs", 405),
        ("GET", "/static/api/docs.js", 200),
        ("GET", "/static/console/console.css", 200),
        ("GET", "/static/nothing.js", 404),
        ("POST", f"{PUBLIC}/unauth/users", 415),
    ],
)
def test_browsers_may_load_and_run_nothing(method: str, path: str, status: int) -> None:
    answer = Client(raise_request_exception=False).generic(method, path)
    assert answer.status_code == status
    assert policy(answer) == STRICT
    answer.close()


def test_responses_to_keys_allow_nothing(owner: ApiClient, project: Project) -> None:
    for path, status in (
        ("", 200),
        ("/groups", 200),
        (f"/groups/{'0' * 24}", 404),
        ("/groups?pageNum=x", 400),
    ):
        answer = owner.get(path)
        assert (answer.status_code, policy(answer)) == (status, STRICT)


def test_nor_when_something_goes_wrong(db: None) -> None:
    browser = Client(raise_request_exception=False)
    for error, status in ((OperationalError("gone"), 503), (RuntimeError("unforeseen"), 500)):
        with patch("opsapi.api.root.render", side_effect=error):
            answer = browser.get("/api/docs")
        assert (answer.status_code, policy(answer)) == (status, STRICT)
    answer = browser.get("/health/live", headers={"host": "bad host"})
    assert policy(answer) == STRICT


@each("path", ["/admin/", "/admin/login/", "/admin/nothing/", "/admin/accesslist/user/"])
@each("logged_in", [True, False])
def test_the_console_allows_what_its_theme_needs(path: str, logged_in: bool, project: Project) -> None:
    browser = Client()
    if logged_in:
        browser.force_login(make_operator())
    answer = browser.get(path)
    assert answer.status_code in {200, 302, 404}
    assert policy(answer) == CONSOLE


def test_no_page_can_be_framed(client: Client, project: Project) -> None:
    for path in ("/admin/login/", "/api/docs", "/health/live"):
        answer = client.get(path)
        assert answer["X-Frame-Options"] == "DENY"
        assert policy(answer)["frame-ancestors"] == "'none'"
