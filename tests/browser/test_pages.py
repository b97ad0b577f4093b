"""Every kind of page, in every look: no serious fault, and no wider than its window."""

from collections.abc import Iterator

import pytest
from django.db.models import Model
from playwright.sync_api import Page, expect

from accesslist.models import AccessListEntry, ApiKey, Project, User
from alerting.models import Alert, AlertConfig, MaintenanceWindow
from automation.models import AutomationRevision, Host
from events.models import Event
from integrations.models import Integration
from opsapi.console.admin_urls import list_url, page_url
from tests.admin.operators import action_url
from tests.admin.rows import fill, record_event
from tests.browser.accessibility import faults_of
from tests.browser.people import START
from tests.browser.viewports import VIEWPORTS, Viewport
from tests.factories.accesslist import PASSWORD
from tests.factories.alerting import make_config

pytestmark = pytest.mark.chromium

LISTED: tuple[type[Model], ...] = (Alert, Event, ApiKey)
ROWS: tuple[type[Model], ...] = (
    Alert,
    AlertConfig,
    MaintenanceWindow,
    Event,
    Host,
    Integration,
    ApiKey,
    User,
    AccessListEntry,
    AutomationRevision,
)


def addresses(project: Project) -> Iterator[str]:
    """Of pages that are there to be read, and of forms."""
    yield START
    for model in LISTED:
        yield list_url(model)
    for model in ROWS:
        yield page_url(model._default_manager.latest("pk"))
    yield f"{list_url(Alert)}?state=all"
    yield "/admin/alert-timeline/"
    alert = Alert.objects.latest("pk")
    yield action_url(alert, "acknowledge")
    yield action_url(alert, "window")
    yield action_url(AutomationRevision.objects.latest("pk"), "restore")
    yield f"/admin/integrations/integration/add/?group={project.id}&type=SCRAPER"
    yield "/admin/accesslist/accesslistentry/add/"
    yield f"/admin/alerting/alertconfig/do/presets/?group={project.id}"
    yield "/admin/account/"
    yield "/admin/account/time-zone/"
    yield "/admin/channels/"
    yield "/admin/quiet-times/"
    yield "/admin/system-health/"
    yield f"/admin/alerting/maintenancewindow/add/?group={project.id}&preset=sundays"
    yield f"/admin/accesslist/kiosk/add/?project={project.id}"


def _fill_config_form(page: Page) -> None:
    page.goto("/admin/alerting/alertconfig/add/")
    page.get_by_label("Event type").select_option("OUTSIDE_METRIC_THRESHOLD")
    page.get_by_role("button", name="Add matcher").click()
    page.get_by_role("group", name="Notification 1").get_by_label("Type").select_option("GROUP")


def _make_key(page: Page) -> None:
    page.goto("/admin/accesslist/apikey/add/")
    page.get_by_label("Description").fill("pipeline")
    page.get_by_label("GLOBAL_READ_ONLY").check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="Copy the private key")).to_be_visible()


def _set_up_second_factor(page: Page) -> None:
    page.goto("/admin/account/second-factor/")
    page.get_by_label("Your password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("img", name="QR code of the key below")).to_be_visible()


@pytest.mark.parametrize("look", VIEWPORTS, ids=str)
def test_every_page_is_for_everybody(look: Viewport, console: Page, project: Project) -> None:
    fill(project)
    record_event(project)
    faults: list[str] = []
    for address in addresses(project):
        console.goto(address)
        faults.extend(faults_of(console))
    for lead_to in (_fill_config_form, _make_key, _set_up_second_factor):
        lead_to(console)
        faults.extend(faults_of(console))
    assert not faults, "\n".join(faults)


def test_the_list_of_alert_configurations_fits_next_to_the_menu(console: Page, project: Project) -> None:
    make_config(project, eventTypeName="AUTOMATION_CONFIG_PUBLISHED_AUDIT")
    console.set_viewport_size({"width": 1360, "height": 850})
    console.goto(list_url(AlertConfig))
    table = console.locator("#result_list")
    assert table.evaluate("node => node.scrollWidth - node.parentElement.clientWidth") <= 0
