"""manage.py rotate_encryption."""

import pytest
from django.core.management import CommandError, call_command
from pytest_django import Settings

from accesslist.models import ApiKey, Project
from alerting.models import NotificationSetting
from opsapi.encryption import decrypt, is_current
from opsapi.roles import Role
from tests.factories.accesslist import make_key
from tests.factories.alerting import make_config

pytestmark = pytest.mark.django_db


def test_everything_opens_with_the_new_key_alone(project: Project, settings: Settings) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = ["old key"]
    key = make_key(Role.GLOBAL_OWNER)
    make_config(project)
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key", "old key"]
    call_command("rotate_encryption")
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key"]
    assert len(decrypt(ApiKey.objects.get(id=key.id).ha1 or "", owner=key.id)) == 32
    setting = NotificationSetting.objects.get()
    assert "a webhook secret" in decrypt(setting.secrets or "", owner=setting.id)


def test_a_second_run_has_nothing_to_do(project: Project, settings: Settings) -> None:
    make_key(Role.GLOBAL_OWNER)
    before = ApiKey.objects.get().ha1
    call_command("rotate_encryption")
    assert ApiKey.objects.get().ha1 == before


def test_an_undecryptable_value_stays_and_all_others_are_encrypted_again(
    project: Project, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.OPSAPI_ENCRYPTION_KEYS = ["old key"]
    make_config(project)
    settings.OPSAPI_ENCRYPTION_KEYS = ["a key that is lost"]
    make_key(Role.GLOBAL_OWNER)
    lost = ApiKey.objects.get().ha1
    settings.OPSAPI_ENCRYPTION_KEYS = ["new key", "old key"]
    with pytest.raises(CommandError, match=r"left unchanged \(accesslist\.ApiKey\.ha1: 1\)$"):
        call_command("rotate_encryption")
    assert ApiKey.objects.get().ha1 == lost
    assert is_current(NotificationSetting.objects.get().secrets or "")
    assert "alerting.NotificationSetting.secrets: 1 encrypted again" in capsys.readouterr().out
