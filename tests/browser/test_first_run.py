"""The first set-up, from the link that the server prints to the page that adds an agent."""

import pytest
from playwright.sync_api import Page, expect

from opsapi.page_paths import SETUP_PATH
from opsapi.setup_link import setup_link
from tests.browser.accessibility import fits_its_window, no_serious_faults
from tests.browser.faults import Faults
from tests.browser.people import LOGIN, fill_in_the_set_up
from tests.browser.viewports import VIEWPORTS, Viewport

pytestmark = pytest.mark.chromium


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_from_the_link_of_the_server_to_the_first_agent(look: Viewport, page: Page, faults: Faults) -> None:
    page.context.set_extra_http_headers({"X-Forwarded-For": "192.0.2.1"})
    page.goto(LOGIN)
    _is_for_everybody(page)
    page.get_by_role("link", name="Enter the token").click()
    _is_for_everybody(page)
    page.goto(f"{SETUP_PATH}#{setup_link().partition('#')[2]}")
    expect(page.get_by_label("First name")).to_be_visible()
    expect(page).to_have_url(SETUP_PATH)
    _is_for_everybody(page)
    fill_in_the_set_up(page)
    steps = page.get_by_role("list", name="Steps of the set-up").get_by_role("listitem")
    expect(steps.nth(1)).to_have_attribute("aria-current", "step")
    _is_for_everybody(page)
    page.get_by_role("link", name="Add agent").last.click()
    expect(steps.nth(2)).to_have_attribute("aria-current", "step")
    expect(page.get_by_role("button", name="Create key")).to_be_visible()
    _is_for_everybody(page)
    expect(page.get_by_role("combobox", name="Project")).to_contain_text("first-project")


def _is_for_everybody(page: Page) -> None:
    no_serious_faults(page)
    fits_its_window(page)
