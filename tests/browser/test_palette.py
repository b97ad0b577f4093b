"""The search of the whole console, by keyboard alone and as screen readers see it."""

import re

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from opsapi.console.admin_urls import page_url
from tests.browser.accessibility import fits_its_window, is_for_everybody
from tests.browser.people import START
from tests.browser.viewports import LIGHT, PHONE
from tests.factories.automation import make_host

pytestmark = pytest.mark.chromium


@pytest.mark.parametrize("look", [LIGHT, PHONE], ids=str)
def test_the_keyboard_opens_the_page_of_a_host(console: Page, project: Project) -> None:
    make_host(project, "accounts-a.example.com")
    host = make_host(project, "accounts-c.example.com")
    console.goto(START)
    console.keyboard.press("Control+k")
    search = console.get_by_role("combobox", name="Search the console")
    expect(search).to_be_focused()
    expect(console.get_by_role("option", name="Alerts", exact=True)).to_be_visible()

    console.keyboard.type("ccounts")
    hosts = console.get_by_role("group", name="Hosts").get_by_role("option")
    expect(hosts).to_have_count(2)
    expect(search).to_have_attribute("aria-expanded", "true")
    expect(search).to_have_attribute("aria-activedescendant", "palette-option-0")
    expect(hosts.first).to_have_attribute("aria-selected", "true")
    console.keyboard.press("ArrowDown")
    expect(search).to_have_attribute("aria-activedescendant", "palette-option-1")
    expect(hosts.last).to_have_attribute("aria-selected", "true")
    is_for_everybody(console)
    fits_its_window(console)

    console.keyboard.press("Enter")
    expect(console).to_have_url(re.compile(re.escape(page_url(host))))


def test_it_says_that_nothing_is_found_and_closes_where_it_was_opened(console: Page) -> None:
    console.goto(START)
    button = console.get_by_role("button", name="Search", exact=True)
    button.click()
    search = console.get_by_role("combobox", name="Search the console")
    search.fill("nothing has this name")
    expect(console.get_by_text("Nothing found.")).to_be_visible()
    expect(search).to_have_attribute("aria-expanded", "false")
    is_for_everybody(console)
    console.keyboard.press("Escape")
    expect(search).to_be_hidden()
    expect(button).to_be_focused()
