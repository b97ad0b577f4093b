"""A configuration is tried before it is saved: the page shows a sentence, a plot and a table, accessibly."""

from datetime import timedelta

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from alerting.models import AlertConfig
from automation.metrics import Metric
from opsapi import clock
from tests.browser.accessibility import is_for_everybody
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.chromium

ADD = "/admin/alerting/alertconfig/add/"


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_a_threshold_is_tried_and_then_saved(look: Viewport, console: Page, project: Project) -> None:
    now = clock.now()
    for minutes, number in ((50, 90.0), (40, 150.0), (30, 80.0), (20, 120.0), (10, 70.0)):
        ingest(project, host_report("db1", CONNECTIONS=number), now=now - timedelta(minutes=minutes))
    console.goto(f"{ADD}?group={project.id}")
    console.get_by_label("Event type").select_option("OUTSIDE_METRIC_THRESHOLD")
    threshold = console.get_by_role("group", name="Metric threshold", exact=True)
    threshold.get_by_label("Metric").select_option(Metric.CONNECTIONS.value)
    threshold.get_by_label("Operator").select_option("GREATER_THAN")
    threshold.get_by_label("Threshold", exact=True).fill("100")
    row = console.get_by_role("group", name="Notification 1")
    row.locator('[name$=".typeName"]').select_option("EMAIL")
    row.locator('[name$=".emailAddress"]').fill("oncall@example.com")
    console.get_by_role("button", name="Try on the last 7 days").click()
    expect(console.get_by_role("status")).to_contain_text("The configuration would have alerted 2 times")
    expect(console.get_by_role("status")).to_be_in_viewport()
    expect(console.get_by_role("img", name="2 alerts shaded")).to_be_visible()
    expect(console.get_by_role("cell", name="db1:27017")).to_have_count(2)
    is_for_everybody(console)
    console.get_by_role("main").get_by_role("button", name="Save", exact=True).last.click()
    expect(console).not_to_have_url(f"{ADD}?group={project.id}")
    assert AlertConfig.objects.get(group=project, event_type="OUTSIDE_METRIC_THRESHOLD")
