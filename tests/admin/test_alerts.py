"""Alerts in the console: the list, the story of one, and what can be done to it."""

import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accesslist.models import Project, User
from alerting.models import Alert, MaintenanceWindow, Notification, NotificationAttempt
from automation.models import Measurement
from events.models import Event
from events.types import EventType
from integrations.choices import DeliveryStatus
from opsapi import clock
from opsapi.clock import wire_time
from opsapi.roles import Role
from tests.admin.writing import confirm, leaves_events, post
from tests.api.test_resending import failed
from tests.factories.accesslist import ProjectFactory, UserFactory
from tests.factories.alerting import EMAIL, make_alert, make_config, make_global_config, make_notification
from tests.factories.automation import make_host

pytestmark = pytest.mark.django_db

ALERTS = "/admin/alerting/alert/"
HOUR = timedelta(hours=1)
HOSTILE = "<script>alert(1)</script>"


def browser_of(role: Role, project: Project) -> Client:
    """Somebody with one role in the project."""
    user: User = UserFactory.create()
    user.grants.create(role=role.value, project=project)
    browser = Client()
    browser.force_login(user)
    return browser


@pytest.fixture
def monitor(project: Project) -> Client:
    """Project Monitoring Admin, the least who may act."""
    return browser_of(Role.GROUP_MONITORING_ADMIN, project)


@pytest.fixture
def automator(project: Project) -> Client:
    """Project Automation Admin, who may do much, but nothing to alerts."""
    return browser_of(Role.GROUP_AUTOMATION_ADMIN, project)


def page(alert: Alert, action: str = "") -> str:
    """The alert's page, or that of an action."""
    return f"{ALERTS}{alert.id}/do/{action}/" if action else f"{ALERTS}{alert.id}/change/"


def shown(browser: Client, url: str) -> str:
    """What a page says."""
    answer = browser.get(url)
    assert answer.status_code == 200
    return str(answer.content.decode())


def window_values(**changes: Any) -> dict[str, Any]:
    """A window that begins now."""
    now = clock.now()
    values = {
        "startDate": f"{now:%Y-%m-%dT%H:%M}",
        "endDate": f"{now + HOUR:%Y-%m-%dT%H:%M}",
        "alertTypeNames": ["HOST"],
        "description": "two\r\nlines",
    }
    return values | changes


# --- acknowledging ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "length"),
    [
        ({"until": "1h"}, HOUR),
        ({"until": "4h"}, 4 * HOUR),
        ({"until": "own", "acknowledgedUntil": "2099-11-21T12:00"}, None),
        ({"until": "own", "acknowledgedUntil": "2099-11-21T14:00:00+02:00"}, None),
    ],
)
def test_an_alert_is_acknowledged(
    console: Client, operator: User, project: Project, values: dict[str, str], length: timedelta | None
) -> None:
    alert, before = make_alert(project), clock.now().replace(microsecond=0)
    with leaves_events(operator, EventType.ALERT_ACKNOWLEDGED_AUDIT) as events:
        answer = confirm(console, page(alert, "acknowledge"), acknowledgementComment="on\r\nit", **values)
    assert answer.status_code == 302
    assert answer["Location"] == page(alert)
    assert events[0].alert_id == alert.id
    alert.refresh_from_db()
    assert (alert.acknowledging_username, alert.acknowledgement_comment) == ("ada", "on\nit")
    assert alert.acknowledged_until is not None
    if length is None:
        assert wire_time(alert.acknowledged_until) == "2099-11-21T12:00:00Z"
    else:
        assert before + length <= alert.acknowledged_until <= clock.now() + length


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({}, "This field is required"),
        ({"until": "forever"}, "not one of the available choices"),
        ({"until": "own"}, "is required"),
        ({"until": "own", "acknowledgedUntil": "soon"}, "must be an ISO 8601 date-time"),
        ({"until": "own", "acknowledgedUntil": "2020-01-01T00:00"}, "This time has come already"),
        ({"until": "1h", "acknowledgedUntil": "2099-11-21T12:00"}, "leave that empty"),
        ({"until": "1h", "acknowledgementComment": "x" * 501}, "at most 500 characters"),
        ({"until": "own", "acknowledgedUntil": "9" * 41}, "at most 40 characters"),
    ],
    ids=["nothing", "unknown", "no time", "no date", "past", "two times", "long comment", "long date"],
)
def test_wrong_input_is_told_and_changes_nothing(
    console: Client, operator: User, project: Project, values: dict[str, str], told: str
) -> None:
    alert = make_alert(project)
    with leaves_events(operator):
        answer = confirm(console, page(alert, "acknowledge"), **values)
    assert answer.status_code == 200
    assert told in answer.content.decode()
    alert.refresh_from_db()
    assert alert.acknowledged_until is None


