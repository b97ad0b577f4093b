"""A deleted configuration is deleted for good when nothing refers to it any more."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from accesslist.models import Project
from alerting.configs.changes import DELETED_KEPT, PURGE_EVERY, alert_config_delete, deleted_configs_purge
from alerting.models import Alert, AlertConfig, Notification, NotificationSetting
from opsapi import clock
from opsapi.api.principal import SYSTEM
from tests.each import each
from tests.factories.alerting import (
    EMAIL,
    WEBHOOK,
    make_alert,
    make_config,
    make_global_config,
    make_notification,
)

pytestmark = pytest.mark.django_db
NOW = clock.now()
LATER = NOW + DELETED_KEPT + timedelta(seconds=1)


def deleted(config: AlertConfig) -> AlertConfig:
    alert_config_delete(config=config, actor=SYSTEM, now=NOW)
    return config


@each("make", [make_config, lambda _: make_global_config()], ids=["of a project", "global"])
def test_after_a_month_with_its_settings(project: Project, make: Callable[[Project], AlertConfig]) -> None:
    config, other = deleted(make(project)), make_config(project)
    NotificationSetting.objects.filter(config=config).update(removed=True)
    assert not deleted_configs_purge(now=NOW + DELETED_KEPT - timedelta(hours=1))
    assert deleted_configs_purge(now=LATER)
    assert not AlertConfig.objects.filter(id=config.id).exists()
    assert not NotificationSetting.with_removed.filter(config_id=config.id).exists()
    assert AlertConfig.objects.filter(id=other.id).exists()


def test_not_before_its_alerts(project: Project) -> None:
    config = make_config(project)
    make_alert(project, config_id=config.id, status="CLOSED", resolved=NOW)
    deleted(config)
    assert not deleted_configs_purge(now=LATER)
    Alert.objects.all().delete()
    assert deleted_configs_purge(now=LATER + PURGE_EVERY)


def test_not_before_the_one_shot_notifications_of_its_settings(project: Project) -> None:
    config = make_config(project, notifications=[WEBHOOK, EMAIL])
    setting = NotificationSetting.objects.get(config=config, position=1)
    make_notification(project, event_id="e" * 24, setting_id=setting.id, status="DELIVERED")
    deleted(config)
    assert not deleted_configs_purge(now=LATER)
    Notification.objects.all().delete()
    assert deleted_configs_purge(now=LATER + PURGE_EVERY)


def test_the_search_runs_every_ten_minutes(project: Project) -> None:
    deleted(make_config(project))
    assert deleted_configs_purge(now=LATER)
    deleted(make_config(project))
    assert not deleted_configs_purge(now=LATER + PURGE_EVERY - timedelta(seconds=1))
    assert deleted_configs_purge(now=LATER + PURGE_EVERY)


def test_a_batch_at_a_time(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("alerting.configs.changes.PURGED_AT_ONCE", 2)
    for _ in range(3):
        deleted(make_config(project))
    before = AlertConfig.objects.count()
    assert deleted_configs_purge(now=LATER)
    assert AlertConfig.objects.count() == before - 2
    assert deleted_configs_purge(now=LATER + PURGE_EVERY)
    assert AlertConfig.objects.count() == before - 3
