"""Where the credentials of a notification come from, and what the log says without any."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from accesslist.models import Project
from accesslist.projects.changes import project_delete
from alerting.configs.notification_settings import settings_replace
from alerting.models import AlertConfig, Notification, NotificationSetting
from alerting.reasons import NotificationReason
from integrations.choices import MessageKind
from integrations.models import Integration
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.factories.accesslist import ProjectFactory
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.factories.integrations import make_integration
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate
from tests.integration.alerting.recipients import channels

pytestmark = pytest.mark.django_db

URL, SECRET = "https://hooks.example.com/in/0123456789", "a long enough secret"
KEY = "0123456789abcdef0123456789abcdef"


def notified_config(project: Project, *notifications: Mapping[str, Any]) -> AlertConfig:
    """A configuration with these notifications, of which an alert was notified."""
    config = make_config(
        project, notifications=[{"delayMin": 0, **notification} for notification in notifications]
    )
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    return config


@pytest.mark.parametrize(
    ("notification", "expected"),
    [
        pytest.param({"typeName": "WEBHOOK"}, {"url": URL, "secret": SECRET}, id="the integration's"),
        pytest.param(
            {"typeName": "WEBHOOK", "webhookUrl": "http://127.0.0.1:9/own"},
            {"url": "http://127.0.0.1:9/own"},
            id="its own, without a secret that goes with another URL",
        ),
    ],
)
def test_a_webhook_is_its_own_or_the_integrations_but_never_half(
    project: Project, outside: Outside, notification: dict[str, Any], expected: dict[str, str]
) -> None:
    make_integration(project, "WEBHOOK")
    notified_config(project, notification)
    assert channels(outside) == [("WEBHOOK", expected)]


def test_credentials_of_a_notification_are_combined_with_the_integration(
    project: Project, outside: Outside
) -> None:
    make_integration(project, "CHAT_SERVICE")
    notified_config(project, {"typeName": "CHAT_SERVICE", "channelName": "#dba"})
    ((_, config),) = channels(outside)
    assert config["channelName"] == "#dba"
    assert config["apiToken"]


def test_the_log_names_the_integrations_receiver_redacted(project: Project, outside: Outside) -> None:
    make_integration(project, "PAGER_SERVICE")
    notified_config(project, {"typeName": "PAGER_SERVICE"})
    assert channels(outside) == [("PAGER_SERVICE", {"serviceKey": KEY})]
    assert Notification.objects.get().recipient == f"******{KEY[-4:]}"


def test_without_an_integration_it_is_not_sent_and_the_log_says_why(
    project: Project, outside: Outside
) -> None:
    make_integration(ProjectFactory.create(), "PAGER_SERVICE")
    notified_config(project, {"typeName": "PAGER_SERVICE"})
    row = Notification.objects.get()
    assert (row.status, row.reason) == ("FAILED", "the project has no PagerDuty (PAGER_SERVICE) integration")
    assert outside.sent == []


def test_the_end_is_sent_with_the_integration_of_a_deleted_project(
    project: Project, outside: Outside
) -> None:
    make_integration(project, "PAGER_SERVICE")
    notified_config(project, {"typeName": "PAGER_SERVICE"})
    project_delete(group_id=project.id, actor=SYSTEM, now=clock.now())
    deliver_all()
    assert Integration.objects.filter(group_id=project.id).exists()
    assert outside.kinds == [MessageKind.OPEN, MessageKind.CANCEL]
    assert channels(outside)[1] == ("PAGER_SERVICE", {"serviceKey": KEY})


def test_the_end_of_a_mail_goes_where_the_opening_went(project: Project, outside: Outside) -> None:
    config = notified_config(project, EMAIL)
    setting = config.settings.get()
    changed = {**EMAIL, "id": setting.id, "emailAddress": "new@example.com"}
    settings_replace(config=config, notifications=[changed])
    ingest(project, host_report(reachable=True))
    evaluate()
    deliver_all()
    assert [config["emailAddress"] for _, config in channels(outside)] == ["oncall@example.com"] * 2


def test_the_end_is_sent_to_a_notification_removed_from_its_configuration(
    project: Project, outside: Outside
) -> None:
    config = notified_config(project, WEBHOOK, EMAIL)
    settings_replace(config=config, notifications=[EMAIL])
    ingest(project, host_report(reachable=True))
    evaluate()
    deliver_all()
    assert [channel for channel, _ in channels(outside) if channel == "WEBHOOK"] == ["WEBHOOK"] * 2
    assert channels(outside)[0] in channels(outside)[2:]


def test_a_notification_that_became_one_of_another_type_is_another(
    project: Project, outside: Outside
) -> None:
    config = notified_config(project, {**EMAIL, "intervalMin": 5})
    setting = config.settings.get()
    settings_replace(config=config, notifications=[{**WEBHOOK, "id": setting.id}])
    deliver_all(clock.now() + timedelta(minutes=5))
    repeat = Notification.objects.get(kind=MessageKind.UPDATE.value)
    assert repeat.reason == NotificationReason.NOTIFICATION_REMOVED.value
    ingest(project, host_report(reachable=True))
    evaluate()
    deliver_all()
    assert [channel for channel, _ in channels(outside)] == ["EMAIL", "EMAIL"]


def test_what_is_shown_of_removed_secrets_is_never_sent(project: Project, outside: Outside) -> None:
    """Neither does the project's integration help out: it leads elsewhere."""
    make_integration(project, "WEBHOOK")
    make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    NotificationSetting.objects.update(secrets=None)
    deliver_all()
    assert outside.sent == []
    row = Notification.objects.get(kind=MessageKind.OPEN.value)
    assert (row.status, row.reason) == ("FAILED", NotificationReason.SECRETS_GONE)
