"""Who may do what to an alert in the console."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project
from alerting.models import MaintenanceWindow
from events.models import Event
from opsapi import clock
from tests.admin.alert_pages import ALERTS, alert_page, window_values
from tests.admin.reading import shown
from tests.admin.writing import confirm
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


ACTIONS: dict[str, dict[str, Any]] = {
    "acknowledge": {"until": "1h"},
    "unacknowledge": {},
    "window": window_values(),
}


@each("action", ACTIONS)
def test_the_lowest_role_may(monitor: Client, project: Project, action: str) -> None:
    alert = make_alert(project, acknowledged_until=clock.now() + 9 * HOUR)
    assert alert_page(alert, action) in shown(monitor, alert_page(alert))
    assert confirm(monitor, alert_page(alert, action), **ACTIONS[action]).status_code == 302
    event = Event.objects.get(event_type__endswith="_AUDIT", group_id=project.id)
    assert event.details["isGlobalAdmin"] is False
    assert event.details["remoteAddress"] == "192.0.2.1"


@pytest.mark.slow
@each("action", ACTIONS)
def test_the_highest_role_that_may_not_is_refused(automator: Client, project: Project, action: str) -> None:
    alert = make_alert(project, acknowledged_until=clock.now() + HOUR)
    before = Event.objects.count()
    assert alert_page(alert, action) not in shown(automator, alert_page(alert))
    assert automator.get(alert_page(alert, action)).status_code == 403
    assert confirm(automator, alert_page(alert, action), **ACTIONS[action]).status_code == 403
    assert Event.objects.count() == before
    assert not MaintenanceWindow.objects.exists()


@each("action", ACTIONS)
def test_alerts_of_other_projects_are_not_found(monitor: Client, action: str) -> None:
    alert = make_alert(ProjectFactory.create())
    assert confirm(monitor, alert_page(alert, action), **ACTIONS[action]).status_code in {302, 404}
    alert.refresh_from_db()
    assert alert.acknowledged_until is None
    assert not MaintenanceWindow.objects.exists()


def test_in_bulk_too_it_takes_the_role(automator: Client, project: Project) -> None:
    alert = make_alert(project)
    assert 'value="acknowledge"' not in shown(automator, ALERTS)
    confirm(automator, ALERTS, action="acknowledge", _selected_action=[alert.id], until="1h")
    alert.refresh_from_db()
    assert alert.acknowledged_until is None
