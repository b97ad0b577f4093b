"""`/docs/`: the documents as pages, open to everybody, with pictures and files and nothing else."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from opsapi.api.content_security import DOCUMENTS
from opsapi.documents import pages
from opsapi.documents.library import LONGEST_QUERY, MOST_HITS, Library
from tests.api.test_content_security import policy
from tests.documents import ROOT, documents
from tests.each import each

FILES = {
    "README.md": "# The product\n\nRead the [guide](docs/how-to/install.md#first-step).\n",
    "CHANGELOG.md": "# Changelog\n\n## Guide\n\nA new guide.\n",
    "docs/index.md": "# Home\n\n## Use\n\n[Start](../README.md), [install](how-to/install.md#first-step)\n",
    "docs/how-to/install.md": "# Install\n\n![one](../pictures/one.svg)\n\n## First step\n\nUnpack & go.\n",
    "docs/pictures/one.svg": "<svg/>",
    "docs/screenshots/upgrade-1.png": "a picture",
    ".env.example": "OPSAPI_BIND=127.0.0.1:8000",
    "LICENSE": "Permission is granted",
}
SECRETS = (
    "secret.txt",
    "notes.md",
    ".env",
    "docs/secret.txt",
    "docs/.secret.md",
    "docs/index.md~",
    "docs/.index.md.swp",
    "docs/pictures/.one.svg",
    "docs/pictures/.one.svg.swp",
    "docs/pictures/one.svg~",
    "deploy/opsapi.env",
    "deploy/nginx.conf",
    "deploy/.opsapi.env.swp",
    "deploy/opsapi.env~",
    "deploy/container/.env",
    "deploy/tls/key.pem",
)
"""Files of an operator, and copies that editors leave."""
LINKS = ("docs/linked.md", "docs/pictures/linked.svg", "deploy/linked.conf")
"""Symbolic links to a secret."""
POLICY = {name: " ".join(sources) for name, sources in DOCUMENTS.items()}
_LOADED = re.compile(r'<(?:script|link|img|source|iframe|form)\b[^>]*?(?:src|href|srcset|action)="([^"]*)"')
_LINKED = re.compile(r'<a\b[^>]*?href="([^"]*)"')
_INLINE = re.compile(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son[a-z]+=|javascript:")

# Of answers, which end the connection of a request.
pytestmark = pytest.mark.django_db


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A few small documents; files that are none of theirs are next to them."""
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    for name in SECRETS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("a secret")
    for name in LINKS:
        (tmp_path / name).symlink_to(tmp_path / ".env")
    monkeypatch.setattr(pages, "LIBRARY", Library(tmp_path))
    return tmp_path


def page(path: str) -> str:
    """The HTML of a page, which has to be there."""
    answer = Client().get(path)
    assert answer.status_code == 200, path
    return answer.content.decode()


