"""The list of alerts as an inbox: tabs, rows in two lines, and acknowledging in one click."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.incidents import tabs
from alerting.models import Alert, Incident
from opsapi import clock
from opsapi.console.admin_urls import list_url
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.admin.alert_pages import ALERTS, alert_page, make_window
from tests.admin.operators import browser_with
from tests.admin.reading import shown
from tests.admin.writing import post
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_config, make_global_config, make_notification
from tests.factories.automation import make_host

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
AT_ONCE = f"{ALERTS}acknowledge/1h/"


def tabs_of(page: str) -> dict[str, str]:
    """The number of each tab."""
    part = re.search(r'data-part="tabs">(.*?)</nav>', page, re.DOTALL)
    assert part
    found = re.findall(r"<a [^>]*>([^<]*?)\s*(?:<span[^>]*>([^<]*)</span>)?</a>", part[1])
    return {words.strip(): count for words, count in found}


def rows_of(page: str) -> list[str]:
    """The ids of the alerts with a row of their own or in an incident."""
    return list(dict.fromkeys(re.findall(rf'inbox-link" href="{ALERTS}(\w{{24}})/change/', page)))


@pytest.fixture
def of_each_state(project: Project) -> dict[str, Alert]:
    """An alert for each tab."""
    now = clock.now()
    make_window(project, alert_types=["AGENT"])
    changes: dict[str, dict[str, Any]] = {
        "needs-you": {},
        "acknowledged": {"acknowledged_until": now + HOUR},
        "muted": {"event_type": "MONITORING_AGENT_DOWN", "facts": {"hostname": "vm"}},
        "pending": {"status": "TRACKING"},
        "closed": {"status": "CLOSED", "resolved": now},
    }
    return {name: make_alert(project, **values) for name, values in changes.items()}


def test_each_tab_has_the_alerts_of_its_states_and_their_number(
    console: Client, of_each_state: dict[str, Alert]
) -> None:
    assert rows_of(shown(console, ALERTS)) == [of_each_state["needs-you"].id]
    for tab, alert in of_each_state.items():
        page = shown(console, f"{ALERTS}?state={tab}")
        assert rows_of(page) == [alert.id], tab
        assert tabs_of(page) == {
            "Needs you": "1",
            "Acknowledged": "1",
            "Muted": "1",
            "Pending": "1",
            "Closed": "1",
            "All": "",
        }
    assert len(rows_of(shown(console, f"{ALERTS}?state=all"))) == len(of_each_state)


def test_tabs_keep_the_search_and_the_filters(console: Client, of_each_state: dict[str, Alert]) -> None:
    page = shown(console, f"{ALERTS}?state=muted&q=vm&severity=INFO")
    assert 'href="?q=vm&amp;severity=INFO&amp;state=closed"' in page
    assert '<input type="hidden" name="state" value="muted">' in page
    assert tabs_of(shown(console, f"{ALERTS}?q=vm"))["Needs you"] == "0"


def test_alerts_that_were_not_compared_with_windows_need_somebody(
    console: Client, of_each_state: dict[str, Alert], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabs, "MOST_COUNTED", 0)
    page = shown(console, ALERTS)
    assert of_each_state["muted"].id in rows_of(page)
    assert "were compared with maintenance windows" in page


def test_a_row_says_why_and_who_was_notified(console: Client, project: Project) -> None:
    config = make_config(project, name="Pool too large")
    host = make_host(project, "db1.example.com", down=True)
    alert = make_alert(project, config_id=config.id)
    for who, status, attempts in (("ada", "DELIVERED", 1), ("bob", "FAILED", 18)):
        recipient = f"{who}@example.com"
        make_notification(project, alert=alert, recipient=recipient, status=status, attempts=attempts)
    page = " ".join(shown(console, ALERTS).split())
    assert ">Pool too large</a>" in page
    assert f"{host.hostname}:{host.port}" in page
    assert "its agent cannot reach it; never measured" in page
    assert re.search(r'data-delivered="no">bob@example.com .*? 18 attempts</span>, .*ada@example.com', page)


def test_recipients_of_global_configurations_are_not_shown_to_everybody(project: Project) -> None:
    alert = make_alert(project, is_global=True)
    make_notification(project, alert=alert, recipient="ada@example.com", status="DELIVERED")
    assert "ada@example.com" in shown(browser_with(Role.GLOBAL_READ_ONLY), ALERTS)
    assert "ada@example.com" not in shown(browser_with(Role.GROUP_READ_ONLY, project=project), ALERTS)


def test_a_button_acknowledges_and_leads_back_to_the_list(console: Client, project: Project) -> None:
    alert = make_alert(project)
    page = shown(console, f"{ALERTS}?q=down&state=needs-you")
    assert f'name="_selected_action" value="{alert.id}" class="console-button" data-acknowledge' in page
    answer = post(console, AT_ONCE, _selected_action=[alert.id], back="q=down&state=needs-you")
    assert (answer.status_code, answer["Location"]) == (302, f"{ALERTS}?q=down&state=needs-you")
    alert.refresh_from_db()
    assert alert.acknowledged_until is not None
    assert alert.acknowledged_until - clock.now() > HOUR / 2
    assert f'value="{alert.id}" class="console-button"' not in shown(console, f"{ALERTS}?state=acknowledged")


@each("back", ["https://example.net/", "//example.net", "\r\nX: y", "a=%zz&&=", "%"])
def test_the_way_back_stays_in_the_list(back: str, console: Client, project: Project) -> None:
    answer = post(console, AT_ONCE, _selected_action=[make_alert(project).id], back=back)
    assert answer.status_code == 302
    assert answer["Location"].split("?")[0] == ALERTS


def test_only_a_role_that_may_acknowledge_has_the_button(project: Project, automator: Client) -> None:
    alert = make_alert(project)
    page = shown(automator, ALERTS)
    assert rows_of(page) == [alert.id]
    assert "data-acknowledge" not in page
    assert post(automator, AT_ONCE, _selected_action=[alert.id]).status_code == 403
    assert automator.get(AT_ONCE).status_code == 405
    alert.refresh_from_db()
    assert alert.acknowledged_until is None


def test_alerts_of_other_projects_are_not_acknowledged(monitor: Client) -> None:
    alert = make_alert(ProjectFactory.create())
    post(monitor, AT_ONCE, _selected_action=[alert.id])
    alert.refresh_from_db()
    assert alert.acknowledged_until is None


@pytest.fixture
def incident(project: Project) -> Incident:
    """Of three alerts, of which one has ended."""
    now, name = clock.now(), new_id()
    alerts = [
        make_alert(project, incident_id=name, facts={"hostname": f"db{number}", "port": 1}, status=status)
        for number, status in enumerate(("OPEN", "OPEN", "CLOSED"))
    ]
    return Incident.objects.create(
        id=name, group=project, config_id=alerts[0].config_id, lead=alerts[0], created=now, grown=now
    )


def test_the_alerts_of_an_incident_are_one_row(console: Client, incident: Incident) -> None:
    page = shown(console, ALERTS)
    assert page.count('<tr class="data-row') == 1
    assert "2 alerts" in page
    assert len(rows_of(page)) == 2
    post(console, AT_ONCE, incident=[incident.id], back="")
    acknowledged = Alert.objects.exclude(acknowledged_until=None).values_list("status", flat=True)
    assert list(acknowledged) == ["OPEN", "OPEN"]


def test_the_number_of_statements_does_not_depend_on_the_number_of_rows(
    console: Client, project: Project
) -> None:
    def make() -> None:
        config = make_config(project)
        alert = make_alert(project, config_id=config.id, facts={"hostname": new_id(), "port": 1})
        make_host(project, alert.facts["hostname"], port=1)
        make_notification(project, alert=alert, attempts=3)

    make()
    console.get(ALERTS)
    numbers = []
    for more in (1, 20):
        for _ in range(more):
            make()
        with CaptureQueriesContext(connection) as statements:
            console.get(list_url(Alert))
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]


@each(
    ("term", "is_found"),
    [
        ("harbour", True),
        ("pool large", True),
        ("lag", False),
        ("accounts harbour", True),
        ("HOST_DOWN", True),
        ("x" * 300, False),
    ],
)
def test_the_search_reads_what_a_row_shows(term: str, is_found: bool, console: Client) -> None:
    project = ProjectFactory.create(name="customer-accounts")
    config = make_config(project, name="Pool too large")
    alert = make_alert(project, config_id=config.id, facts={"hostname": "db1.harbour.example", "port": 27017})
    assert rows_of(shown(console, f"{ALERTS}?q={term}")) == [alert.id] * is_found


def test_the_name_of_a_global_configuration_finds_nothing_for_a_project(project: Project) -> None:
    config = make_global_config(name="Secret rule")
    alert = make_alert(project, config_id=config.id, is_global=True)
    assert rows_of(shown(browser_with(Role.GLOBAL_READ_ONLY), f"{ALERTS}?q=secret")) == [alert.id]
    assert not rows_of(shown(browser_with(Role.GROUP_READ_ONLY, project=project), f"{ALERTS}?q=secret"))


def test_the_page_of_an_alert_is_reached_from_its_row(console: Client, project: Project) -> None:
    alert = make_alert(project)
    assert f'href="{alert_page(alert)}"' in shown(console, ALERTS)
