"""`/docs/`: the built documents, open to everybody, with files of the site and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.signals import setting_changed
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from opsapi import static_files
from opsapi.api.content_security import DOCUMENTS
from tests.api.test_content_security import policy
from tests.built_site import built_site
from tests.each import each

FILES = {
    "index.html": "text/html",
    "how-to/install.html": "text/html",
    "searchindex.js": "text/javascript",
    "_static/styles/furo.css": "text/css",
    "_static/icon.svg": "image/svg+xml",
}
"""Files of a site, and their types."""
POLICY = {name: " ".join(sources) for name, sources in DOCUMENTS.items()}
_LOADED = re.compile(r'<(?:script|link|img|source|iframe|form)\b[^>]*?(?:src|href|srcset|action)="([^"]*)"')
_INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:")

# Of closed answers, which end the connection of a request.
pytestmark = pytest.mark.django_db


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small site; a file that is none of its own is next to it."""
    made = tmp_path / "site"
    for name in FILES:
        file = made / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"the file {name}")
    (tmp_path / "secret.html").write_text("a secret")
    yield from _served(made, monkeypatch)


@pytest.fixture
def no_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A checkout in which nobody has built the documents."""
    yield from _served(tmp_path / "site", monkeypatch)


def _served(directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(static_files, "SITE", directory)
    _forget()
    yield directory
    monkeypatch.undo()
    _forget()


def _forget() -> None:
    """Let the middlewares be loaded again."""
    setting_changed.send(sender=None, setting="the site", value=None, enter=True)


def test_every_file_is_served_with_its_type_and_needs_neither_log_in_nor_database(
    site: Path, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for name, kind in FILES.items():
        path = "/docs/" if name == "index.html" else f"/docs/{name}"
        with django_assert_num_queries(0):
            answer = Client().get(path)
        assert (answer.status_code, b"".join(answer)) == (200, f"the file {name}".encode())
        assert answer["Content-Type"].partition(";")[0] == kind
        assert policy(answer) == POLICY
        assert not answer.cookies
        answer.close()


def test_no_script_and_no_style_of_a_page_itself_may_run(site: Path) -> None:
    answer = Client().get("/docs/")
    sources = {source for sources in policy(answer).values() for source in sources.split()}
    assert sources == {"'none'", "'self'", "data:"}
    answer.close()


def test_a_browser_that_has_the_page_gets_304(site: Path) -> None:
    first = Client().get("/docs/how-to/install.html")
    first.close()
    assert first["Cache-Control"] == "max-age=60, public"
    again = Client().get("/docs/how-to/install.html", headers={"if-none-match": first["ETag"]})
    assert again.status_code == 304


def test_a_page_that_was_built_again_is_served_whole(site: Path) -> None:
    browser = Client()
    browser.get("/docs/").close()
    (site / "index.html").write_text("a page that has become longer than it was at the start")
    answer = browser.get("/docs/")
    body = b"".join(answer)
    assert body.endswith(b"at the start")
    assert answer["Content-Length"] == str(len(body))
    answer.close()
    (site / "index.html").unlink()
    assert browser.get("/docs/").status_code == 404


def test_head_has_no_body(site: Path) -> None:
    answer = Client().head("/docs/")
    assert (answer.status_code, answer["Content-Length"]) == (200, str(len("the file index.html")))


@each("path", ["/docs/", "/docs/how-to/install.html", "/docs/nothing.html"])
@each("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(path: str, method: str, site: Path) -> None:
    answer = Client(enforce_csrf_checks=True).generic(method, path)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


def test_the_home_page_has_one_address(site: Path) -> None:
    for path in ("/docs", "/docs/index.html"):
        answer = Client().get(path, follow=False)
        assert answer.status_code == 302
    assert Client().get("/docs")["Location"] == "docs/"
    assert Client().get("/docs/index.html")["Location"] == "./"


@each(
    "path",
    [
        "/docs/nothing.html",
        "/docs/how-to",
        "/docs/how-to/",
        "/docs/../secret.html",
        "/docs/%2e%2e/secret.html",
        "/docs/..%2fsecret.html",
        "/docs/how-to/../../secret.html",
        "/docs/./index.html",
        "/docs//index.html",
        "/docs/..\\secret.html",
        "/docs/index.html%00",
        "/docs//etc/passwd",
    ],
)
def test_there_is_nothing_but_the_files_of_the_site(path: str, site: Path) -> None:
    answer = Client().get(path)
    assert answer.status_code == 404
    page = answer.content.decode()
    assert 'href="/docs/"' in page
    assert "secret" not in page
    assert "make docs" not in page
    assert policy(answer) == POLICY
    assert answer["Cache-Control"] == "no-store"


@each("path", ["/docs", "/docs/", "/docs/index.html"])
def test_a_checkout_without_the_site_says_how_to_build_it(path: str, no_site: Path) -> None:
    answer = Client().get(path)
    assert answer.status_code == 404
    assert "make docs" in answer.content.decode()


def test_other_paths_that_begin_alike_are_none_of_it(site: Path) -> None:
    answer = Client().get("/docsx")
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "RESOURCE_NOT_FOUND")


def test_the_built_pages_load_only_files_of_the_site_and_have_no_script_or_style_inside() -> None:
    built = built_site()
    pages = sorted(built.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text()
        assert _INLINE.findall(_without_code(text)) == [], page
        for name in _LOADED.findall(text):
            target = (page.parent / name.partition("?")[0].partition("#")[0]).resolve()
            assert target.is_relative_to(built), (page, name)
            assert target.exists(), (page, name)
    for sheet in built.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//", sheet.read_text()), sheet


def _without_code(page: str) -> str:
    return re.sub(r"<pre>.*?</pre>", "", page, flags=re.DOTALL)
