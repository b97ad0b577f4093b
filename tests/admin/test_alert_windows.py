"""A maintenance window created from an alert."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.models import MaintenanceWindow
from events.types import EventType
from tests.admin.alert_pages import alert_page, window_values
from tests.admin.reading import shown
from tests.admin.writing import confirm, leaves_events
from tests.each import each
from tests.factories.alerting import (
    make_alert,
)

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


def test_the_form_of_a_window_is_filled_from_the_alert(console: Client, project: Project) -> None:
    form = shown(console, alert_page(make_alert(project), "window"))
    assert "Host down, db1.example.com:27017" in form
    ticked = re.findall(r'<input[^>]*name="alertTypeNames"[^>]*\bchecked\b[^>:]*>', form)
    assert len(ticked) == 1
    assert 'value="HOST"' in ticked[0]


def test_a_window_is_created_in_its_project(console: Client, operator: User, project: Project) -> None:
    alert = make_alert(project)
    with leaves_events(operator, EventType.MAINTENANCE_WINDOW_ADDED_AUDIT):
        answer = confirm(console, alert_page(alert, "window"), **window_values())
    assert answer["Location"] == alert_page(alert)
    window = MaintenanceWindow.objects.get()
    assert (window.group_id, window.alert_types, window.description) == (
        project.id,
        ["HOST"],
        "two\nlines",
    )
    assert window.end - window.start == HOUR
    assert "started to mute notifications" in shown(console, alert_page(alert))


@pytest.mark.slow
@each(
    ("changes", "message"),
    [
        ({"endDate": "2020-01-01T00:00"}, "Must be later than “Start”"),
        ({"startDate": ""}, "This field is required"),
        ({"startDate": "now"}, "such as 2026-11-29 02:00."),
        ({"alertTypeNames": []}, "This field is required"),
        ({"alertTypeNames": ["WEATHER"]}, "not one of the available choices"),
        ({"description": "x" * 1001}, "Must have 1 to 1000 characters"),
    ],
)
def test_a_wrong_window_is_reported_and_not_created(
    console: Client, operator: User, project: Project, changes: dict[str, Any], message: str
) -> None:
    with leaves_events(operator):
        answer = confirm(console, alert_page(make_alert(project), "window"), **window_values(**changes))
    assert message in answer.content.decode()
    assert not MaintenanceWindow.objects.exists()
