"""Notifications of a configuration replaced: which stay, and what becomes of the others."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from pytest_django import Settings

from accesslist.models import Project
from alerting.configs.notification_settings import removed_settings_purge, settings_replace
from alerting.configs.store import setting_values
from alerting.models import Alert, AlertConfig, Notification, NotificationSetting
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus
from opsapi import clock
from tests.each import each
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate, statuses

SMS: Mapping[str, Any] = {"typeName": "SMS", "mobileNumber": "+12025550100", "delayMin": 0}
REMOVED = "the notification was removed from the alert configuration"
pytestmark = pytest.mark.django_db


def ids(config: AlertConfig) -> list[str]:
    """Ids of its notifications, in their order."""
    return list(config.settings.order_by("position").values_list("id", flat=True))


def rows() -> list[Mapping[str, Any]]:
    """Every row there is, as it is stored."""
    return [*NotificationSetting.with_removed.order_by("id").values()]


def replace(config: AlertConfig, *notifications: Mapping[str, Any]) -> bool:
    """Replace them."""
    return settings_replace(config=config, notifications=notifications)


@pytest.fixture
def config(project: Project) -> AlertConfig:
    """A configuration with three notifications."""
    return make_config(project, notifications=[WEBHOOK, EMAIL, SMS])


def test_what_says_the_same_changes_nothing(config: AlertConfig) -> None:
    before, (webhook, email, sms) = rows(), ids(config)
    assert not replace(config, {**WEBHOOK, "id": webhook}, {**EMAIL, "id": email}, {**SMS, "id": sms})
    assert not replace(config, WEBHOOK, EMAIL, SMS)
    assert not replace(config, {**WEBHOOK, "intervalMin": 60}, EMAIL, {**SMS, "id": sms})
    assert rows() == before


@each(
    "changes",
    [
        {"delayMin": 5},
        {"intervalMin": 5},
        {"webhookSecret": "another"},
        {"webhookSecret": None},
        {"webhookUrl": "http://127.0.0.1:9/other/abcdefgh"},
    ],
    ids=str,
)
def test_one_that_is_named_keeps_its_id_whatever_changes(
    config: AlertConfig, changes: dict[str, Any]
) -> None:
    before = ids(config)
    others = list(config.settings.exclude(id=before[0]).values())
    changed = {name: value for name, value in {**WEBHOOK, **changes}.items() if value is not None}
    assert replace(config, {**changed, "id": before[0]}, EMAIL, SMS)
    assert ids(config) == before
    assert list(config.settings.exclude(id=before[0]).values()) == others
    setting = config.settings.get(id=before[0])
    given = {name: value for name, value in changed.items() if name.startswith("webhook")}
    assert setting_values(setting) == given
    assert (setting.delay_min, setting.interval_min) == (changed["delayMin"], changed.get("intervalMin", 60))


def test_their_order_is_kept(config: AlertConfig) -> None:
    webhook, email, sms = ids(config)
    assert replace(config, SMS, {**WEBHOOK, "id": webhook}, EMAIL)
    assert ids(config) == [sms, webhook, email]


def test_notifications_that_are_alike_are_distinguished(project: Project) -> None:
    config = make_config(project, notifications=[EMAIL, EMAIL, EMAIL])
    first, second, third = ids(config)
    assert not replace(config, EMAIL, EMAIL, EMAIL)
    assert replace(config, {**EMAIL, "id": second}, EMAIL)
    assert ids(config) == [second, first]
    assert NotificationSetting.with_removed.get(removed=True).id == third


def test_one_of_another_type_is_another_one(config: AlertConfig) -> None:
    webhook, email, sms = ids(config)
    assert replace(config, WEBHOOK, {**SMS, "delayMin": 1}, SMS)
    kept_webhook, made, kept_sms = ids(config)
    assert (kept_webhook, kept_sms) == (webhook, sms)
    assert made not in {webhook, email, sms}
    assert NotificationSetting.with_removed.get(removed=True).id == email


def test_one_taken_out_is_seen_no_more(config: AlertConfig) -> None:
    webhook, email, sms = ids(config)
    assert replace(config, WEBHOOK, SMS)
    assert ids(config) == [webhook, sms]
    assert [notification.id for notification in NotificationSetting.objects.order_by("position")] == [
        webhook,
        sms,
    ]
    assert not replace(config, WEBHOOK, SMS)
    assert replace(config, WEBHOOK, SMS, EMAIL)
    assert ids(config)[2] not in {webhook, email, sms}


def test_its_waiting_notifications_are_dropped_with_the_reason(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    ingest(project, host_report(reachable=False))
    evaluate()
    webhook, email, sms = ids(config)
    Notification.objects.filter(setting_id=sms).update(lease_token="a" * 32)
    replace(config, WEBHOOK)
    results = {
        row.setting_id: (row.status, row.reason) for row in Notification.objects.filter(kind="alert.open")
    }
    assert results == {webhook: ("PENDING", None), email: ("DROPPED", REMOVED), sms: ("PENDING", None)}
    # It was being sent when it was removed: nobody knows whether it arrived.
    Notification.objects.filter(setting_id=sms).update(lease_until=clock.now() - timedelta(seconds=1))
    deliver_all()
    assert {channel for channel, _, _ in outside.sent} <= {"WEBHOOK", "SMS"}
    assert not Notification.objects.filter(setting_id=email).exclude(status="DROPPED").exists()


def test_a_notified_recipient_gets_the_end_and_nothing_before_it(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    replace(config, EMAIL)
    outside.sent.clear()
    deliver_all(clock.now() + timedelta(hours=2))
    assert [(channel, message.kind.value) for channel, _, message in outside.sent] == [
        ("EMAIL", "alert.update")
    ]
    outside.sent.clear()
    ingest(project, host_report())
    evaluate()
    assert statuses(config) == ["CLOSED"]
    deliver_all(clock.now() + timedelta(hours=2))
    sent = {channel: (message.kind.value, sent) for channel, sent, message in outside.sent}
    assert sent == {
        "EMAIL": ("alert.close", {"emailAddress": EMAIL["emailAddress"]}),
        "WEBHOOK": ("alert.close", {"url": WEBHOOK["webhookUrl"], "secret": WEBHOOK["webhookSecret"]}),
        "SMS": ("alert.close", {"mobileNumber": SMS["mobileNumber"]}),
    }


def test_its_row_is_deleted_when_it_has_no_recipient_left(
    project: Project, config: AlertConfig, outside: Outside
) -> None:
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    (webhook, *_) = ids(config)
    replace(config, EMAIL, SMS)
    assert not removed_settings_purge()
    ingest(project, host_report())
    evaluate()
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    deliver_all()
    assert not removed_settings_purge()
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    deliver_all(clock.now() + timedelta(minutes=10))
    assert removed_settings_purge()
    assert not NotificationSetting.with_removed.filter(id=webhook).exists()
    assert NotificationSetting.objects.filter(config=config).count() == 2
    assert Notification.objects.filter(setting_id=webhook).exists()
    assert Alert.objects.exists()
    assert not removed_settings_purge()


def test_a_new_key_encrypts_removed_notifications_too(config: AlertConfig, settings: Settings) -> None:
    (webhook, *_) = ids(config)
    replace(config, EMAIL)
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key", *settings.OPSAPI_ENCRYPTION_KEYS]
    call_command("rotate_encryption")
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key"]
    setting = NotificationSetting.with_removed.get(id=webhook)
    assert setting_values(setting)["webhookSecret"] == WEBHOOK["webhookSecret"]
