"""Sending failed notifications again in the console."""

from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.choices import NotificationStatus
from alerting.models import Notification
from events.types import EventType
from tests.admin.writing import leaves_events, post
from tests.api.test_resending import failed

pytestmark = pytest.mark.django_db

NOTIFICATIONS = "/admin/alerting/notification/"


def _resend(console: Client, *notifications: Notification) -> Any:
    chosen = [one.id for one in notifications]
    return post(console, NOTIFICATIONS, action="resend", _selected_action=chosen, confirmed="yes")


def test_failed_notifications_are_sent_again_in_bulk(
    console: Client, operator: User, project: Project
) -> None:
    notifications = [failed(project), failed(project)]
    with leaves_events(operator, *[EventType.NOTIFICATION_RESENT_AUDIT] * 2):
        answer = _resend(console, *notifications)
    assert answer.status_code == 302
    assert not Notification.objects.exclude(status=NotificationStatus.PENDING.value).exists()


def test_one_that_did_not_fail_keeps_the_others_as_they_are(
    console: Client, operator: User, project: Project
) -> None:
    refused, delivered = failed(project), failed(project)
    Notification.objects.filter(id=delivered.id).update(status=NotificationStatus.DELIVERED.value)
    with leaves_events(operator):
        answer = _resend(console, refused, delivered)
    assert "cannot be sent again: it is DELIVERED" in answer.content.decode()
    refused.refresh_from_db()
    assert refused.status == NotificationStatus.FAILED
