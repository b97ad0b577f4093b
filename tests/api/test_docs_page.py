"""`/api/docs/`: the page is complete and loads everything from the platform, and its policy says so."""

import re

import pytest
from django.test import Client

from opsapi.api.links import PUBLIC
from tests.client import ApiClient
from tests.each import each

PATHS = ("/api/docs", "/api/docs/")
_NAMED = re.compile(r'(?:src|href|data-url)="([^"]*)"')
_ELSEWHERE = re.compile(r"(?:https?:)?//(?!\*)[\w.-]+\.\w+")
pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    """Somebody without a key."""
    return Client()


def fetched(browser: Client, path: str) -> str:
    """The text of a page or of a file, which has to be there."""
    answer = browser.get(path)
    assert answer.status_code == 200, path
    text = b"".join(answer).decode(errors="replace")
    answer.close()
    return text


@each("path", PATHS)
def test_everything_the_page_names_is_served(browser: Client, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("text/html")
    named = _NAMED.findall(answer.content.decode())
    assert len(named) == 7
    for address in named:
        assert fetched(browser, address), address


@each("path", [*PATHS, "/static/api/docs.js", "/static/api/docs.css"])
def test_no_other_host_is_named(browser: Client, path: str) -> None:
    assert not _ELSEWHERE.search(fetched(browser, path))


def test_headers_keep_browsers_from_loading_and_running_anything_else(browser: Client) -> None:
    answer = browser.get("/api/docs/")
    policy = answer.headers["Content-Security-Policy"]
    assert sorted(policy.split("; ")) == [
        "base-uri 'none'",
        "connect-src 'self'",
        "default-src 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "img-src 'self' data:",
        "script-src 'self'",
        "style-src 'self'",
    ]
    page = answer.content.decode()
    assert re.findall("<script>|<style|style=| on[a-z]+=", page) == []
    assert "<script src=" in page


@each("path", PATHS)
@each("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_another_method_is_refused_as_everywhere(path: str, method: str) -> None:
    answer = Client(enforce_csrf_checks=True).generic(method, path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
    assert answer.json()["errorCode"] == "METHOD_NOT_ALLOWED"


def test_head_has_no_body(browser: Client) -> None:
    answer = browser.head("/api/docs/")
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 0


def test_the_page_is_no_part_of_the_api(owner: ApiClient) -> None:
    assert owner.request("GET", f"{PUBLIC}/docs", base="").status_code == 404