@each(
    ("path", "kind", "content"),
    [
        ("/docs/", "text/html", "<h1>Home</h1>"),
        ("/docs/start.html", "text/html", "<h1>The product</h1>"),
        ("/docs/how-to/install.html", "text/html", "Unpack &amp; go."),
        ("/docs/pictures/one.svg", "image/svg+xml", "<svg/>"),
        ("/docs/screenshots/upgrade-1.png", "image/png", "a picture"),
        ("/docs/files/.env.example", "text/plain", "OPSAPI_BIND"),
        ("/docs/files/LICENSE", "text/plain", "Permission"),
        ("/docs/search.html?q=unpack", "text/html", "/docs/how-to/install.html#first-step"),
    ],
)
def test_it_is_served_with_its_type_and_needs_neither_log_in_nor_database(
    path: str, kind: str, content: str, library: Path, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        answer = Client().get(path)
    assert answer.status_code == 200
    assert content in answer.content.decode()
    assert answer["Content-Type"].partition(";")[0] == kind
    assert policy(answer) == POLICY
    assert not answer.cookies


def test_no_script_and_no_style_of_a_page_itself_may_run(library: Path) -> None:
    answer = Client().get("/docs/")
    sources = {source for sources in policy(answer).values() for source in sources.split()}
    assert sources == {"'none'", "'self'"}


def test_links_to_documents_lead_to_their_pages(library: Path) -> None:
    assert 'href="/docs/how-to/install.html#first-step"' in page("/docs/start.html")
    assert 'src="/docs/pictures/one.svg"' in page("/docs/how-to/install.html")
    assert 'id="first-step"' in page("/docs/how-to/install.html")


def test_the_navigation_has_the_links_of_the_home_page_and_says_where_you_are(library: Path) -> None:
    text = page("/docs/how-to/install.html")
    navigation = text[text.index('<nav class="navigation"') : text.index("<main")]
    assert re.findall(r">([^<>\n]+)</a>", navigation) == ["Start", "Install"]
    assert re.findall(r'href="([^"]*)" aria-current="page"', navigation) == ["/docs/how-to/install.html"]
    assert 'rel="prev" href="/docs/start.html"' in text
    assert 'rel="next"' not in text


def test_a_browser_that_has_the_page_gets_304(library: Path) -> None:
    first = Client().get("/docs/how-to/install.html")
    assert first["Cache-Control"] == "max-age=60, public"
    again = Client().get("/docs/how-to/install.html", headers={"if-none-match": first["ETag"]})
    assert again.status_code == 304


def test_a_page_is_compressed_for_a_browser_that_can_read_it() -> None:
    plain, compressed = (
        Client().get("/docs/decisions.html", headers={"accept-encoding": coding}) for coding in ("", "gzip")
    )
    assert compressed["Content-Encoding"] == "gzip"
    assert len(compressed.content) * 3 < len(plain.content)


def test_a_changed_page_is_shown_at_once_and_a_removed_page_is_missing(library: Path) -> None:
    path = library / "docs/how-to/install.md"
    assert "Unpack" in page("/docs/how-to/install.html")
    path.write_text("# Install\n\nA text that was changed.\n")
    assert "A text that was changed." in page("/docs/how-to/install.html")
    path.unlink()
    assert Client().get("/docs/how-to/install.html").status_code == 404
    assert "Nothing found" in page("/docs/search.html?q=changed")


def test_head_has_no_body(library: Path) -> None:
    answer = Client().head("/docs/")
    assert (answer.status_code, answer.content) == (200, b"")


@each("path", ["/docs/", "/docs/how-to/install.html", "/docs/nothing.html"])
@each("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(path: str, method: str, library: Path) -> None:
    answer = Client(enforce_csrf_checks=True).generic(method, path)
    assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD")


@each("path", ["/docs", "/docs/index.html"])
def test_the_home_page_has_one_address(path: str, library: Path) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer["Location"]) == (302, "/docs/")


@each(
    "path",
    [
        "/docs/nothing.html",
        "/docs/how-to",
        "/docs/how-to/",
        "/docs/how-to/install.md",
        "/docs/secret.txt",
        "/docs/files/secret.txt",
        "/docs/files/docs/secret.txt",
        "/docs/../secret.txt",
        "/docs/%2e%2e/secret.txt",
        "/docs/..%2fsecret.txt",
        "/docs/how-to/../../secret.txt",
        "/docs/./index.html",
        "/docs//index.html",
        "/docs/..\\secret.txt",
        "/docs/index.html%00",
        "/docs//etc/passwd",
    ],
)
def test_there_is_nothing_but_the_documents(path: str, library: Path) -> None:
    answer = Client().get(path)
    assert answer.status_code == 404
    text = answer.content.decode()
    assert 'href="/docs/"' in text
    assert "a secret" not in text
    assert policy(answer) == POLICY
    assert answer["Cache-Control"] == "no-store"


def test_files_of_the_operator_and_of_editors_are_not_published(library: Path) -> None:
    stray = [library / name for name in (*SECRETS, *LINKS)]
    published = {*pages.LIBRARY.pages.values(), *pages.LIBRARY.files.values()}
    assert published.isdisjoint(stray)
    assert published == {library / name for name in FILES}
    assert "Nothing found" in page("/docs/search.html?q=secret")


@each("name", [*SECRETS, *LINKS])
def test_no_address_leads_to_a_file_of_the_operator(name: str, library: Path) -> None:
    for path in (name, f"files/{name}", name.removeprefix("docs/"), name.removesuffix(".md") + ".html"):
        answer = Client().get(f"/docs/{path}")
        assert answer.status_code == 404
        assert "a secret" not in answer.content.decode()


def test_an_edited_file_of_settings_is_not_published() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in Library(ROOT).files.values()}
    assert names == {"docs", ".env.example", "LICENSE"}


