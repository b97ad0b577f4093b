"""The shift report and the alerts: nothing is cut, on a small screen and on paper."""

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from opsapi import clock
from tests.browser.viewports import LIGHT
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.chromium

SHIFT = "/admin/shift-report/"
INBOX = "/admin/alerting/alert/?state=all"
TIMELINE = "/admin/alert-timeline/"
_A4 = 718
"""The width of a printed page in CSS pixels."""
_CUT = """() => [document.documentElement, ...document.querySelectorAll(".console-scroll")]
    .filter((part) => part.scrollWidth > part.clientWidth).map((part) => part.outerHTML.slice(0, 80))"""


@pytest.fixture(autouse=True)
def _alert(project: Project) -> None:
    """An acknowledged alert with long names."""
    make_alert(
        project,
        event_type="OUTSIDE_METRIC_THRESHOLD",
        metric_name="OP_EXECUTION_TIME_READS",
        facts={"hostname": "sessions-b.harbour.example", "port": 27017},
        acknowledged_until=clock.now() + timedelta(hours=1),
        acknowledging_username="mira@harbour.example",
        acknowledgement_comment="Disk is being replaced, resync will take until tonight, see change 4117",
    )


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_the_shift_report_has_room_for_acknowledgements(console: Page, width: int) -> None:
    console.set_viewport_size({"width": width, "height": LIGHT.height})
    console.goto(SHIFT)
    expect(console.get_by_text("Acknowledged by mira@harbour.example: Disk is").first).to_be_visible()
    assert console.evaluate(_CUT) == []


def test_a_printed_shift_report_has_tables(console: Page) -> None:
    console.set_viewport_size({"width": _A4, "height": 1000})
    console.goto(SHIFT)
    console.emulate_media(media="print")
    expect(console.get_by_role("columnheader", name="Lasted").first).to_be_in_viewport(ratio=1)
    row = console.get_by_role("row").filter(has_text="sessions-b.harbour.example:27017").first
    box = row.bounding_box()
    assert box is not None
    assert box["height"] < 80
    assert console.evaluate(_CUT) == []
    expect(console.get_by_role("button")).to_have_count(0)


def test_a_printed_list_of_alerts_has_nothing_to_click(console: Page) -> None:
    console.set_viewport_size({"width": _A4, "height": 1000})
    console.goto(INBOX)
    console.emulate_media(media="print")
    expect(console.locator(".inbox-target").first).to_be_visible()
    expect(console.get_by_role("checkbox")).to_have_count(0)
    expect(console.get_by_role("button")).to_have_count(0)


def test_the_times_of_the_timeline_are_not_cut_at_its_edges(console: Page) -> None:
    console.goto(TIMELINE)
    axis = console.locator(".gantt-axis svg")
    assert axis.evaluate("(drawn) => getComputedStyle(drawn).overflow") == "visible"