def test_an_alert_that_is_over_is_not_acknowledged(console: Client, operator: User, project: Project) -> None:
    alert = make_alert(project, status="CLOSED", resolved=clock.now())
    assert page(alert, "acknowledge") not in shown(console, page(alert))
    with leaves_events(operator):
        answer = confirm(console, page(alert, "acknowledge"), until="1h")
    assert "the alert is CLOSED, so there is nothing to acknowledge" in answer.content.decode()


def test_an_acknowledgement_is_taken_back(console: Client, operator: User, project: Project) -> None:
    alert = make_alert(project, acknowledged_until=clock.now() + HOUR, acknowledging_username="bob")
    assert page(alert, "unacknowledge") in shown(console, page(alert))
    with leaves_events(operator, EventType.ALERT_UNACKNOWLEDGED_AUDIT):
        confirm(console, page(alert, "unacknowledge"))
    alert.refresh_from_db()
    assert alert.acknowledged_until is None
    assert page(alert, "unacknowledge") not in shown(console, page(alert))


def test_a_comment_that_is_there_stands_in_the_form(console: Client, project: Project) -> None:
    alert = make_alert(
        project, acknowledged_until=clock.now() + HOUR, acknowledgement_comment="</textarea>" + HOSTILE
    )
    form = shown(console, page(alert, "acknowledge"))
    assert "&lt;/textarea&gt;" in form
    assert HOSTILE not in form


def test_many_are_acknowledged_at_once(console: Client, operator: User, project: Project) -> None:
    alerts = [make_alert(project), make_alert(project, status="TRACKING")]
    chosen = {"action": "acknowledge", "_selected_action": [alert.id for alert in alerts]}
    with leaves_events(operator):
        form = post(console, ALERTS, **chosen).content.decode()
    assert all(alert.id in form for alert in alerts)
    with leaves_events(operator, *[EventType.ALERT_ACKNOWLEDGED_AUDIT] * 2):
        answer = confirm(console, ALERTS, until="4h", **chosen)
    assert answer["Location"] == ALERTS
    assert not Alert.objects.filter(acknowledged_until=None).exists()


def test_all_of_them_or_none(console: Client, operator: User, project: Project) -> None:
    alerts = [make_alert(project), make_alert(project, status="CANCELLED", resolved=clock.now())]
    with leaves_events(operator):
        confirm(
            console,
            ALERTS,
            until="4h",
            action="acknowledge",
            _selected_action=[alert.id for alert in alerts],
        )
    assert not Alert.objects.exclude(acknowledged_until=None).exists()


# --- windows ------------------------------------------------------------------------------------


def test_the_form_of_a_window_is_filled_from_the_alert(console: Client, project: Project) -> None:
    form = shown(console, page(make_alert(project), "window"))
    assert "HOST_DOWN of db1.example.com:27017" in form
    ticked = re.findall(r'<input[^>]*name="alertTypeNames"[^>]*\bchecked\b[^>:]*>', form)
    assert len(ticked) == 1
    assert 'value="HOST"' in ticked[0]


