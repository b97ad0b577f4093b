"""Cookies of the console come back by TLS only where they left by TLS; elsewhere operators log in, too."""

from ipaddress import ip_network
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from accesslist.login.attempts import COOKIE
from accesslist.models import User
from tests.admin.logging_in import LOGIN
from tests.admin.reading import is_in
from tests.each import each
from tests.factories.accesslist import PASSWORD

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("project")]

PROXY, CLIENT = "10.0.0.1", "203.0.113.9"
THROUGH_PROXY = {"REMOTE_ADDR": PROXY, "HTTP_X_FORWARDED_FOR": CLIENT}


@pytest.fixture(autouse=True)
def _without_public_url(settings: Settings) -> None:
    assert settings.OPSAPI_PUBLIC_URL == ""
    assert not settings.SESSION_COOKIE_SECURE
    settings.OPSAPI_TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]


@pytest.fixture
def browser() -> Client:
    """It has all of Django's checks against forged requests."""
    return Client(enforce_csrf_checks=True)


def log_in(browser: Client, operator: User, origin: str, *, tls: bool = False, **said: Any) -> int:
    """The status that a page of the origin gets for its log-in form."""
    said |= {"HTTP_HOST": "testserver", "HTTP_ORIGIN": f"{origin}://testserver"}
    browser.get(LOGIN, secure=tls, **said)
    values = {"username": operator.username, "password": PASSWORD}
    token = {"csrfmiddlewaretoken": browser.cookies["csrftoken"].value}
    status: int = browser.post(LOGIN, values | token, secure=tls, **said).status_code
    return status


@each(
    "options",
    [
        pytest.param({"tls": True}, id="our own TLS"),
        pytest.param({**THROUGH_PROXY, "HTTP_X_FORWARDED_PROTO": "https"}, id="TLS of a trusted proxy"),
    ],
)
def test_cookies_that_leave_by_tls_are_secure(
    browser: Client, operator: User, options: dict[str, Any]
) -> None:
    assert log_in(browser, operator, "https", **options) == 302
    assert {"sessionid", "csrftoken", COOKIE} <= browser.cookies.keys()
    assert all(cookie["secure"] for cookie in browser.cookies.values())
    assert is_in(browser)


@each(
    "options",
    [
        pytest.param({}, id="loopback"),
        pytest.param({**THROUGH_PROXY, "HTTP_X_FORWARDED_PROTO": "http"}, id="a proxy without TLS"),
        pytest.param({"REMOTE_ADDR": CLIENT, "HTTP_X_FORWARDED_PROTO": "https"}, id="nobody we trust"),
    ],
)
def test_without_tls_operators_log_in_with_other_cookies(
    browser: Client, operator: User, options: dict[str, Any]
) -> None:
    assert log_in(browser, operator, "http", **options) == 302
    assert not any(cookie["secure"] for cookie in browser.cookies.values())
    assert is_in(browser)


def test_a_page_without_tls_cannot_send_a_form_to_one_with_it(browser: Client, operator: User) -> None:
    said: dict[str, Any] = {**THROUGH_PROXY, "HTTP_X_FORWARDED_PROTO": "https"}
    assert log_in(browser, operator, "http", **said) == 403
