"""A deleted configuration keeps its secrets only until its last due notification is sent."""

from datetime import timedelta

import pytest

from accesslist.models import Project
from alerting.configs.changes import alert_config_delete, deleted_config_secrets_purge
from alerting.models import Alert, AlertConfig, Incident, Notification, NotificationSetting
from integrations.channels.outcome import Outcome
from integrations.choices import DeliveryStatus
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.alerting import EMAIL, WEBHOOK, make_config
from tests.factories.automation import host_report, ingest
from tests.integration.alerting.pipeline import Outside, deliver_all, evaluate

pytestmark = pytest.mark.django_db


def delete(config: AlertConfig) -> None:
    """Delete it now."""
    alert_config_delete(config=config, actor=SYSTEM, now=clock.now())


def purge() -> bool:
    """Purge a little later."""
    return deleted_config_secrets_purge(now=clock.now() + timedelta(seconds=1))


def has_secrets(config: AlertConfig) -> bool:
    """Whether any of its notifications has."""
    return NotificationSetting.objects.filter(config=config).exclude(secrets=None).exists()


def test_secrets_of_a_deleted_configuration_are_removed_and_shown_values_stay(project: Project) -> None:
    config = make_config(project, notifications=[WEBHOOK, EMAIL])
    shown = list(NotificationSetting.objects.values_list("fields", flat=True))
    delete(config)
    assert purge()
    assert not has_secrets(config)
    assert list(NotificationSetting.objects.values_list("fields", flat=True)) == shown
    assert not purge()


@each("enabled", [True, False])
def test_secrets_of_any_other_configuration_stay(project: Project, enabled: bool) -> None:
    delete(make_config(project))
    config = make_config(project, enabled=enabled)
    assert purge()
    assert has_secrets(config)


def test_one_deleted_after_that_moment_waits(project: Project) -> None:
    config = make_config(project)
    before = clock.now()
    delete(config)
    assert not deleted_config_secrets_purge(now=before)
    assert has_secrets(config)


def test_notified_recipients_get_the_end_before_their_row_is_removed(
    project: Project, outside: Outside
) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    delete(config)
    assert not purge()
    deliver_all()
    assert outside.kinds[-1] == "alert.cancel"
    assert outside.sent[-1][1] == {"url": WEBHOOK["webhookUrl"], "secret": WEBHOOK["webhookSecret"]}
    assert purge()
    assert not has_secrets(config)


def test_what_is_tried_again_still_needs_them(project: Project, outside: Outside) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    delete(config)
    outside.outcome = Outcome(DeliveryStatus.RETRY, "the receiver could not be reached", 5)
    deliver_all()
    assert not purge()
    outside.outcome = Outcome(DeliveryStatus.DELIVERED, None, 5)
    deliver_all(clock.now() + timedelta(minutes=10))
    assert purge()


def test_a_notification_of_one_setting_does_not_keep_secrets_of_another(
    project: Project, outside: Outside
) -> None:
    config = make_config(project, notifications=[WEBHOOK, {**WEBHOOK, "delayMin": 5}])
    ingest(project, host_report(reachable=False))
    evaluate()
    deliver_all()
    delete(config)
    assert purge()
    deliver_all()
    assert purge()


def test_an_active_alert_and_its_incident_keep_them(project: Project) -> None:
    config = make_config(project)
    ingest(project, host_report(reachable=False))
    evaluate()
    AlertConfig.objects.filter(id=config.id).update(deleted=clock.now())
    Notification.objects.all().delete()
    assert not purge()
    Alert.objects.update(status="CANCELLED")
    assert not purge()
    Incident.objects.update(ended=clock.now())
    assert purge()


def test_a_dropped_one_shot_notification_keeps_no_secret(project: Project, outside: Outside) -> None:
    config = make_config(project, eventTypeName="NEW_HOST", notifications=[{**WEBHOOK, "delayMin": 60}])
    ingest(project, host_report())
    evaluate()
    assert Notification.objects.get().kind == "alert.inform"
    delete(config)
    assert purge()
    deliver_all(clock.now() + timedelta(hours=2))
    assert Notification.objects.get().status == "DROPPED"
    assert outside.sent == []
