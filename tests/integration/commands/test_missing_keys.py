"""What `manage.py prepare` says of stored values whose encryption key is not configured."""

from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import models
from pytest_django import Settings

from accesslist.models import ApiKey, Project
from alerting.models import NotificationSetting
from opsapi import encrypted_columns
from opsapi.encrypted_columns import EncryptedColumn
from opsapi.management.commands import prepare
from opsapi.roles import Role
from tests.factories.accesslist import make_key
from tests.factories.alerting import make_config
from tests.factories.lost_keys import lose_key

pytestmark = pytest.mark.django_db(transaction=True)


class NotYet(models.Model):
    """A model whose table is not there."""

    class Meta:
        app_label = "not_yet"

    def __str__(self) -> str:
        return str(self.pk)


@pytest.fixture(autouse=True)
def _newest_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version of the server is not the subject here."""
    monkeypatch.setattr(prepare, "outdated", lambda _version: None)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What it says of keys."""
    caplog.clear()
    call_command("prepare")
    return [line.getMessage() for line in caplog.records if line.name == "opsapi.prepare"]


def test_each_column_is_logged_once_with_a_count(project: Project, caplog: pytest.LogCaptureFixture) -> None:
    keys = [make_key(Role.GLOBAL_OWNER) for _ in range(2)]
    make_config(project)
    assert said(caplog) == []
    lose_key(ApiKey)
    make_key(Role.GLOBAL_OWNER)
    why = "values cannot be decrypted, their key is not in OPSAPI_ENCRYPTION_KEYS"
    assert said(caplog) == [f"accesslist.ApiKey.ha1: {len(keys)} {why}"]
    lose_key(NotificationSetting)
    assert said(caplog)[1:] == [f"alerting.NotificationSetting.secrets: 1 {why}"]


def test_a_configured_older_key_is_not_missing(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    make_key(Role.GLOBAL_OWNER)
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key", *settings.OPSAPI_ENCRYPTION_KEYS]
    assert said(caplog) == []


@pytest.fixture
def _no_migration(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of a database is changed whose key is not here."""

    def fail() -> None:
        raise AssertionError("it migrates")

    monkeypatch.setattr(prepare, "_migrate", fail)


@pytest.mark.usefixtures("_no_migration")
@pytest.mark.parametrize("keys", [[], ["another key"]], ids=["missing", "wrong"])
def test_a_database_whose_key_is_not_here_is_refused_and_not_touched(
    settings: Settings, tmp_path: Path, keys: list[str]
) -> None:
    make_key(Role.GLOBAL_OWNER)
    encrypted = list(ApiKey.objects.values())
    settings.OPSAPI_ENCRYPTION_KEY_FILE = tmp_path / "encryption_key"
    settings.OPSAPI_ENCRYPTION_KEYS = keys
    with pytest.raises(CommandError) as refusal:
        call_command("prepare")
    assert str(tmp_path / "encryption_key") in str(refusal.value)
    assert ("is missing" in str(refusal.value)) is (not keys)
    assert "\n" not in str(refusal.value)
    assert list(tmp_path.iterdir()) == []
    assert list(ApiKey.objects.values()) == encrypted


def test_a_database_without_secrets_gets_a_key(settings: Settings, tmp_path: Path) -> None:
    settings.OPSAPI_ENCRYPTION_KEY_FILE = tmp_path / "encryption_key"
    settings.OPSAPI_ENCRYPTION_KEYS = []
    call_command("prepare")
    assert [(tmp_path / "encryption_key").read_text().strip()] == settings.OPSAPI_ENCRYPTION_KEYS
    assert make_key(Role.GLOBAL_OWNER)
    call_command("prepare")


def test_a_key_that_is_lost_for_good_can_be_given_up(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_key(Role.GLOBAL_OWNER)
    settings.OPSAPI_ENCRYPTION_KEY_FILE = tmp_path / "encryption_key"
    settings.OPSAPI_ENCRYPTION_KEYS = []
    settings.OPSAPI_ENCRYPTION_KEY_LOST = True
    assert len(said(caplog)) == 1
    make_key(Role.GLOBAL_OWNER)
    settings.OPSAPI_ENCRYPTION_KEY_LOST = False
    assert len(said(caplog)) == 1


def test_nothing_is_encrypted_without_a_key(settings: Settings) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = []
    with pytest.raises(ImproperlyConfigured, match="encryption_key: is missing"):
        make_key(Role.GLOBAL_OWNER)
    assert not ApiKey.objects.exists()


def test_a_column_that_a_migration_has_yet_to_make_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [EncryptedColumn(ApiKey, "no_such"), EncryptedColumn(NotYet, "secret")]
    monkeypatch.setattr(encrypted_columns, "encrypted_columns", lambda: iter(columns))
    assert not encrypted_columns.is_key_lost()


def test_every_encrypted_column_is_checked() -> None:
    assert sorted(map(str, encrypted_columns.encrypted_columns())) == [
        "accesslist.ApiKey.ha1",
        "accesslist.SecondFactor.secret",
        "alerting.Destination.config",
        "alerting.NotificationSetting.secrets",
        "automation.AgentSettings.secrets",
        "automation.AutomationRevision.document",
        "automation.AutomationRevision.masked",
        "integrations.Integration.secrets",
    ]
