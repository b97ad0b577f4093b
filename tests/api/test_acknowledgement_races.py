"""Acknowledging an alert while it ends, or while others acknowledge it."""

from collections.abc import Callable

import pytest

from accesslist.models import Project
from accesslist.projects.changes import project_delete
from alerting.incidents.changes import AlertChanges, AlertEnd, alerts_cancel, alerts_change
from alerting.models import Alert
from events.models import Event, Signal
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.factories.alerting import make_alert, make_failed_notification
from tests.racing import THREADS, at_once, while_it_waits

UNTIL = "2099-11-21T12:00:00Z"
pytestmark = pytest.mark.django_db(transaction=True)


def close(alert: Alert) -> None:
    """The condition ends."""
    now = clock.now()
    end = AlertEnd(signal=Signal(pk=1, created=now), at=now)
    alerts_change(changes=AlertChanges(ends={alert.id: end}), group_id=alert.group_id, now=now)


def cancel(alert: Alert) -> None:
    """Its configuration or target goes."""
    alerts_cancel(alerts=Alert.objects.filter(id=alert.id), actor=SYSTEM, now=clock.now())


@pytest.mark.parametrize("end", [close, cancel])
def test_what_ends_while_it_is_acknowledged_is_refused(
    owner: ApiClient, project: Project, end: Callable[[Alert], None]
) -> None:
    alert = make_alert(project)
    path = f"/groups/{project.id}/alerts/{alert.id}"
    answer = while_it_waits(lambda: owner.patch(path, {"acknowledgedUntil": UNTIL}), lambda: end(alert))
    assert refusal(answer) == (400, "INVALID_ALERT_STATUS")
    assert Alert.objects.get().acknowledged_until is None
    assert not Event.objects.filter(event_type="ALERT_ACKNOWLEDGED_AUDIT").exists()


@pytest.mark.parametrize("is_global", [False, True])
def test_an_alert_whose_project_is_deleted_meanwhile_is_not_found(
    owner: ApiClient, project: Project, is_global: bool
) -> None:
    alert = make_alert(project, is_global=is_global)
    base = "/globalAlerts" if is_global else f"/groups/{project.id}/alerts"
    answer = while_it_waits(
        lambda: owner.patch(f"{base}/{alert.id}", {"acknowledgedUntil": UNTIL}),
        lambda: project_delete(group_id=project.id, actor=SYSTEM, now=clock.now()),
    )
    assert refusal(answer) == (404, "ALERT_NOT_FOUND")


def test_a_notification_whose_project_is_deleted_meanwhile_is_not_found(
    owner: ApiClient, project: Project
) -> None:
    failed = make_failed_notification(project)
    path = f"/groups/{project.id}/alerts/{failed.alert_id}/notifications/{failed.id}/resend"
    answer = while_it_waits(
        lambda: owner.post(path, None),
        lambda: project_delete(group_id=project.id, actor=SYSTEM, now=clock.now()),
    )
    assert refusal(answer) == (404, "NOTIFICATION_NOT_FOUND")


def test_what_is_acknowledged_while_it_ends_keeps_both(owner: ApiClient, project: Project) -> None:
    alert = make_alert(project)
    path = f"/groups/{project.id}/alerts/{alert.id}"

    def call(number: int) -> int:
        if number == 0:
            close(alert)
            return 200
        return int(owner.patch(path, {"acknowledgedUntil": UNTIL}).status_code)

    statuses = at_once(call)
    assert set(statuses) <= {200, 400}
    ended = owner.get(path).json()
    assert ended["status"] == "CLOSED"
    acknowledged = Event.objects.filter(event_type="ALERT_ACKNOWLEDGED_AUDIT").count()
    assert ("acknowledgedUntil" in ended) is (200 in statuses[1:]) is bool(acknowledged)


def test_of_the_same_request_many_times_at_once_one_counts(owner: ApiClient, project: Project) -> None:
    alert = make_alert(project)
    body = {"acknowledgedUntil": UNTIL, "acknowledgementComment": "on it"}
    statuses = at_once(lambda _: owner.patch(f"/groups/{project.id}/alerts/{alert.id}", body).status_code)
    assert statuses == [200] * THREADS
    assert Event.objects.filter(event_type="ALERT_ACKNOWLEDGED_AUDIT").count() == 1
