"""The charts of a replica set: drawn, readable without sight, and led by the URL."""

import re
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from automation.choices import HostType
from automation.models import ReplicaSet
from opsapi import clock
from tests.admin.operators import page_of
from tests.browser.accessibility import is_for_everybody
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.factories.alerting import CONNECTIONS_ABOVE_100, make_config
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.chromium
KINDS = (HostType.REPLICA_PRIMARY, HostType.REPLICA_SECONDARY, HostType.REPLICA_SECONDARY)


@pytest.fixture
def replica_set(project: Project) -> ReplicaSet:
    """Three members, measured every ten minutes for two hours."""
    now = clock.now()
    for minutes in range(120, 0, -10):
        reports = [
            host_report(
                f"db{place}.example.com",
                type_name=kind,
                replica_set_name="rs0",
                CONNECTIONS=50.0 * place + minutes,
                CACHE_FILL_RATIO=40.0,
            )
            for place, kind in enumerate(KINDS)
        ]
        ingest(project, *reports, now=now - timedelta(minutes=minutes))
    make_config(project, **CONNECTIONS_ABOVE_100, name="Busy")
    return ReplicaSet.objects.get()


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_the_charts_of_a_set_are_for_everybody(
    look: Viewport, console: Page, replica_set: ReplicaSet
) -> None:
    console.goto(page_of(replica_set))
    chart = console.get_by_role("region", name="Connections", exact=True)
    expect(chart.locator("canvas")).to_be_visible()
    expect(chart).to_contain_text("db2.example.com:27017: 110 to 220, latest 110.")
    expect(chart.get_by_role("link", name="Busy (100)")).to_be_visible()
    chart.get_by_text("Show as table").click()
    expect(chart.get_by_role("columnheader", name="db1")).to_be_visible()
    is_for_everybody(console)


def test_an_old_value_of_a_line_has_its_age(console: Page, project: Project, replica_set: ReplicaSet) -> None:
    now = clock.now()

    def measured(place: int) -> dict[str, Any]:
        return {} if place == 2 else {"CONNECTIONS": 81.0, "OPLOG_SLAVE_LAG_MASTER_TIME": 401.0}

    reports = [
        host_report(
            f"db{place}.example.com",
            type_name=kind,
            replica_set_name="rs0",
            reachable=place != 2,
            **measured(place),
        )
        for place, kind in enumerate(KINDS)
    ]
    ingest(project, *reports, now=now)
    console.goto(f"{page_of(replica_set)}?range=1h")
    chart = console.get_by_role("region", name="Connections", exact=True)
    expect(chart.locator(".chart-now")).to_contain_text(
        re.compile(r"latestdb0 81db1 81db2 110 \(\d+ min.* ago\)")
    )
    lag = console.get_by_role("region", name="Replication lag", exact=True)
    expect(lag).to_contain_text("latest 6 min 41 s.")
    expect(lag.locator(".chart-now")).to_contain_text("db1 6 min 41 s")
    assert chart.locator(".chart-now").evaluate("(words) => words.scrollWidth <= words.clientWidth")


def test_the_url_has_the_range_and_the_added_chart(console: Page, replica_set: ReplicaSet) -> None:
    console.goto(page_of(replica_set))
    console.get_by_role("link", name="1 h", exact=True).click()
    expect(console).to_have_url(re.compile(r"\?range=1h$"))
    expect(console.get_by_role("link", name="1 h", exact=True)).to_have_attribute("aria-current", "true")
    console.get_by_label("Add a chart").select_option("OPCOUNTER_INSERT")
    expect(console).to_have_url(re.compile(r"\?range=1h&m=OPCOUNTER_INSERT$"))
    expect(console.get_by_text("No measurements in this time: Inserts")).to_be_visible()
    console.get_by_role("button", name="Earlier").click()
    expect(console).to_have_url(re.compile(r"since=.*&until="))
    console.reload()
    expect(console.get_by_role("link", name="1 h", exact=True)).not_to_have_attribute("aria-current", "true")
    expect(console.get_by_role("region", name="Connections", exact=True).locator("canvas")).to_be_visible()


def test_a_member_is_hidden_in_all_charts(console: Page, replica_set: ReplicaSet) -> None:
    console.goto(page_of(replica_set))
    member = console.get_by_role("button", name="db1", exact=True)
    expect(member).to_have_attribute("aria-pressed", "true")
    member.press("Enter")
    expect(member).to_have_attribute("aria-pressed", "false")
    expect(console.get_by_role("region", name="Connections", exact=True)).to_be_visible()
