"""The keys of the console: they lead to pages, move in lists and acknowledge, and stay out of text fields."""

import re

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from alerting.models import Alert
from automation.models import Host
from opsapi.console.admin_urls import list_url
from tests.browser.accessibility import fits_its_window, is_for_everybody
from tests.browser.people import START
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.chromium


def test_keys_lead_to_an_entry_and_to_the_search(console: Page) -> None:
    console.goto(START)
    console.keyboard.type("gf")
    expect(console).to_have_url(re.compile(re.escape(list_url(Host))))
    console.wait_for_load_state()
    console.keyboard.type("/gh")
    expect(console.get_by_role("search").get_by_role("textbox")).to_have_value("gh")
    console.goto(START)
    console.keyboard.type("/")
    expect(console.get_by_role("combobox", name="Search the console")).to_be_focused()


def test_a_question_mark_shows_the_keys_and_they_can_be_turned_off(console: Page) -> None:
    console.goto(START)
    console.keyboard.type("?")
    keys = console.get_by_role("dialog", name="Keys")
    expect(keys.get_by_text("Quiet times")).to_be_visible()
    is_for_everybody(console)
    fits_its_window(console)
    keys.get_by_role("checkbox").uncheck()
    console.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    console.keyboard.type("/")
    expect(console.get_by_role("combobox", name="Search the console")).to_be_hidden()
    console.keyboard.type("?")
    expect(keys.get_by_role("checkbox")).not_to_be_checked()


def test_alerts_are_acknowledged_from_their_list(console: Page, project: Project) -> None:
    for name in ("a", "b", "c"):
        make_alert(project, facts={"hostname": f"{name}.example.com", "port": 27017})
    console.goto(list_url(Alert))
    rows = console.locator("#result_list tr.data-row")
    console.keyboard.type("j")
    expect(rows.nth(0).get_by_role("link").first).to_be_focused()
    console.keyboard.type("jk")
    expect(rows.nth(0).get_by_role("link").first).to_be_focused()
    console.keyboard.type("xjx")
    expect(rows.nth(1).get_by_role("checkbox")).to_be_checked()
    console.keyboard.type("a")
    expect(console.get_by_text("2 alerts")).to_be_visible()
    assert Alert.objects.exclude(acknowledged_until=None).count() == 2
    expect(rows).to_have_count(1)
    console.keyboard.type("jm")
    expect(console).to_have_url(re.compile("/do/window/$"))
