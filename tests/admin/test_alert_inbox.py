"""The list of alerts as an inbox: tabs, rows in two lines, and acknowledging in one click."""

import re
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import escape

from accesslist.models import Project
from alerting.incidents import tabs
from alerting.incidents.console import AlertAdmin
from alerting.models import Alert, Incident
from alerting.reasons import NotificationReason
from events.models import Event
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.console import action_pages
from opsapi.console.admin_urls import list_url
from opsapi.ids import new_id
from opsapi.roles import Role
from tests.admin.alert_pages import ALERTS, alert_page, make_window
from tests.admin.operators import browser_with, operator_with
from tests.admin.reading import shown, text_of
from tests.admin.writing import confirm, post
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


def test_a_row_says_why_a_notification_had_no_recipient(console: Client, project: Project) -> None:
    alert = make_alert(project, config_id=make_config(project).id)
    unsent = {"status": "DROPPED", "reason": NotificationReason.NO_ADDRESS.value, "recipient": ""}
    make_notification(project, alert=alert, type_name="GROUP", channel=None, setting_id="a" * 24, **unsent)
    is_said = r'data-delivered="no">[^<]+<b .*? no user has an address for this channel</span>'
    assert re.search(is_said, " ".join(shown(console, ALERTS).split()))

    make_notification(
        project, alert=alert, recipient="ada@example.com", status="DELIVERED", setting_id="a" * 24
    )
    page = shown(console, ALERTS)
    assert "ada@example.com" in page
    assert "no user has an address" not in page


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


def all_button(page: str) -> tuple[str, str] | None:
    """The words of the button for all alerts of the page, and the ids that it sends."""
    found = re.search(r'name="listed" value="([\w,]*)" class="console-button">(.*?)</button>', page)
    return (re.sub("<[^>]*>", "", found[2]), found[1]) if found else None


def undo_url(until: datetime) -> str:
    """Where the button for the undo of a click leads."""
    return f"{ALERTS}unacknowledge/{wire_time(until)}/"


def acknowledged_ids() -> set[str]:
    return set(Alert.objects.exclude(acknowledged_until=None).values_list("id", flat=True))


def test_a_button_acknowledges_exactly_the_alerts_of_the_page(console: Client, project: Project) -> None:
    alerts = [make_alert(project, facts={"hostname": f"db{number}", "port": 1}) for number in range(3)]
    make_alert(project, status="TRACKING")
    words, ids = all_button(shown(console, f"{ALERTS}?q=db")) or ("", "")
    assert words == "Acknowledge all 3 for 1 h"
    assert set(ids.split(",")) == {alert.id for alert in alerts}
    opened_since = make_alert(project, facts={"hostname": "db3", "port": 1})
    answer = post(console, AT_ONCE, listed=ids, back="q=db&state=needs-you&p=2")
    # The page that was shown may be gone.
    assert answer["Location"] == f"{ALERTS}?q=db&state=needs-you"
    assert acknowledged_ids() == {alert.id for alert in alerts}
    assert rows_of(shown(console, ALERTS)) == [opened_since.id]
    assert Event.objects.filter(event_type="ALERT_ACKNOWLEDGED_AUDIT").count() == 3


