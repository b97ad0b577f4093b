"""The question mark in the header of each page of the console, which opens its document."""

import re
from collections.abc import Iterator

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import URLResolver, get_resolver, reverse

from accesslist.models import Project
from automation.models import Agent
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.navigation import CONSOLE_DOCUMENT, OWN_HELP
from opsapi.console.sitemap import page_links
from tests.admin.operators import page_of
from tests.admin.rows import fill, make_operator
from tests.architecture.test_documents import anchors
from tests.documents import ROOT
from tests.each import each

ADMINS = [pages for pages in admin.site._registry.values() if isinstance(pages, ConsoleAdmin)]
DOCUMENTS = {pages.help for pages in ADMINS} | {pages.help_of_row for pages in ADMINS} - {""}
DOCUMENTS |= {link.help for link in page_links()} | {*OWN_HELP.values(), CONSOLE_DOCUMENT}
_LINK = re.compile(r'<a [^>]*href="(/docs/[^"]*)"[^>]*aria-label="Help for this page, in a new tab"')


@pytest.fixture
def browser(project: Project) -> Client:
    """A Global owner's."""
    made = Client()
    made.force_login(make_operator())
    return made


def help_link(browser: Client, url: str, status: int = 200) -> str:
    """Where the one question mark of a page leads."""
    answer = browser.get(url)
    assert answer.status_code == status
    (link,) = _LINK.findall(answer.content.decode())
    return str(link)


def _url_names(resolver: URLResolver) -> Iterator[str | None]:
    """The names of all paths."""
    for pattern in resolver.url_patterns:
        if isinstance(pattern, URLResolver):
            yield from _url_names(pattern)
        else:
            yield pattern.name


@each("document", sorted(DOCUMENTS))
def test_every_document_and_heading_exists(document: str) -> None:
    name, _, heading = document.partition("#")
    source = ROOT / "docs" / f"{name}.md"
    assert source.is_file()
    assert not heading or heading in anchors(source)


def test_every_entry_of_the_site_has_a_page() -> None:
    names = {name for name in _url_names(get_resolver()) if name}
    assert {
        entry for entry in OWN_HELP if not any(f"{name}_".startswith(f"{entry}_") for name in names)
    } == set()


@pytest.mark.slow
@pytest.mark.django_db
@each("pages", ADMINS, ids=lambda pages: pages.url_prefix)
def test_every_list_leads_to_its_document(pages: ConsoleAdmin, browser: Client) -> None:
    document, mark, heading = pages.help.partition("#")
    assert help_link(browser, pages.list_url()) == f"/docs/{document}.html{mark}{heading}"


@pytest.mark.django_db
def test_pages_with_a_document_of_their_own_lead_to_it(browser: Client, project: Project) -> None:
    assert help_link(browser, reverse("admin:automation_agent_add")) == "/docs/how-to/add-an-agent.html"
    fill(project)
    agent = Agent.objects.latest("pk")
    assert help_link(browser, page_of(agent)) == "/docs/runbooks/agent-down.html"
    assert help_link(browser, "/admin/").startswith("/docs/how-to/use-the-console.html#pages")
    for link in page_links():
        assert help_link(browser, reverse(link.url_name)).startswith(
            f"/docs/{link.help.partition('#')[0]}.html"
        )
    for url in (reverse("account"), reverse("account_password")):
        assert help_link(browser, url) == "/docs/how-to/use-the-console.html#log-in"


@pytest.mark.django_db
def test_a_missing_page_leads_to_the_document_of_the_console(browser: Client) -> None:
    assert help_link(browser, "/admin/nothing/", 404) == "/docs/how-to/use-the-console.html"


@pytest.mark.django_db
def test_the_log_in_has_help_without_a_session(project: Project) -> None:
    page = Client().get("/admin/login/").content.decode()
    assert 'href="/docs/how-to/use-the-console.html#log-in"' in page
