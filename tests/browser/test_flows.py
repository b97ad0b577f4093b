"""What operators come for, by mouse: from the alert on the start page to its end."""

import csv
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from accesslist.models import Project, User
from alerting.models import Alert, AlertConfig, MaintenanceWindow
from automation.models import Host
from opsapi import clock
from opsapi.console.admin_urls import list_url, page_url
from opsapi.roles import Role
from tests.admin.rows import record_event
from tests.browser.faults import Faults
from tests.browser.people import START, log_in
from tests.browser.sessions import enter
from tests.browser.site import Site
from tests.factories.accesslist import PASSWORD, ProjectFactory, UserFactory
from tests.factories.alerting import make_alert, make_config
from tests.factories.automation import host_report, ingest

pytestmark = pytest.mark.chromium

COMMENT = "The disk is being replaced."


def _alert(project: Project, hostname: str) -> Alert:
    config = make_config(project)
    return make_alert(project, config_id=config.id, facts={"hostname": hostname, "port": 27017})


def _part(page: Page, name: str) -> Locator:
    return page.get_by_role("region", name=name)


def test_an_alert_is_acknowledged_and_muted(page: Page, operator: User, project: Project) -> None:
    alert = _alert(project, "db1.example.com")
    log_in(page, operator.username, PASSWORD)
    row = _part(page, "Open and pending alerts").get_by_role("row").filter(has_text="db1.example.com")
    row.get_by_role("link", name="Host down").click()
    expect(page).to_have_url(page_url(alert))

    page.get_by_role("link", name="Acknowledge").click()
    page.get_by_label("4 hours").check()
    page.get_by_label("Comment").fill(COMMENT)
    page.get_by_role("button", name="Acknowledge").click()
    expect(_part(page, "Summary")).to_contain_text("by ada until")
    happened = _part(page, "Timeline")
    expect(happened).to_contain_text(COMMENT)
    expect(happened).to_contain_text("by ada")

    page.get_by_role("link", name="Create maintenance window").click()
    page.get_by_role("button", name="Create maintenance window").click()
    expect(page.get_by_text("Maintenance window created")).to_be_visible()
    expect(page.get_by_text(f"all host alerts of 0 hosts in {project.name}")).to_be_visible()
    window = MaintenanceWindow.objects.get(group=project)
    assert window.alert_types == ["HOST"]
    assert window.start <= clock.now() < window.end


def test_selected_hosts_are_muted_every_week_after_a_preview(console: Page, project: Project) -> None:
    ingest(project, *(host_report(f"db{number}.example.com") for number in (1, 2)), now=clock.now())
    console.goto(list_url(Host))
    row = console.get_by_role("row").filter(has_text="db1.example.com")
    row.get_by_role("checkbox").check()
    console.locator("select[name=action]").select_option("mute")
    console.get_by_role("button", name="Run").click()
    expect(console.get_by_label("Hosts", exact=True)).to_have_value("db1.example.com:27017")
    expect(console.get_by_label("Sunday")).to_be_hidden()
    console.get_by_label("Repeat").select_option("Every week")
    console.get_by_label("Sunday").check()
    console.get_by_label("Time zone").select_option("Europe/Berlin")
    console.locator("[name=startDate]").fill("2099-11-29T02:00:00")
    console.locator("[name=endDate]").fill("2099-11-29T04:00:00")
    console.locator("[name=description]").fill("backups")
    console.locator("[name=description]").blur()
    expect(_part(console, "Four weeks")).to_contain_text("02:00–04:00")
    expect(_part(console, "Muted hosts")).to_contain_text("db1.example.com:27017")
    assert not MaintenanceWindow.objects.exists()
    console.get_by_role("button", name="Save").click()
    expect(console.get_by_text("every week on Sunday, Europe/Berlin")).to_be_visible()
    assert MaintenanceWindow.objects.get(group=project).recurrence


def test_a_configuration_is_disabled(console: Page, project: Project) -> None:
    config, other = make_config(project), make_config(project)
    console.goto(page_url(config))
    console.get_by_role("link", name="Disable").click()
    console.get_by_role("button", name="Disable").click()
    expect(console).to_have_url(page_url(config))
    expect(console.get_by_role("link", name="Enable")).to_be_visible()
    assert list(AlertConfig.objects.filter(enabled=True)) == [other]


def test_filtered_events_are_downloaded(console: Page, project: Project) -> None:
    event = record_event(project, "db1.example.com")
    record_event(project, "db2.example.com")
    console.goto(START)
    console.get_by_role("link", name="Changes", exact=True).click()
    expect(console.get_by_role("cell", name="db2.example.com")).to_be_visible()
    console.get_by_label("Host (name or name:port)").fill("db1.example.com")
    console.get_by_role("button", name="Filter").click()
    expect(console.get_by_role("cell", name="db2.example.com")).to_have_count(0)
    with console.expect_download() as downloading:
        console.get_by_role("link", name="Download as CSV").click()
    (row,) = _rows(Path(downloading.value.path()))
    assert event.id in row.values()
    assert downloading.value.suggested_filename.endswith(".csv")


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def test_a_project_reader_sees_theirs_and_changes_nothing(
    page: Page, site: Site, project: Project, faults: Faults
) -> None:
    other: Project = ProjectFactory.create()
    alert, foreign = _alert(project, "db1.example.com"), _alert(other, "foreign.example.com")
    reader: User = UserFactory.create()
    reader.grants.create(role=Role.GROUP_READ_ONLY.value, project=project)
    enter(page.context, site.url, reader)
    for address in (START, list_url(Alert)):
        page.goto(address)
        expect(page.get_by_role("main").get_by_text("db1.example.com").first).to_be_visible()
        expect(page.get_by_text("foreign.example.com")).to_have_count(0)
    for address in (page_url(alert), page_url(AlertConfig.objects.get(group=project)), list_url(AlertConfig)):
        page.goto(address)
        expect(page).to_have_url(address)
        for name in ("Acknowledge", "Create maintenance window", "Change", "Disable", "Delete", "New"):
            action = re.compile(rf"^{name}\b")
            expect(page.get_by_role("main").get_by_role("link", name=action)).to_have_count(0)
    faults.expects(404)
    page.goto(page_url(foreign))
    expect(page.get_by_role("heading", name="Page not found", level=2)).to_be_visible()
