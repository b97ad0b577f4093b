"""Notifications of global configurations about events without a project, in the console."""

import pytest
from django.core.cache import cache
from django.test import Client

from accesslist.models import Project, User
from alerting.models import Notification
from events.types import EventType
from opsapi.roles import Role
from tests.admin.operators import browser_with, page_of
from tests.admin.writing import leaves_events, post
from tests.each import each
from tests.factories.alerting import EMAIL, make_global_config, make_notification
from tests.factories.events import key_added

LIST = "/admin/alerting/notification/"
pytestmark = pytest.mark.django_db


@pytest.fixture
def notification(project: Project) -> Notification:
    """One that failed, of the organization of the project."""
    cache.clear()
    setting = make_global_config(notifications=[EMAIL]).settings.get()
    made = {"event_id": key_added(project).id, "kind": "alert.inform", "setting_id": setting.id}
    return make_notification(project, group=None, status="FAILED", attempts=1, reason="refused", **made)


@each("page", [LIST, "/admin/"], ids=["list", "start"])
def test_it_is_listed_without_a_project(
    console: Client, operator: User, notification: Notification, page: str
) -> None:
    answer = console.get(page)
    assert answer.status_code == 200
    assert "oncall@example.com" in answer.content.decode()


def test_it_has_a_page(console: Client, operator: User, notification: Notification) -> None:
    answer = console.get(page_of(notification))
    assert answer.status_code == 200
    assert str(notification.event_id) in answer.content.decode()


@each("role", [Role.ORG_OWNER, Role.GROUP_OWNER])
def test_who_reads_no_global_configuration_does_not_see_it(
    project: Project, notification: Notification, role: Role
) -> None:
    place = {"org": project.org} if role is Role.ORG_OWNER else {"project": project}
    browser = browser_with(role, **place)
    for page in (LIST, "/admin/"):
        assert "oncall@example.com" not in browser.get(page).content.decode()
    assert browser.get(page_of(notification)).status_code in {302, 404}


def test_it_is_due_again_when_sent_again(console: Client, operator: User, notification: Notification) -> None:
    with leaves_events(operator, EventType.NOTIFICATION_RESENT_AUDIT):
        post(console, LIST, action="resend", _selected_action=[notification.id], confirmed="yes")
    notification.refresh_from_db()
    assert notification.status == "PENDING"
