"""Pages that refresh themselves: what changes appears, and what the operator does is left alone."""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from accesslist.models import Project
from alerting.incidents.choices import AlertStatus
from alerting.models import Alert, Incident
from automation.models import Host
from opsapi import clock
from opsapi.console.admin_urls import list_url, page_url
from opsapi.ids import new_id
from tests.browser.accessibility import is_for_everybody
from tests.browser.people import START
from tests.factories.alerting import make_alert
from tests.factories.automation import make_host

pytestmark = pytest.mark.chromium

EVERY = "00:11"


@pytest.fixture
def frozen(console: Page) -> Page:
    """A page whose timers run when the test says so."""
    console.clock.install()
    return console


def _alert(project: Project, name: str, **changes: Any) -> Alert:
    return make_alert(project, facts={"hostname": f"{name}.example.com", "port": 27017}, **changes)


def _refresh(page: Page) -> None:
    with page.expect_response(lambda answer: "x-console-refresh" in answer.request.headers):
        page.clock.fast_forward(EVERY)


def test_a_list_shows_new_alerts_and_how_many_need_somebody(frozen: Page, project: Project) -> None:
    first = _alert(project, "first")
    frozen.goto(list_url(Alert))
    expect(frozen).to_have_title(re.compile(r"^\s*\(1\) Alerts"))
    expect(frozen.locator("link[rel=icon]")).to_have_attribute("href", re.compile("^data:image/svg"))
    frozen.evaluate("window.isTheSame = true")
    _alert(project, "second")
    _refresh(frozen)
    rows = frozen.locator("#result_list tr.data-row")
    expect(rows).to_have_count(2)
    expect(frozen).to_have_title(re.compile(r"^\(2\) Alerts"))
    expect(frozen.get_by_text("2 alerts", exact=True)).to_be_visible()
    rows.nth(1).get_by_role("checkbox").check()
    expect(frozen.get_by_text("1 of 2 selected")).to_be_visible()
    Alert.objects.filter(pk=first.pk).update(current_value=7.0, metric_name="CONNECTIONS")
    _refresh(frozen)
    expect(rows.nth(1)).to_contain_text("Connections 7")
    Alert.objects.filter(pk=first.pk).update(status=AlertStatus.CLOSED.value, resolved=clock.now())
    _refresh(frozen)
    expect(rows.nth(1)).to_have_class(re.compile("live-gone"))
    expect(rows.nth(0)).not_to_have_class(re.compile("live-gone"))
    expect(rows.nth(1).get_by_role("checkbox")).to_be_checked()
    assert frozen.evaluate("window.isTheSame")
    is_for_everybody(frozen)


def test_selected_rows_keep_their_place(frozen: Page, project: Project) -> None:
    _alert(project, "first")
    frozen.goto(list_url(Alert))
    box = frozen.locator("#result_list tr.data-row").get_by_role("checkbox")
    box.check()
    _alert(project, "second")
    _refresh(frozen)
    expect(frozen.get_by_role("link", name="The list has changed: show it")).to_be_visible()
    expect(box).to_have_count(1)
    expect(box).to_be_checked()
    box.uncheck()
    _refresh(frozen)
    expect(box).to_have_count(2)


def test_the_button_for_all_alerts_names_the_alerts_that_are_shown(frozen: Page, project: Project) -> None:
    shown = [_alert(project, name) for name in ("a", "b")]
    frozen.goto(list_url(Alert))
    shown.append(_alert(project, "c"))
    _refresh(frozen)
    button = frozen.get_by_role("button", name="Acknowledge all 3 for 1 h")
    expect(button).to_be_visible()
    # A selected row keeps the list as it is.
    frozen.locator("#result_list tr.data-row").get_by_role("checkbox").first.check()
    hidden = _alert(project, "d")
    _refresh(frozen)
    expect(frozen.get_by_role("link", name="The list has changed: show it")).to_be_visible()
    button.click()
    expect(frozen.get_by_text("Acknowledged: 3 alerts.")).to_be_visible()
    assert list(Alert.objects.filter(acknowledged_until=None)) == [hidden]


def test_the_button_for_all_alerts_counts_an_alert_that_joins_an_incident(
    frozen: Page, project: Project
) -> None:
    incident, now = new_id(), clock.now()
    alerts = [_alert(project, name, incident_id=incident) for name in ("a", "b")]
    Incident.objects.create(
        id=incident, group=project, config_id=alerts[0].config_id, lead=alerts[0], created=now, grown=now
    )
    frozen.goto(list_url(Alert))
    expect(frozen.get_by_role("button", name="Acknowledge all 2 for 1 h")).to_be_visible()
    _alert(project, "c", incident_id=incident, created=now - clock.AHEAD)
    _refresh(frozen)
    expect(frozen.get_by_role("button", name="Acknowledge all 3 for 1 h")).to_be_visible()


def test_focus_and_typing_stay(frozen: Page, project: Project) -> None:
    for name in ("a", "b"):
        _alert(project, name)
    frozen.goto(list_url(Alert))
    frozen.keyboard.type("jj")
    focused = frozen.locator("#result_list tr.data-row a:focus")
    place = focused.get_attribute("href")
    _alert(project, "c")
    _refresh(frozen)
    expect(frozen.locator("#result_list tr.data-row")).to_have_count(3)
    expect(focused).to_have_attribute("href", str(place))
    search = frozen.get_by_role("search").get_by_role("textbox")
    search.fill("b.exam")
    _alert(project, "d")
    _refresh(frozen)
    expect(frozen.locator("#result_list tr.data-row")).to_have_count(4)
    expect(search).to_have_value("b.exam")
    expect(search).to_be_focused()


def test_the_page_of_an_alert_follows_its_state(frozen: Page, project: Project) -> None:
    alert = _alert(project, "first")
    frozen.goto(page_url(alert))
    summary = frozen.get_by_role("region", name="Summary")
    expect(summary).to_contain_text(re.compile("open", re.IGNORECASE))
    Alert.objects.filter(pk=alert.pk).update(status=AlertStatus.CLOSED.value, resolved=clock.now())
    _refresh(frozen)
    expect(summary).to_contain_text(re.compile("closed", re.IGNORECASE))
    expect(frozen.get_by_text("Last refreshed")).to_be_visible()
    is_for_everybody(frozen)


def test_the_page_of_a_host_follows_its_state(frozen: Page, project: Project) -> None:
    host = make_host(project, "db1.example.com", down=False, last_report=clock.now())
    frozen.goto(page_url(host))
    Host.objects.filter(pk=host.pk).update(down=True)
    _refresh(frozen)
    expect(frozen.locator("#host-measured")).to_contain_text(re.compile("down", re.IGNORECASE))


def test_the_start_page_says_how_many_alerts_need_somebody(frozen: Page, project: Project) -> None:
    _alert(project, "first")
    frozen.goto(START)
    expect(frozen).to_have_title(re.compile(r"^\s*\(1\) Home"))
    Alert.objects.update(acknowledged_until=clock.now() + clock.AHEAD)
    _refresh(frozen)
    expect(frozen).to_have_title(re.compile("^Home"))
