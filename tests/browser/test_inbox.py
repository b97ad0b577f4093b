"""The list and the page of alerts by mouse and by thumb: acknowledged in one click, and small on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from alerting.models import Alert
from opsapi.console.admin_urls import list_url, page_url
from tests.browser.accessibility import fits_its_window, is_for_everybody
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.chromium


def _alert(project: Project, name: str) -> Alert:
    return make_alert(project, facts={"hostname": f"{name}.harbour.example.com", "port": 27017})


def test_one_click_acknowledges_and_the_alert_leaves_the_tab(console: Page, project: Project) -> None:
    first, second = _alert(project, "first"), _alert(project, "second")
    console.goto(list_url(Alert))
    rows = console.locator("#result_list tr.data-row")
    expect(rows).to_have_count(2)
    rows.filter(has_text="first").get_by_role("button", name="Acknowledge for 1 hour").click()
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("second")
    first.refresh_from_db()
    second.refresh_from_db()
    assert first.acknowledged_until is not None
    assert second.acknowledged_until is None


def test_all_rows_are_acknowledged_in_two_clicks(console: Page, project: Project) -> None:
    for name in ("a", "b", "c"):
        _alert(project, name)
    console.goto(list_url(Alert))
    console.get_by_role("checkbox", name="Select all alerts on this page").check()
    console.get_by_role("button", name="Acknowledge 1 h", exact=True).click()
    expect(console.get_by_text("No alert needs you")).to_be_visible()
    assert not Alert.objects.filter(acknowledged_until=None).exists()


@pytest.mark.parametrize("width", [1280, 390])
def test_all_alerts_of_the_page_are_acknowledged_and_that_is_undone(
    width: int, console: Page, project: Project
) -> None:
    for name in ("a", "b"):
        _alert(project, name)
    console.set_viewport_size({"width": width, "height": 844})
    console.goto(list_url(Alert))
    button = console.get_by_role("button", name=re.compile("Acknowledge all 2"))
    expect(button).to_be_in_viewport(ratio=1)
    is_for_everybody(console)
    button.click()
    expect(console.get_by_text("No alert needs you")).to_be_visible()
    expect(console.get_by_text("Acknowledged: 2 alerts.")).to_be_visible()
    is_for_everybody(console)
    console.get_by_role("button", name="Undo").click()
    expect(console.locator("#result_list tr.data-row")).to_have_count(2)
    assert not Alert.objects.exclude(acknowledged_until=None).exists()


def test_on_a_phone_a_row_is_low_and_leads_to_its_alert(console: Page, project: Project) -> None:
    alert = _alert(project, "a-host-with-a-long-name")
    console.set_viewport_size({"width": 390, "height": 844})
    console.goto(list_url(Alert))
    row = console.locator("#result_list tr.data-row")
    box = row.bounding_box()
    assert box
    assert 44 <= box["height"] <= 64
    fits_its_window(console)
    is_for_everybody(console)
    row.click(position={"x": box["width"] / 3, "y": box["height"] - 6})
    expect(console).to_have_url(page_url(alert))
    button = console.get_by_role("button", name="Acknowledge 1 h")
    expect(button).to_be_in_viewport(ratio=1)
    fits_its_window(console)
    button.click()
    expect(console.get_by_role("region", name="Summary")).to_contain_text(re.compile("Acknowledged by"))
