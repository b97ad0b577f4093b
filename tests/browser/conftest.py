"""One browser and one server for all tests here, one context of it for each of them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from accesslist.models import Project, User
from tests.admin.rows import make_operator
from tests.browser.chromium import chromium, new_context
from tests.browser.faults import Faults
from tests.browser.sessions import enter
from tests.browser.site import Site
from tests.browser.viewports import LIGHT, Viewport
from tests.receivers import http_receiver

__all__ = ["http_receiver"]


# Of the package and not of the session: playwright runs an event loop in this thread until it ends, with
# which neither asyncio nor Django's ORM can be used by the tests of other directories.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A running Chromium."""
    with pytest.MonkeyPatch.context() as patch:
        # Nothing runs in that loop but playwright's own: here the ORM is as safe as ever.
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        with chromium() as started:
            yield started


@pytest.fixture(scope="package")
def site() -> Iterator[Site]:
    """The platform's pages, served."""
    with Site().running() as running:
        yield running


@pytest.fixture
def look() -> Viewport:
    """How pages are looked at; a test that parametrizes `look` says otherwise."""
    return LIGHT


@pytest.fixture
def context(browser: Browser, site: Site, look: Viewport, transactional_db: None) -> Iterator[BrowserContext]:
    """A browser that was never here before, on a database with nothing in it."""
    made = new_context(browser, site.url, look)
    yield made
    made.close()
    site.settle()


@pytest.fixture(autouse=True)
def faults(context: BrowserContext, site: Site) -> Iterator[Faults]:
    """What pages did and must not do: it fails the test at its end."""
    watching = Faults(context, site.url)
    yield watching
    context.close()
    assert not watching.all(), "\n".join(watching.all())


@pytest.fixture
def page(context: BrowserContext, faults: Faults) -> Page:
    """An empty page; `page.goto("/admin/")` opens one of ours."""
    return context.new_page()


@pytest.fixture
def operator(transactional_db: None) -> User:
    """A Global owner."""
    return make_operator(username="ada")


@pytest.fixture
def console(page: Page, site: Site, operator: User, project: Project) -> Page:
    """An empty page of a Global owner who has logged in; a project exists."""
    enter(page.context, site.url, operator)
    return page
