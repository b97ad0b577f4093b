"""`POST …/alerts/{id}/notifications/{id}/resend`: a failed notification is sent again."""

from typing import Any

import pytest

from accesslist.models import Project
from alerting.engine.choices import NotificationStatus
from alerting.models import Notification
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api.recipients import refusal
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key
from tests.factories.alerting import make_alert, make_failed_notification

pytestmark = pytest.mark.django_db


@pytest.fixture
def monitor(project: Project) -> ApiClient:
    """Project Monitoring Admin, the least who may."""
    return ApiClient(make_key(Grant(Role.GROUP_MONITORING_ADMIN, group_id=project.id)))


def path_of(notification: Notification, **changes: str) -> str:
    """Where it is sent again."""
    ids = {
        "group": notification.group_id,
        "alert": str(notification.alert_id),
        "id": notification.id,
        **changes,
    }
    return f"/groups/{ids['group']}/alerts/{ids['alert']}/notifications/{ids['id']}/resend"


def resend(caller: ApiClient, notification: Notification, **changes: str) -> Any:
    """Ask for it."""
    return caller.post(path_of(notification, **changes), None)


def test_it_answers_the_notification_pending_again(project: Project, monitor: ApiClient) -> None:
    notification = make_failed_notification(project)
    answer = resend(monitor, notification)
    assert answer.status_code == 200
    document = answer.json()
    assert (document["id"], document["status"]) == (notification.id, "PENDING")
    assert "reason" not in document
    assert document["due"]


def test_a_second_time_there_is_nothing_to_send_again(project: Project, monitor: ApiClient) -> None:
    notification = make_failed_notification(project)
    resend(monitor, notification)
    answer = resend(monitor, notification)
    assert refusal(answer) == (409, "NOTIFICATION_CANNOT_BE_RESENT")
    assert answer.json()["parameters"] == [notification.id, "it is PENDING"]


def test_a_reader_may_not(project: Project, reader: ApiClient) -> None:
    notification = make_failed_notification(project)
    assert refusal(resend(reader, notification)) == (403, "USER_UNAUTHORIZED")
    notification.refresh_from_db()
    assert notification.status == NotificationStatus.FAILED


@each(
    ("part", "value", "expected"),
    [
        pytest.param("id", "nonsense", "INVALID_NOTIFICATION_ID", id="malformed"),
        pytest.param("id", "0" * 24, "NOTIFICATION_NOT_FOUND", id="unknown"),
        pytest.param("alert", "nonsense", "INVALID_ALERT_ID", id="malformed alert"),
        pytest.param("alert", "0" * 24, "ALERT_NOT_FOUND", id="unknown alert"),
    ],
)
def test_an_id_that_leads_nowhere_is_named(
    project: Project, monitor: ApiClient, part: str, value: str, expected: str
) -> None:
    assert refusal(resend(monitor, make_failed_notification(project), **{part: value})) == (404, expected)


def test_it_is_looked_for_in_its_alert(project: Project, monitor: ApiClient) -> None:
    notification, other = make_failed_notification(project), make_alert(project)
    assert refusal(resend(monitor, notification, alert=other.id)) == (404, "NOTIFICATION_NOT_FOUND")
    notification.refresh_from_db()
    assert notification.status == NotificationStatus.FAILED


def test_another_project_s_is_not_found(monitor: ApiClient, project: Project) -> None:
    notification = make_failed_notification(ProjectFactory.create(name=new_id()))
    assert refusal(resend(monitor, notification, group=project.id)) == (404, "ALERT_NOT_FOUND")


def test_recipients_of_a_global_configuration_are_not_shown(project: Project, monitor: ApiClient) -> None:
    notification = make_failed_notification(project, make_alert(project, is_global=True))
    document = resend(monitor, notification).json()
    assert document["status"] == "PENDING"
    assert "recipient" not in document
