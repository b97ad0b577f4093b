"""Sending failed notifications again in the console."""

from typing import Any

import pytest
from django.test import Client

from accesslist.models import Project, User
from alerting.engine.choices import NotificationStatus
from alerting.models import Alert, Notification
from events.types import EventType
from tests.admin.alert_pages import alert_page
from tests.admin.operators import action_url
from tests.admin.reading import shown
from tests.admin.writing import confirm, leaves_events, post
from tests.factories.alerting import make_failed_notification, make_notification

pytestmark = pytest.mark.django_db

NOTIFICATIONS = "/admin/alerting/notification/"


def _resend(console: Client, *notifications: Notification) -> Any:
    chosen = [notification.id for notification in notifications]
    return post(console, NOTIFICATIONS, action="resend", _selected_action=chosen, confirmed="yes")


def test_failed_notifications_are_sent_again_in_bulk(
    console: Client, operator: User, project: Project
) -> None:
    notifications = [make_failed_notification(project), make_failed_notification(project)]
    with leaves_events(operator, *[EventType.NOTIFICATION_RESENT_AUDIT] * 2):
        answer = _resend(console, *notifications)
    assert answer.status_code == 302
    assert not Notification.objects.exclude(status=NotificationStatus.PENDING.value).exists()


def test_one_that_did_not_fail_keeps_the_others_as_they_are(
    console: Client, operator: User, project: Project
) -> None:
    refused, delivered = make_failed_notification(project), make_failed_notification(project)
    Notification.objects.filter(id=delivered.id).update(status=NotificationStatus.DELIVERED.value)
    with leaves_events(operator):
        answer = _resend(console, refused, delivered)
    assert "cannot be sent again: it is DELIVERED" in answer.content.decode()
    refused.refresh_from_db()
    assert refused.status == NotificationStatus.FAILED


def test_what_failed_is_sent_again_from_the_alerts_page(
    console: Client, operator: User, project: Project
) -> None:
    notification = make_failed_notification(project)
    alert = Alert.objects.get()
    make_notification(project, alert=alert, status="DELIVERED")
    text = shown(console, alert_page(alert))
    assert text.count("/do/resend/") == 1
    assert action_url(notification, "resend") in text
    with leaves_events(operator, EventType.NOTIFICATION_RESENT_AUDIT):
        confirm(console, action_url(notification, "resend"))
    assert "/do/resend/" not in shown(console, alert_page(alert))


def test_sending_again_takes_the_role(monitor: Client, automator: Client, project: Project) -> None:
    notification = make_failed_notification(project)
    alert = Alert.objects.get()
    assert action_url(notification, "resend") not in shown(automator, alert_page(alert))
    assert confirm(automator, action_url(notification, "resend")).status_code == 403
    assert action_url(notification, "resend") in shown(monitor, alert_page(alert))
    assert confirm(monitor, action_url(notification, "resend")).status_code == 302
