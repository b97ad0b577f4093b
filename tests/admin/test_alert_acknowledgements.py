"""Acknowledging in the console: one alert or many, and taking it back."""

from datetime import timedelta

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.models import Alert
from events.types import EventType
from opsapi import clock
from opsapi.clock import wire_time
from tests.admin.alert_pages import ALERTS, alert_page
from tests.admin.reading import shown
from tests.admin.writing import confirm, leaves_events, post
from tests.each import each
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)
HOSTILE = "<script>alert(1)</script>"


@each(
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
        answer = confirm(
            console, alert_page(alert, "acknowledge"), acknowledgementComment="on\r\nit", **values
        )
    assert answer.status_code == 302
    assert answer["Location"] == alert_page(alert)
    assert events[0].alert_id == alert.id
    alert.refresh_from_db()
    assert (alert.acknowledging_username, alert.acknowledgement_comment) == ("ada", "on\nit")
    assert alert.acknowledged_until is not None
    if length is None:
        assert wire_time(alert.acknowledged_until) == "2099-11-21T12:00:00Z"
    else:
        assert before + length <= alert.acknowledged_until <= clock.now() + length


@each(
    ("values", "message"),
    [
        ({}, "This field is required"),
        ({"until": "forever"}, "not one of the available choices"),
        ({"until": "own"}, "Is required"),
        ({"until": "own", "acknowledgedUntil": "soon"}, "such as 2026-11-29 02:00."),
        ({"until": "own", "acknowledgedUntil": "2020-01-01T00:00"}, "in the past"),
        ({"until": "1h", "acknowledgedUntil": "2099-11-21T12:00"}, "leave this field blank"),
        ({"until": "1h", "acknowledgementComment": "x" * 501}, "at most 500 characters"),
        ({"until": "own", "acknowledgedUntil": "9" * 41}, "at most 40 characters"),
    ],
    ids=["nothing", "unknown", "no time", "no date", "past", "two times", "long comment", "long date"],
)
def test_wrong_input_is_reported_and_changes_nothing(
    console: Client, operator: User, project: Project, values: dict[str, str], message: str
) -> None:
    alert = make_alert(project)
    with leaves_events(operator):
        answer = confirm(console, alert_page(alert, "acknowledge"), **values)
    assert answer.status_code == 200
    assert message in answer.content.decode()
    alert.refresh_from_db()
    assert alert.acknowledged_until is None


def test_an_alert_that_is_over_is_not_acknowledged(console: Client, operator: User, project: Project) -> None:
    alert = make_alert(project, status="CLOSED", resolved=clock.now())
    assert alert_page(alert, "acknowledge") not in shown(console, alert_page(alert))
    with leaves_events(operator):
        answer = confirm(console, alert_page(alert, "acknowledge"), until="1h")
    assert "the alert is CLOSED" in answer.content.decode()


def test_an_acknowledgement_is_taken_back(console: Client, operator: User, project: Project) -> None:
    alert = make_alert(project, acknowledged_until=clock.now() + HOUR, acknowledging_username="bob")
    assert alert_page(alert, "unacknowledge") in shown(console, alert_page(alert))
    with leaves_events(operator, EventType.ALERT_UNACKNOWLEDGED_AUDIT):
        confirm(console, alert_page(alert, "unacknowledge"))
    alert.refresh_from_db()
    assert alert.acknowledged_until is None
    assert alert_page(alert, "unacknowledge") not in shown(console, alert_page(alert))


def test_a_comment_that_is_there_is_in_the_form(console: Client, project: Project) -> None:
    alert = make_alert(
        project, acknowledged_until=clock.now() + HOUR, acknowledgement_comment="</textarea>" + HOSTILE
    )
    form = shown(console, alert_page(alert, "acknowledge"))
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


@pytest.mark.usefixtures("noon")
def test_a_custom_time_is_read_in_the_zone_of_the_operator(
    console: Client, operator: User, project: Project
) -> None:
    User.objects.filter(id=operator.id).update(time_zone="Europe/Berlin")
    alert = make_alert(project)
    url = alert_page(alert, "acknowledge")
    assert "Custom time (Europe/Berlin)" in console.get(url).content.decode()
    post(console, url, confirmed="1", until="own", acknowledgedUntil="2099-11-21 15:00")
    alert.refresh_from_db()
    assert alert.acknowledged_until
    assert wire_time(alert.acknowledged_until) == "2099-11-21T14:00:00Z"
