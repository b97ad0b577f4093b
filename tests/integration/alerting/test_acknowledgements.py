"""What follows from acknowledging an alert."""

from datetime import UTC, datetime, timedelta

import pytest

from accesslist.models import Project
from alerting.incidents.changes import alert_acknowledge
from alerting.models import Alert, Notification
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, ActorKind
from opsapi.ids import new_id
from tests.each import each
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, WEBHOOK, make_alert, make_config, make_notification

NOON = datetime(2099, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
ADA = Actor(ActorKind.USER, new_id(), "ada@example.com")
pytestmark = pytest.mark.django_db


@pytest.fixture
def notified_alert(project: Project) -> Alert:
    """An alert that a webhook and an address were notified of."""
    config = make_config(project, notifications=[WEBHOOK, EMAIL])
    alert = make_alert(project, config_id=config.id)
    for setting in config.settings.all():
        sent = {"type_name": setting.type_name, "channel": setting.type_name, "status": "DELIVERED"}
        make_notification(project, alert=alert, setting_id=setting.id, **sent)
    return alert


def acknowledge(alert: Alert, until: datetime, *, group_id: str | None = None) -> None:
    """As a user does at noon."""
    alert_acknowledge(
        alert_id=alert.id,
        group_id=group_id or alert.group_id,
        until=until,
        comment=None,
        actor=ADA,
        now=NOON,
    )


def acknowledging() -> list[str]:
    """The kinds of receivers who are to be notified of it."""
    found = Notification.objects.filter(kind="alert.acknowledge")
    return list(found.values_list("type_name", flat=True))


def test_a_webhook_is_notified_and_mail_is_not(notified_alert: Alert) -> None:
    acknowledge(notified_alert, NOON + HOUR)
    assert acknowledging() == ["WEBHOOK"]


def test_a_user_is_named_by_their_name(notified_alert: Alert) -> None:
    acknowledge(notified_alert, NOON + HOUR)
    assert Alert.objects.get().acknowledging_username == "ada@example.com"


@each("until", [NOON, NOON - HOUR], ids=str)
def test_nobody_is_notified_where_nothing_changes(notified_alert: Alert, until: datetime) -> None:
    acknowledge(notified_alert, until)
    assert acknowledging() == []


def test_an_alert_is_found_in_its_project_only(notified_alert: Alert) -> None:
    with pytest.raises(ApiError) as raised:
        acknowledge(notified_alert, NOON + HOUR, group_id=ProjectFactory.create().id)
    assert raised.value.code is ErrorCode.ALERT_NOT_FOUND
    assert Alert.objects.get().acknowledged_until is None