def test_a_window_is_made_in_its_project(console: Client, operator: User, project: Project) -> None:
    alert = make_alert(project)
    with leaves_events(operator, EventType.MAINTENANCE_WINDOW_ADDED_AUDIT):
        answer = confirm(console, page(alert, "window"), **window_values())
    assert answer["Location"] == page(alert)
    window = MaintenanceWindow.objects.get()
    assert (window.group_id, window.alert_types, window.description) == (
        project.id,
        ["HOST"],
        "two\nlines",
    )
    assert window.end - window.start == HOUR
    assert "holds notifications back" in shown(console, page(alert))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"endDate": "2020-01-01T00:00"}, "must be later than startDate"),
        ({"startDate": ""}, "This field is required"),
        ({"startDate": "now"}, "must be an ISO 8601 date-time"),
        ({"alertTypeNames": []}, "This field is required"),
        ({"alertTypeNames": ["WEATHER"]}, "not one of the available choices"),
        ({"description": "x" * 1001}, "must have 1 to 1000 characters"),
    ],
)
def test_a_wrong_window_is_told_and_not_made(
    console: Client, operator: User, project: Project, changes: dict[str, Any], told: str
) -> None:
    with leaves_events(operator):
        answer = confirm(console, page(make_alert(project), "window"), **window_values(**changes))
    assert told in answer.content.decode()
    assert not MaintenanceWindow.objects.exists()


# --- who may ------------------------------------------------------------------------------------


ACTIONS: dict[str, dict[str, Any]] = {
    "acknowledge": {"until": "1h"},
    "unacknowledge": {},
    "window": window_values(),
}


@pytest.mark.parametrize("action", ACTIONS)
def test_the_lowest_role_may(monitor: Client, project: Project, action: str) -> None:
    alert = make_alert(project, acknowledged_until=clock.now() + 9 * HOUR)
    assert page(alert, action) in shown(monitor, page(alert))
    assert confirm(monitor, page(alert, action), **ACTIONS[action]).status_code == 302
    event = Event.objects.get(event_type__endswith="_AUDIT", group_id=project.id)
    assert event.details["isGlobalAdmin"] is False
    assert event.details["remoteAddress"] == "192.0.2.1"


@pytest.mark.parametrize("action", ACTIONS)
def test_the_highest_role_that_may_not_is_refused(automator: Client, project: Project, action: str) -> None:
    alert = make_alert(project, acknowledged_until=clock.now() + HOUR)
    before = Event.objects.count()
    assert page(alert, action) not in shown(automator, page(alert))
    assert automator.get(page(alert, action)).status_code == 403
    assert confirm(automator, page(alert, action), **ACTIONS[action]).status_code == 403
    assert Event.objects.count() == before
    assert not MaintenanceWindow.objects.exists()


@pytest.mark.parametrize("action", ACTIONS)
def test_alerts_of_other_projects_are_not_found(monitor: Client, action: str) -> None:
    alert = make_alert(ProjectFactory.create())
    assert confirm(monitor, page(alert, action), **ACTIONS[action]).status_code in {302, 404}
    alert.refresh_from_db()
    assert alert.acknowledged_until is None
    assert not MaintenanceWindow.objects.exists()


def test_in_bulk_too_it_takes_the_role(automator: Client, project: Project) -> None:
    alert = make_alert(project)
    assert 'value="acknowledge"' not in shown(automator, ALERTS)
    confirm(automator, ALERTS, action="acknowledge", _selected_action=[alert.id], until="1h")
    alert.refresh_from_db()
    assert alert.acknowledged_until is None


# --- sending again ------------------------------------------------------------------------------


def resend_page(notification: Notification) -> str:
    """Where it is sent again."""
    return reverse("admin:alerting_notification_do", args=[notification.id, "resend"])


def test_what_failed_is_sent_again_from_the_alerts_page(
    console: Client, operator: User, project: Project
) -> None:
    notification = failed(project)
    alert = Alert.objects.get()
    make_notification(project, alert=alert, status="DELIVERED")
    text = shown(console, page(alert))
    assert text.count("/do/resend/") == 1
    assert resend_page(notification) in text
    with leaves_events(operator, EventType.NOTIFICATION_RESENT_AUDIT):
        confirm(console, resend_page(notification))
    assert "/do/resend/" not in shown(console, page(alert))


def test_sending_again_takes_the_role(monitor: Client, automator: Client, project: Project) -> None:
    notification = failed(project)
    alert = Alert.objects.get()
    assert resend_page(notification) not in shown(automator, page(alert))
    assert confirm(automator, resend_page(notification)).status_code == 403
    assert resend_page(notification) in shown(monitor, page(alert))
    assert confirm(monitor, resend_page(notification)).status_code == 302


