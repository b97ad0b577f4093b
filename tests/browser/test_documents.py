"""The documents in a real browser, where their policy is enforced; `faults` fails each blocked file."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import faults_of, fits_its_window
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.built_site import built_site

pytestmark = pytest.mark.chromium


@pytest.fixture(autouse=True)
def built() -> None:
    """The real pages."""
    built_site()


def test_the_search_finds_a_page_without_a_log_in_and_leads_to_it(page: Page) -> None:
    page.goto("/docs/")
    page.get_by_role("textbox", name="Search").fill("clusterMonitor")
    page.keyboard.press("Enter")
    page.get_by_role("main").get_by_role("link", name="Watch MongoDB").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Watch MongoDB")


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_pages_fit_every_window(page: Page, look: Viewport) -> None:
    for path in ("/docs/", "/docs/channels/slack.html", "/docs/life-of-an-alert.html"):
        page.goto(path)
        assert faults_of(page, fits_its_window) == []


def test_the_console_opens_the_document_of_a_page(console: Page) -> None:
    console.goto("/admin/automation/agent/")
    with console.expect_popup() as opened:
        console.get_by_role("link", name="Help for this page").click()
    expect(opened.value.get_by_role("heading", level=1)).to_contain_text("Add an agent")
