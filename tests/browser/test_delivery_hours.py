"""Delivery over time on Channels, on a phone: bars, the table behind them, and the time that they show."""

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from tests.browser.accessibility import is_for_everybody
from tests.browser.viewports import PHONE
from tests.factories.alerting import make_alert, make_notification

pytestmark = pytest.mark.chromium


@pytest.mark.parametrize("look", [PHONE], ids=str)
def test_delivery_is_drawn_and_listed_for_a_day_or_a_week(console: Page, project: Project) -> None:
    make_notification(project, alert=make_alert(project), status="DELIVERED")
    console.goto("/admin/channels/")
    expect(console.get_by_role("img", name="Delivery in the last 24 h as a bar chart")).to_be_visible()
    is_for_everybody(console)
    console.get_by_role("navigation", name="Time of the chart").get_by_role("link", name="7 days").click()
    expect(console.get_by_role("img", name="Delivery in the last 7 days as a bar chart")).to_be_visible()
    console.get_by_text("Show as table (1 in total)").click()
    expect(console.locator("#table-delivery tbody tr")).to_have_count(168)
