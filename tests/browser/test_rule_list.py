"""The list of rules on a small screen and on a phone."""

from dataclasses import replace

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from tests.browser.viewports import LIGHT, PHONE, Viewport
from tests.factories.alerting import CONNECTIONS_ABOVE_100, make_config

pytestmark = pytest.mark.chromium
LIST = "/admin/alerting/alertconfig/"
MAIL = {"typeName": "EMAIL", "emailAddress": "a-long-name-of-the-people-on-call@example.com", "delayMin": 5}
SMALL = replace(LIGHT, width=1024)


def make_wide_rules(project: Project) -> None:
    make_config(
        project, **CONNECTIONS_ABOVE_100, name="Far too many connections " * 3, notifications=[MAIL] * 3
    )
    make_config(project, **CONNECTIONS_ABOVE_100, enabled=False)


@pytest.mark.parametrize("look", [PHONE], ids=str)
def test_a_row_is_low_and_a_link_on_a_phone(look: Viewport, console: Page, project: Project) -> None:
    make_wide_rules(project)
    console.goto(LIST)
    rows = console.locator(".data-row")
    expect(rows).to_have_count(2)
    for row in rows.all():
        box = row.bounding_box()
        assert box is not None
        assert box["height"] <= 64
        assert box["width"] <= look.width
    box = rows.first.bounding_box()
    assert box is not None
    console.mouse.click(box["x"] + box["width"] - 20, box["y"] + box["height"] - 8)
    expect(console.get_by_role("heading", name="Explain for a host")).to_be_visible()


@pytest.mark.parametrize("look", [SMALL], ids=str)
def test_a_row_fits_a_small_screen(look: Viewport, console: Page, project: Project) -> None:
    make_wide_rules(project)
    console.goto(LIST)
    table = console.locator("#result_list")
    expect(table).to_be_visible()
    assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth")