def test_the_button_says_how_many_alerts_of_a_longer_list_it_acknowledges(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(AlertAdmin, "list_per_page", 2)
    for number in range(5):
        make_alert(project, facts={"hostname": f"db{number}", "port": 1})
    pages = [all_button(shown(console, f"{ALERTS}?p={number}")) for number in (1, 2, 3)]
    assert [page and page[0] for page in pages] == ["Acknowledge 2 on this page for 1 h"] * 2 + [None]
    assert pages[1]
    post(console, AT_ONCE, listed=pages[1][1], back="p=2")
    assert acknowledged_ids() == set(pages[1][1].split(","))


def test_the_button_counts_the_alerts_of_incidents(console: Client, incident: Incident) -> None:
    words, ids = all_button(shown(console, ALERTS)) or ("", "")
    assert words == "Acknowledge all 2 for 1 h"
    post(console, AT_ONCE, listed=ids)
    assert acknowledged_ids() == set(ids.split(","))


def test_only_the_list_of_alerts_that_need_somebody_has_the_button(
    console: Client, automator: Client, project: Project
) -> None:
    now = clock.now()
    for changes in ({}, {"status": "TRACKING"}, {"acknowledged_until": now + HOUR}) * 2:
        make_alert(project, facts={"hostname": new_id(), "port": 1}, **changes)
    for tab in ("acknowledged", "muted", "pending", "closed", "all"):
        assert all_button(shown(console, f"{ALERTS}?state={tab}")) is None, tab
    assert all_button(shown(console, ALERTS))
    assert all_button(shown(automator, ALERTS)) is None


def test_of_two_projects_the_button_counts_the_alerts_that_the_operator_may_acknowledge(
    project: Project,
) -> None:
    user, browser = operator_with(Role.GROUP_MONITORING_ADMIN, project=project)
    other = ProjectFactory.create()
    user.grants.create(role=Role.GROUP_READ_ONLY.value, project=other)
    own = {make_alert(project, facts={"hostname": new_id(), "port": 1}).id for _ in range(2)}
    foreign = make_alert(other)
    words, ids = all_button(shown(browser, ALERTS)) or ("", "")
    assert words == "Acknowledge 2 on this page for 1 h"
    assert set(ids.split(",")) == own
    assert post(browser, AT_ONCE, listed=",".join([*own, foreign.id])).status_code == 403
    assert acknowledged_ids() == set()


def test_an_alert_that_changed_since_keeps_its_state(console: Client, project: Project) -> None:
    waiting, taken, over = (
        make_alert(project, facts={"hostname": f"db{number}", "port": 1}) for number in range(3)
    )
    _, ids = all_button(shown(console, ALERTS)) or ("", "")
    later = clock.now() + 5 * HOUR
    Alert.objects.filter(id=taken.id).update(acknowledged_until=later, acknowledging_username="mira")
    Alert.objects.filter(id=over.id).update(status="CLOSED", resolved=clock.now())
    page = text_of(console.post(AT_ONCE, {"listed": ids, "back": ""}, follow=True))
    assert "2 alerts have changed since you loaded the list, and did not change now." in page
    assert acknowledged_ids() == {waiting.id, taken.id}
    taken.refresh_from_db()
    assert (taken.acknowledged_until, taken.acknowledging_username) == (later, "mira")
    page = text_of(console.post(AT_ONCE, {"listed": ids, "back": "q=db"}, follow=True))
    assert "All of these alerts have changed" in page


def test_what_a_click_acknowledged_is_undone_by_another(console: Client, project: Project) -> None:
    alerts = [make_alert(project, facts={"hostname": f"db{number}", "port": 1}) for number in range(3)]
    _, ids = all_button(shown(console, ALERTS)) or ("", "")
    page = text_of(console.post(AT_ONCE, {"listed": ids, "back": "q=db"}, follow=True))
    undo = re.search(
        r'form="acknowledge-form" formaction="([^"]*)" name="listed" value="([^"]*)"[^>]*>Undo', page
    )
    assert undo
    assert 'id="acknowledge-form"' in page
    taken = alerts[0]
    Alert.objects.filter(id=taken.id).update(acknowledging_username="mira")
    answer = console.post(undo[1], {"listed": undo[2], "back": "q=db"})
    assert answer["Location"] == f"{ALERTS}?q=db"
    assert acknowledged_ids() == {taken.id}
    assert Event.objects.filter(event_type="ALERT_UNACKNOWLEDGED_AUDIT").count() == 2
    page = text_of(console.post(undo[1], {"listed": undo[2], "back": ""}, follow=True))
    assert "All of these alerts have changed" in page


def test_the_undo_keeps_a_later_acknowledgement_of_the_same_operator(
    console: Client, project: Project
) -> None:
    of_click, later = (
        make_alert(project, facts={"hostname": f"db{number}", "port": 1}) for number in range(2)
    )
    post(console, AT_ONCE, listed=f"{of_click.id},{later.id}", back="")
    of_click.refresh_from_db()
    assert of_click.acknowledged_until
    confirm(console, alert_page(later, "acknowledge"), until="4h", acknowledgementComment="on it")
    url, ids = undo_url(of_click.acknowledged_until), f"{of_click.id},{later.id}"
    page = text_of(console.post(url, {"listed": ids, "back": ""}, follow=True))
    assert "1 alert has changed since you loaded the list" in page
    assert acknowledged_ids() == {later.id}
    later.refresh_from_db()
    assert later.acknowledgement_comment == "on it"


def test_too_many_listed_alerts_are_refused_with_the_limit(
    console: Client, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(action_pages, "MOST_ROWS", 2)
    alerts = [make_alert(project, facts={"hostname": f"db{number}", "port": 1}) for number in range(3)]
    listed = ",".join(alert.id for alert in alerts)
    page = text_of(console.post(AT_ONCE, {"listed": listed, "back": ""}, follow=True))
    assert "Select at most 2 items at once." in page
    assert "have changed" not in page
    assert acknowledged_ids() == set()


def test_an_id_that_is_listed_twice_counts_once(console: Client, project: Project) -> None:
    alert = make_alert(project)
    page = text_of(console.post(AT_ONCE, {"listed": f"{alert.id},{alert.id}", "back": ""}, follow=True))
    assert "changed since" not in page
    assert acknowledged_ids() == {alert.id}


@each(("alerts", "is_urgent"), [(0, False), (1, True)])
def test_the_number_of_alerts_that_need_somebody_is_red_unless_it_is_zero(
    alerts: int, is_urgent: bool, console: Client, project: Project
) -> None:
    for _ in range(alerts):
        make_alert(project)
    make_alert(project, status="TRACKING", facts={"hostname": "db", "port": 1})
    page = shown(console, f"{ALERTS}?state=pending")
    assert tabs_of(page)["Needs you"] == str(alerts)
    assert (
        re.findall(r"(\w[\w ]*) <span class=\"inbox-count inbox-urgent\"", page) == ["Needs you"] * is_urgent
    )


def test_a_changed_acknowledgement_is_not_undone_by_removal(console: Client, project: Project) -> None:
    alert = make_alert(project, acknowledged_until=clock.now() + 5 * HOUR)
    page = text_of(console.post(AT_ONCE, {"_selected_action": [alert.id], "back": ""}, follow=True))
    assert f": {escape(str(alert))}." in page.partition("Acknowledged until")[2]
    assert "Undo" not in page


def test_the_page_of_an_alert_acknowledges_and_stays(console: Client, project: Project) -> None:
    alert = make_alert(project)
    answer = post(console, AT_ONCE, _selected_action=[alert.id])
    assert answer["Location"] == alert_page(alert)
    # It has its own way to remove the acknowledgement, and no form for the button.
    assert ">Undo<" not in shown(console, alert_page(alert))


def test_the_undo_takes_a_role_and_a_post(project: Project) -> None:
    """Who acknowledged may have lost the role since."""
    user, browser = operator_with(Role.GROUP_MONITORING_ADMIN, project=project)
    alert = make_alert(project)
    assert post(browser, AT_ONCE, _selected_action=[alert.id]).status_code == 302
    alert.refresh_from_db()
    assert alert.acknowledged_until
    url = undo_url(alert.acknowledged_until)
    assert browser.get(url).status_code == 405
    user.grants.update(role=Role.GROUP_AUTOMATION_ADMIN.value)
    assert post(browser, url, listed=alert.id).status_code == 403
    assert acknowledged_ids() == {alert.id}
    user.grants.update(role=Role.GROUP_MONITORING_ADMIN.value)
    assert post(browser, url, listed=alert.id).status_code == 302
    assert acknowledged_ids() == set()


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
