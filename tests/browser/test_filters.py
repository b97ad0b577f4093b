"""The filters of a list without a mouse, and what a window mutes while its form is filled in."""

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from alerting.models import Alert, MaintenanceWindow
from opsapi.console.admin_urls import list_url
from tests.browser.accessibility import fits_its_window, is_for_everybody, no_serious_faults, tab_to
from tests.browser.viewports import LIGHT, PHONE, VIEWPORTS
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host
from tests.hostile.budget import LONG

pytestmark = pytest.mark.chromium


def _skip(page: Page) -> None:
    tab_to(page.get_by_role("link", name="Skip to the content"))
    page.keyboard.press("Enter")


@pytest.mark.parametrize("look", [LIGHT, PHONE] if LONG else [LIGHT], ids=str)
def test_filters_are_opened_closed_chosen_and_taken_off_by_keyboard(console: Page, project: Project) -> None:
    make_alert(project, facts={"hostname": "critical.example.com", "port": 27017}, severity="CRITICAL")
    make_alert(project, facts={"hostname": "info.example.com", "port": 27017}, severity="INFO")
    console.goto(list_url(Alert))
    button, panel = (
        console.get_by_role("button", name="Filters", exact=True),
        console.get_by_role("region", name="Filters"),
    )
    severity = panel.get_by_role("combobox", name="By severity")
    expect(button).to_have_attribute("aria-expanded", "false")
    expect(panel).to_be_hidden()

    _skip(console)
    tab_to(button)
    console.keyboard.press("Enter")
    expect(button).to_have_attribute("aria-expanded", "true")
    expect(severity).to_be_focused()
    console.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(button).to_be_focused()

    console.keyboard.press("Space")
    expect(severity).to_be_focused()
    console.keyboard.press("Enter")
    expect(severity).to_have_attribute("aria-expanded", "true")
    console.keyboard.press("Escape")
    expect(severity).to_have_attribute("aria-expanded", "false")
    expect(panel).to_be_visible()
    console.keyboard.press("Enter")
    marked = console.locator(".select2-results__option--highlighted")
    for _ in range(8):
        if marked.inner_text() == "Critical":
            break
        console.keyboard.press("ArrowDown")
    console.keyboard.press("Enter")
    expect(severity).to_contain_text("Critical")
    tab_to(panel.get_by_role("button", name="Apply filters"))
    console.keyboard.press("Enter")
    chip = console.get_by_role("link", name="Remove the filter Severity: Critical")
    expect(chip).to_be_visible()
    expect(console.get_by_text("info.example.com")).to_have_count(0)
    fits_its_window(console)

    _skip(console)
    tab_to(chip)
    console.keyboard.press("Enter")
    expect(console.get_by_text("info.example.com").first).to_be_visible()
    expect(chip).to_have_count(0)


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_open_filters_and_chips_are_accessible(console: Page, project: Project) -> None:
    make_alert(project)
    console.goto(f"{list_url(Alert)}?severity=CRITICAL&group__id__exact={project.id}")
    console.get_by_role("button", name="Filters", exact=True).click()
    is_for_everybody(console)


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_a_new_window_says_what_it_mutes_while_it_is_filled_in(console: Page, project: Project) -> None:
    for name in ("db1", "db2"):
        make_host(project, name)
    console.goto(f"{list_url(MaintenanceWindow)}add/?group={project.id}")
    says = console.locator("#mute-extent")
    expect(says).not_to_contain_text(project.name)
    console.get_by_label("Host", exact=True).check()
    expect(says).to_contain_text(f"all host alerts of 2 hosts in {project.name}")
    console.get_by_text("More alert types").click()
    console.get_by_label("Backup", exact=True).check()
    expect(says).to_contain_text("all backup alerts and all host alerts of 2 hosts")
    no_serious_faults(console)
    fits_its_window(console)
    assert not MaintenanceWindow.objects.exists()


def test_the_chips_of_changes_do_not_touch_the_filters_below(console: Page, project: Project) -> None:
    console.goto("/admin/events/event/?last=day&by=people")
    chips = console.get_by_role("list", name="Active filters")
    below = console.locator("details.event-filters")
    ends, begins = chips.bounding_box(), below.bounding_box()
    assert ends
    assert begins
    assert begins["y"] - (ends["y"] + ends["height"]) >= 8
