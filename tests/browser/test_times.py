"""The zone in which the console shows times."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from accesslist.models import Project, User
from opsapi import clock
from opsapi.console.admin_urls import page_url
from tests.admin.alert_pages import make_window
from tests.browser.accessibility import is_for_everybody
from tests.browser.faults import Faults
from tests.browser.sessions import enter
from tests.browser.site import Site
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.chromium

CREATED = clock.parse_time("2026-01-15T23:30:00Z")


@pytest.fixture
def berlin(browser: Browser, context: BrowserContext, site: Site, operator: User) -> Iterator[Page]:
    """A page of a browser in Berlin."""
    abroad = browser.new_context(base_url=site.url, timezone_id="Europe/Berlin")
    faults = Faults(abroad, site.url)
    enter(abroad, site.url, operator)
    yield abroad.new_page()
    abroad.close()
    assert not faults.all(), "\n".join(faults.all())


def test_times_are_in_the_zone_of_the_browser_until_another_is_chosen(
    berlin: Page, project: Project, operator: User
) -> None:
    alert = make_alert(project, created=CREATED)
    berlin.goto(page_url(alert))
    started = berlin.get_by_role("region", name="Timeline").locator("time").first
    expect(started).to_have_text("2026-01-16 00:30:00 +01:00")
    expect(started).to_have_attribute("title", "2026-01-15 23:30:00 UTC")
    expect(berlin.get_by_text("Last refreshed")).to_have_text(re.compile(r"\+0[12]:00$"))

    account = berlin.get_by_role("button", name="Account of")
    zone = berlin.get_by_label("Times in")
    account.click()
    is_for_everybody(berlin)
    zone.select_option("America/New_York")
    expect(started).to_have_text("2026-01-15 18:30:00 -05:00")
    operator.refresh_from_db()
    assert operator.time_zone == "America/New_York"
    account.click()
    zone.select_option("UTC")
    expect(started).to_have_text("2026-01-15 23:30:00Z")


def test_messages_and_names_of_windows_are_in_the_zone(berlin: Page, project: Project) -> None:
    alert = make_alert(project, created=CREATED)
    start = CREATED.replace(year=2027)
    window = make_window(project, start=start, end=start + timedelta(minutes=45), description=None)
    berlin.goto(page_url(window))
    title = berlin.get_by_role("heading", name="2027-01-16 00:30 +01:00 to 2027-01-16 01:15 +01:00").first
    expect(title).to_be_visible()
    expect(title.locator("time").first).to_have_attribute("title", "2027-01-15 23:30 to 2027-01-16 00:15 UTC")
    berlin.goto(page_url(alert))
    berlin.get_by_role("button", name="Acknowledge 1 h").click()
    expect(berlin.get_by_text("Acknowledged until 20").first).to_have_text(re.compile(r" \+0[12]:00"))
