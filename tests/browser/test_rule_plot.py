"""The plot in the form of a rule: a threshold that is dragged, and a dry run that follows the input."""

from datetime import timedelta

import pytest
from playwright.sync_api import Locator, Page, expect

from accesslist.models import Project
from alerting.models import AlertConfig
from opsapi import clock
from tests.browser.accessibility import is_for_everybody
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.factories.alerting import CONNECTIONS_ABOVE_100, make_config
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.chromium
MAIL = {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "delayMin": 0}
WORDS = "[data-plot-words]"
TRIAL = "[data-live-trial]"


@pytest.fixture
def config(project: Project, console: Page) -> AlertConfig:
    """A rule that db1 met twice in the last hour, and db2 never."""
    now = clock.now()
    for minutes, number in ((50, 90.0), (40, 150.0), (30, 80.0), (20, 120.0), (10, 70.0)):
        ingest(
            project,
            host_report("db1", CONNECTIONS=number),
            host_report("db2", CONNECTIONS=number / 3),
            now=now - timedelta(minutes=minutes),
        )
    return make_config(project, **CONNECTIONS_ABOVE_100, notifications=[MAIL])


def _open(console: Page, config: AlertConfig) -> None:
    console.goto(f"/admin/alerting/alertconfig/{config.id}/do/change/")


def _threshold(console: Page) -> Locator:
    condition = console.get_by_role("group", name="Metric threshold", exact=True)
    return condition.get_by_label("Threshold", exact=True)


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_the_form_says_what_the_rule_would_have_done(
    look: Viewport, console: Page, config: AlertConfig
) -> None:
    _open(console, config)
    expect(console.locator(TRIAL)).to_contain_text("would have alerted 2 times on 1 host")
    expect(console.locator(WORDS)).to_contain_text("db1:27017 would have alerted")
    is_for_everybody(console)


def test_dragging_the_line_writes_the_threshold_and_tries_it(console: Page, config: AlertConfig) -> None:
    _open(console, config)
    expect(console.locator(TRIAL)).to_contain_text("2 times")
    strip = console.locator(".rule-threshold")
    strip.scroll_into_view_if_needed()
    box, over = strip.bounding_box(), console.locator(".u-over").bounding_box()
    assert box is not None
    assert over is not None
    middle, x = box["y"] + box["height"] / 2, box["x"] + 40
    console.mouse.move(x, middle)
    console.mouse.down()
    # Halfway to the top: between the two peaks of db1.
    console.mouse.move(x, over["y"] + 0.2 * over["height"], steps=4)
    console.mouse.up()
    threshold = _threshold(console)
    expect(threshold).not_to_have_value("100")
    assert 120 < float(threshold.input_value()) < 150
    expect(console.locator(TRIAL)).to_contain_text("would have alerted once on 1 host")


def test_the_field_moves_the_line_by_keyboard(console: Page, config: AlertConfig) -> None:
    _open(console, config)
    expect(console.locator(WORDS)).to_contain_text("would have alerted")
    _threshold(console).fill("140")
    expect(console.locator(".rule-threshold")).to_have_attribute("data-value", "140")
    expect(console.locator(TRIAL)).to_contain_text("would have alerted once")
    _threshold(console).fill("1000")
    expect(console.locator(TRIAL)).to_contain_text("would not have alerted")
    expect(console.locator(WORDS)).to_contain_text("No host would have alerted.")


def test_a_rule_that_is_not_complete_is_plotted_and_not_tried(console: Page, config: AlertConfig) -> None:
    _open(console, config)
    expect(console.locator(TRIAL)).to_contain_text("2 times")
    _threshold(console).fill("")
    expect(console.locator(WORDS)).to_contain_text("Enter a threshold.")
    expect(console.locator(TRIAL)).to_contain_text("Once the form is complete")
    console.get_by_label("Event type").select_option("HOST_DOWN")
    expect(console.locator(WORDS)).to_be_hidden()
    expect(console.locator(TRIAL)).to_contain_text("would not have alerted")
