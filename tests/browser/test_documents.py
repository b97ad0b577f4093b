"""The documents in a real browser, where their policy is enforced; `faults` fails each blocked file."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import is_for_everybody
from tests.browser.viewports import PHONE, VIEWPORTS, Viewport

pytestmark = pytest.mark.chromium


def test_the_search_finds_a_page_without_a_log_in_and_leads_to_it(page: Page) -> None:
    page.goto("/docs/")
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Search the documents")).to_be_focused()
    page.keyboard.type("clusterMonitor")
    page.keyboard.press("Enter")
    page.get_by_role("main").get_by_role("link", name="Watch MongoDB").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Watch MongoDB")


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
@pytest.mark.parametrize("path", ["", "channels/slack.html", "life-of-an-alert.html", "search.html?q=window"])
def test_pages_are_for_everybody(page: Page, look: Viewport, path: str) -> None:
    page.goto(f"/docs/{path}")
    is_for_everybody(page)


@pytest.mark.parametrize("look", [PHONE], ids=str)
def test_a_phone_opens_the_navigation_and_the_headings(page: Page, look: Viewport) -> None:
    page.goto("/docs/how-to/deploy.html")
    link = page.get_by_role("link", name="Quickstart")
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Menu").click()
    link.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Quickstart")
    page.get_by_text("On this page").locator("visible=true").click()
    expect(page.get_by_role("listitem").get_by_role("link").locator("visible=true").first).to_be_visible()


def test_the_choice_of_colours_is_that_of_the_console_and_lasts(page: Page) -> None:
    page.goto("/docs/")
    button = page.get_by_role("button", name="Colours")
    for name in ("light", "dark"):
        button.click()
        expect(button).to_have_accessible_name(f"Colours: {name}")
    assert page.evaluate("localStorage.getItem('adminTheme')") == '"dark"'
    page.goto("/docs/glossary.html")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"


def test_code_is_copied(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/docs/how-to/install.html")
    code = page.locator(".code").first
    code.hover()
    code.get_by_role("button", name="Copy").click()
    expect(code.get_by_role("button")).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == code.locator("pre").inner_text()


def test_the_console_opens_the_document_of_a_page(console: Page) -> None:
    console.goto("/admin/automation/agent/")
    with console.expect_popup() as opened:
        console.get_by_role("link", name="Help for this page").click()
    expect(opened.value.get_by_role("heading", level=1)).to_contain_text("Add an agent")