# --- the story ----------------------------------------------------------------------------------


def test_a_page_tells_the_story(console: Client, project: Project) -> None:
    config = make_config(project, notifications=[EMAIL])
    alert = make_alert(project, config_id=config.id)
    told = make_notification(project, alert=alert, status="DELIVERED", attempts=1, latency_ms=84)
    now = clock.now()
    attempt = {"status": DeliveryStatus.DELIVERED.value, "latency_ms": 84, "ended": now}
    NotificationAttempt.objects.create(notification=told, number=1, **attempt)
    due = now + HOUR
    make_notification(project, alert=alert, due=due, kind="alert.update", setting_id=config.settings.get().id)
    text = shown(console, page(alert))
    assert "oncall@example.com by EMAIL was told that it opened: attempt 1, 84 ms." in text
    assert "is told that it is still open" in text
    assert reverse("admin:alerting_alertconfig_change", args=[config.id]) in text
    assert "by nobody" in text


def test_the_measurements_are_there_for_the_script_and_in_words(console: Client, project: Project) -> None:
    host = make_host(project)
    alert = make_alert(project, facts={"hostId": host.id, "hostname": HOSTILE, "port": 1})
    taken = [wire_time(clock.now()), 5.5]
    Measurement.objects.create(host=host, reported=clock.now(), metrics={"CONNECTIONS": [taken]})
    text = shown(console, page(alert))
    assert '<script id="alert-plot-data" type="application/json">' in text
    assert "CONNECTIONS: lowest 5.5, highest 5.5, last 5.5." in text
    assert "console/alert-plot.js" in text


def test_without_measurements_there_is_no_plot(console: Client, project: Project) -> None:
    assert "alert-plot-data" not in shown(console, page(make_alert(project)))


def test_hostile_names_are_shown_as_they_are(console: Client, project: Project) -> None:
    Project.objects.filter(id=project.id).update(name=HOSTILE)
    matchers = [{"fieldName": "HOSTNAME", "operator": "EQUALS", "value": HOSTILE}]
    config = make_config(project, matchers=matchers, notifications=[EMAIL])
    alert = make_alert(
        project,
        config_id=config.id,
        facts={"hostname": HOSTILE, "port": 1},
        tags=[HOSTILE],
        acknowledged_until=clock.now() + HOUR,
        acknowledging_username=HOSTILE,
        acknowledgement_comment=HOSTILE,
    )
    make_notification(
        project, alert=alert, recipient=HOSTILE, reason=HOSTILE, status="FAILED", created=clock.now()
    )
    for url in (page(alert), ALERTS, page(alert, "acknowledge"), page(alert, "window")):
        text = shown(console, url)
        assert "&lt;script&gt;alert(1)" in text
        assert HOSTILE not in text


def test_whom_a_global_configuration_tells_is_not_the_projects_business(
    monitor: Client, console: Client, project: Project
) -> None:
    config = make_global_config(notifications=[EMAIL])
    alert = make_alert(project, config_id=config.id, is_global=True)
    one = make_notification(project, alert=alert, status="FAILED")
    secret = ("oncall@example.com", config.id, one.id)
    for_all, for_them = shown(console, page(alert)), shown(monitor, page(alert))
    assert [text in for_all for text in secret] == [True] * 3
    assert [text in for_them for text in secret] == [False] * 3
    assert "only those see who may read global configurations" in for_them


def test_whom_a_global_configuration_tells_of_events_is_not_either(
    monitor: Client, console: Client, project: Project
) -> None:
    own = make_config(project, eventTypeName="NEW_HOST", notifications=[EMAIL])
    make_notification(project, event_id="a" * 24, recipient="theirs@example.com")
    make_notification(
        project, event_id="a" * 24, recipient="ours@example.com", setting_id=own.settings.get().id
    )
    listed = shown(monitor, "/admin/alerting/notification/")
    assert ("ours@example.com" in listed, "theirs@example.com" in listed) == (True, False)
    assert "theirs@example.com" in shown(console, "/admin/alerting/notification/")


# --- the list -----------------------------------------------------------------------------------


