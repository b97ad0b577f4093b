"""Home and hosts on a phone: alerts come first, before the first scroll, and rows are short."""

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from tests.admin.operators import page_of
from tests.browser.people import START
from tests.browser.viewports import PHONE, Viewport
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host

pytestmark = pytest.mark.chromium

_TOPS = """(parts) => parts
    .filter((part) => part.getClientRects().length && part.textContent.trim())
    .map((part) => [part.getAttribute("data-part"), part.getBoundingClientRect().top])
    .sort((one, other) => one[1] - other[1])
    .map(([name]) => name)"""


@pytest.mark.parametrize("look", [PHONE], ids=str)
def test_home_on_a_phone_shows_alerts_above_all_else(console: Page, project: Project, look: Viewport) -> None:
    make_host(project, "db1.example.com", down=True)
    make_alert(project, facts={"hostname": "db1.example.com", "port": 27017})
    console.goto(START)
    alerts = console.get_by_role("region", name="Open and pending alerts")
    expect(alerts).to_be_in_viewport()
    names = console.locator(".overview [data-part]").evaluate_all(_TOPS)
    assert names[0] == "alerts"
    assert {"notices", "checklists", "numbers", "map", "hosts"} <= set(names)
    row = alerts.get_by_role("row").filter(has_text="db1.example.com")
    expect(row).to_be_in_viewport(ratio=1)
    box = alerts.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= look.width


@pytest.mark.parametrize("look", [PHONE], ids=str)
def test_rows_of_alerts_and_hosts_are_links_of_two_lines(
    console: Page, project: Project, look: Viewport
) -> None:
    host = make_host(project, "sessions-b.harbour.example", down=True)
    facts = {"hostname": "sessions-b.harbour.example", "port": 27017, "hostId": host.id}
    alert = make_alert(project, facts=facts)
    for path, page in ((START, page_of(alert)), ("/admin/automation/host/", page_of(host))):
        console.goto(path)
        row = console.get_by_role("row").filter(has_text="sessions-b.harbour.example:27017").first
        expect(row).to_contain_text("down", ignore_case=True)
        box = row.bounding_box()
        assert box is not None
        assert box["height"] <= 64
        console.mouse.click(box["x"] + box["width"] - 12, box["y"] + box["height"] - 8)
        console.wait_for_url(f"**{page}**")
