"""Which maintenance window mutes an alert now."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accesslist.models import Project
from alerting.models import Alert, MaintenanceWindow
from alerting.windows.store import muting_windows
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import make_alert, make_notification
from tests.integration.alerting.overviews import DAY, HOUR, NOW, SECOND, make_window
from tests.integration.alerting.pipeline import mutes_of

pytestmark = pytest.mark.django_db


@each(
    ("start", "end", "mutes"),
    [
        (timedelta(0), SECOND, True),
        (-DAY, SECOND, True),
        (SECOND, HOUR, False),
        (-HOUR, timedelta(0), False),
    ],
    ids=["from its start", "until its end", "before", "at its end"],
)
def test_a_window_mutes_from_its_start_to_before_its_end(
    project: Project, start: timedelta, end: timedelta, mutes: bool
) -> None:
    alert, window = make_alert(project), make_window(project, start, end)
    assert muting_windows([alert], now=NOW) == ({alert.id: window} if mutes else {})


def test_it_mutes_its_project_and_its_types_alone(project: Project) -> None:
    window = make_window(project, -HOUR, HOUR)
    host, metric = make_alert(project), make_alert(project, event_type="OUTSIDE_METRIC_THRESHOLD")
    agent = make_alert(project, event_type="MONITORING_AGENT_DOWN")
    other = make_alert(ProjectFactory.create())
    MaintenanceWindow.objects.filter(id=window.id).update(alert_types=["HOST", "HOST_METRIC"])
    found = muting_windows([host, metric, agent, other], now=NOW)
    assert found == {host.id: window, metric.id: window}


def test_of_several_the_one_that_ends_last_is_named(project: Project) -> None:
    alert = make_alert(project)
    make_window(project, -HOUR, HOUR)
    last = make_window(project, -HOUR, DAY)
    make_window(project, -DAY, 2 * HOUR)
    assert muting_windows([alert], now=NOW) == {alert.id: last}


@each(
    "windows",
    [
        [(-HOUR, HOUR), (-DAY, 2 * HOUR), (-SECOND, SECOND)],
        [(-HOUR, HOUR), (-DAY, HOUR)],
        [(-HOUR, timedelta(0)), (timedelta(0), SECOND)],
        [(-DAY, -HOUR), (HOUR, DAY)],
    ],
    ids=["several", "two with one end", "one after the other", "none in effect"],
)
def test_delivery_and_the_page_of_the_alert_name_the_same_window(
    project: Project, windows: list[tuple[timedelta, timedelta]]
) -> None:
    alert = make_alert(project)
    held = make_notification(project, alert=alert)
    for start, end in windows:
        make_window(project, start, end)
    shown = muting_windows([alert], now=NOW).get(alert.id)
    mute = mutes_of([held], now=NOW).get(held.id)
    assert (mute and mute.window_id) == (shown and shown.id)


def test_many_are_asked_for_at_once() -> None:
    for project in ProjectFactory.create_batch(3):
        make_alert(project)
        make_window(project, -HOUR, HOUR)
    alerts = list(Alert.objects.all())
    with CaptureQueriesContext(connection) as queries:
        assert len(muting_windows(alerts, now=NOW)) == 3
    assert len(queries) == 1
    with CaptureQueriesContext(connection) as queries:
        assert muting_windows([], now=NOW) == {}
    assert not queries.captured_queries