def found(browser: Client, **question: str) -> list[str]:
    """The host names a list shows."""
    text = shown(browser, f"{ALERTS}?{urlencode(question)}")
    return [name for name in ("alpha", "beta", "gamma") if f"{name}.example.com" in text]


@pytest.fixture
def three(project: Project) -> list[Alert]:
    """An old one that is over, one that is acknowledged, one that is tracked."""
    now = clock.now()
    rows: dict[str, dict[str, Any]] = {
        "alpha": {"status": "CLOSED", "resolved": now, "created": now - timedelta(days=9)},
        "beta": {"acknowledged_until": now + HOUR, "acknowledging_username": "bob"},
        "gamma": {"status": "TRACKING", "event_type": "HOST_RECOVERING"},
    }
    return [
        make_alert(project, facts={"hostname": f"{name}.example.com", "port": 1}, **changes)
        for name, changes in rows.items()
    ]


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ({}, ["alpha", "beta", "gamma"]),
        ({"status": "active"}, ["beta", "gamma"]),
        ({"status": "CLOSED"}, ["alpha"]),
        ({"status": "nonsense"}, []),
        ({"type": "HOST_RECOVERING"}, ["gamma"]),
        ({"type": "nonsense"}, []),
        ({"age": "1h"}, ["beta", "gamma"]),
        ({"age": "over-7d"}, ["alpha"]),
        ({"age": "nonsense"}, []),
        ({"acknowledged": "yes"}, ["beta"]),
        ({"acknowledged": "no"}, ["gamma"]),
        ({"acknowledged": "nonsense"}, []),
        ({"q": "ALPHA"}, ["alpha"]),
        ({"q": "recovering"}, ["gamma"]),
        ({"q": "alpha", "status": "active"}, []),
        ({"q": "x" * 3000}, []),
        ({"group__id__exact": "0" * 24}, []),
        ({"group__id__exact": "nonsense"}, []),
    ],
    ids=str,
)
def test_the_list_is_filtered_and_searched(
    console: Client, three: list[Alert], question: dict[str, str], names: list[str]
) -> None:
    assert found(console, **question) == names


def test_it_is_searched_by_every_id(console: Client, three: list[Alert], project: Project) -> None:
    make_alert(ProjectFactory.create(), facts={"hostname": "beta.example.com"})
    assert found(console, q=three[1].id) == ["beta"]
    assert found(console, q=three[2].config_id) == ["gamma"]
    assert found(console, q=project.id) == ["alpha", "beta", "gamma"]
    assert found(console, group__id__exact=project.id, status="CLOSED") == ["alpha"]


def test_it_says_who_acknowledged_it_and_how_old_it_is(console: Client, three: list[Alert]) -> None:
    text = shown(console, ALERTS)
    assert "bob" in text
    assert "1\xa0week" in text


@pytest.mark.parametrize("lookup", ["acknowledging_username", "facts__hostname", "target_key__startswith"])
def test_nothing_else_can_be_guessed_at(console: Client, three: list[Alert], lookup: str) -> None:
    assert console.get(f"{ALERTS}?{lookup}=a").status_code in {302, 400}


def test_a_long_name_is_cut_in_the_list(console: Client, project: Project) -> None:
    name = "x" * 200
    make_alert(project, facts={"hostname": name, "port": 1})
    text = shown(console, ALERTS)
    assert f'title="{name}:1"' in text
    assert f">{'x' * 59}…<" in text


def test_an_empty_list_says_what_would_stand_there(console: Client, project: Project) -> None:
    assert "once agents report hosts" in shown(console, ALERTS)


def test_the_list_takes_as_many_statements_however_long_it_is(console: Client, project: Project) -> None:
    console.get(ALERTS)
    numbers = []
    for more in (1, 30):
        for _ in range(more):
            make_alert(project)
        with CaptureQueriesContext(connection) as statements:
            console.get(ALERTS)
        numbers.append(len(statements))
    assert numbers[0] == numbers[1]


def test_an_operator_without_a_role_there_sees_nothing(project: Project, three: list[Alert]) -> None:
    elsewhere = browser_of(Role.GROUP_READ_ONLY, ProjectFactory.create())
    assert found(elsewhere) == []
    assert found(elsewhere, q=three[0].id) == []
