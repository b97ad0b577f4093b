"""What `manage.py prepare` says of stored values whose encryption key is not configured."""

import pytest
from django.core.management import call_command
from pytest_django import Settings

from accesslist.models import ApiKey, Project
from alerting.models import NotificationSetting
from opsapi.roles import Role
from opsapi.sealed import sealed_columns
from tests.factories.accesslist import make_key
from tests.factories.alerting import make_config
from tests.factories.lost_keys import lose_key

pytestmark = pytest.mark.django_db(transaction=True)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What it says of keys."""
    caplog.clear()
    call_command("prepare")
    return [line.getMessage() for line in caplog.records if line.name == "opsapi.prepare"]


def test_each_column_is_told_once_with_how_many(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    keys = [make_key(Role.GLOBAL_OWNER) for _ in range(2)]
    make_config(project)
    assert said(caplog) == []
    lose_key(ApiKey)
    make_key(Role.GLOBAL_OWNER)
    why = "cannot be read, sealed by a key not in OPSAPI_ENCRYPTION_KEYS"
    assert said(caplog) == [f"accesslist.ApiKey.ha1: {len(keys)} {why}"]
    lose_key(NotificationSetting)
    assert said(caplog)[1:] == [f"alerting.NotificationSetting.secrets: 1 {why}"]


def test_an_older_key_that_is_configured_is_none_that_is_missing(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    make_key(Role.GLOBAL_OWNER)
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key", *settings.OPSAPI_ENCRYPTION_KEYS]
    assert said(caplog) == []


def test_every_sealed_column_is_looked_at() -> None:
    assert sorted(map(str, sealed_columns())) == [
        "accesslist.ApiKey.ha1",
        "accesslist.SecondFactor.secret",
        "alerting.Destination.config",
        "alerting.NotificationSetting.secrets",
        "automation.AutomationRevision.document",
        "integrations.Integration.secrets",
    ]