def test_other_paths_that_begin_alike_are_none_of_it(library: Path) -> None:
    answer = Client().get("/docsx")
    assert (answer.status_code, answer.json()["errorCode"]) == (404, "RESOURCE_NOT_FOUND")


def test_a_search_finds_all_words_or_says_that_it_has_only_some(library: Path) -> None:
    assert "1 section with" in page("/docs/search.html?q=UNPACK+go")
    assert "No section has all words; 1 section has some of them." in page(
        "/docs/search.html?q=unpack+absent"
    )
    assert "Nothing found" in page("/docs/search.html?q=absent")


@each("query", ["", "%20", "x" * (LONGEST_QUERY + 1), "%00", "(((", "%3Cb%3E", "a+" * (LONGEST_QUERY // 2)])
def test_every_search_is_answered_and_shown_as_text(query: str) -> None:
    text = page(f"/docs/search.html?q={query}")
    assert "<b>" not in text
    assert text.count("<li>\n      <a") <= MOST_HITS


def test_guides_come_before_the_history_and_the_pages_for_developers(library: Path) -> None:
    found = re.findall(r'<li>\n      <a href="/docs/([^"#]*)', page("/docs/search.html?q=guide"))
    assert found == ["start.html", "changelog.html"]


def test_a_search_says_how_many_of_the_hits_it_shows() -> None:
    assert f"The best {MOST_HITS} are shown." in page("/docs/search.html?q=the")


@pytest.fixture(scope="module")
def site() -> Iterator[dict[str, str]]:
    """Every page of the documents of this checkout, by its path."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pages, "LIBRARY", Library(ROOT))
        yield {f"/docs/{name}": _shown(name) for name in pages.LIBRARY.pages}


def _shown(name: str) -> str:
    return pages._page(name).content.decode()


@pytest.mark.slow
def test_every_document_has_a_page_that_the_navigation_leads_to(site: dict[str, str]) -> None:
    entries = [entry for part in pages.LIBRARY.navigation() for entry in part.entries]
    reached = {each.name for entry in entries for each in (entry, *entry.below)} | {"index.html"}
    assert reached == set(pages.LIBRARY.pages)
    assert len(reached) == len([path for path in documents() if not path.is_relative_to(ROOT / "deploy")])


@pytest.mark.slow
def test_every_link_and_anchor_of_every_page_leads_somewhere(site: dict[str, str]) -> None:
    ids = {path: set(re.findall(r'\bid="([^"]+)"', text)) for path, text in site.items()}
    ids["/docs/"] = ids["/docs/index.html"]
    files = {f"/docs/{name}" for name in pages.LIBRARY.files}
    for path, text in site.items():
        for link in _LINKED.findall(text):
            address, _, anchor = link.partition("#")
            if address.startswith(("https://", "http://")) or address in files:
                continue
            target = ids.get(address or path)
            assert address == "/admin/" or target is not None, (path, link)
            assert not anchor or unquote(anchor) in (target or ()), (path, link)


@pytest.mark.slow
def test_pages_load_only_what_the_platform_serves_and_have_no_script_or_style_inside(
    site: dict[str, str],
) -> None:
    loaded = set()
    for path, text in site.items():
        assert _INLINE.findall(re.sub(r"<pre.*?</pre>", "", text, flags=re.DOTALL)) == [], path
        loaded.update(_LOADED.findall(text))
    assert {name for name in loaded if not name.startswith(("/docs/", "/static/"))} == set()
    for name in loaded:
        answer = Client().get(name)
        assert answer.status_code == 200, name
        answer.close()
