"""System checks of the outside."""

import pytest
from pytest_django import Settings

from integrations.apps import base_urls_are_urls, sms_settings_go_together
from integrations.channels import CHANNELS

SMS = ("OPSAPI_SMS_ACCOUNT", "OPSAPI_SMS_TOKEN", "OPSAPI_SMS_FROM")
BASE_URLS = [name for channel in CHANNELS.values() for name in channel.base_url_settings]


def test_by_default_there_is_nothing_to_say() -> None:
    assert base_urls_are_urls() == []
    assert sms_settings_go_together() == []


@pytest.mark.parametrize("name", BASE_URLS)
def test_every_base_url_is_looked_at_and_named(settings: Settings, name: str) -> None:
    setattr(settings, name, "https://user:very-secret@example.com")
    [error] = base_urls_are_urls()
    assert (error.id, error.msg) == ("opsapi.E001", f"{name}: must not contain a username or password")


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("https://example.com", None),
        ("http://127.0.0.1:8080/below/it", None),
        ("https://[2001:db8::1]", None),
        ("", "must be an http or https URL"),
        ("example.com", "must be an http or https URL"),
        ("ftp://example.com", "must be an http or https URL"),
        ("https://", "is not a URL"),
        ("https://example.com:0", "is not a URL"),
        ("https://example.com:port", "is not a URL"),
        ("https://example.com/a b", "is not a URL"),
        ("https://example.com?a=1", "must not have a query or a fragment"),
        ("https://example.com/#a", "must not have a query or a fragment"),
    ],
)
def test_a_base_url_can_have_a_path_put_behind_it(settings: Settings, url: str, fault: str | None) -> None:
    settings.OPSAPI_PAGER_BASE_URL = url
    expected = [f"OPSAPI_PAGER_BASE_URL: {fault}"] if fault else []
    assert [error.msg for error in base_urls_are_urls()] == expected


def test_only_the_group_chat_may_have_none(settings: Settings) -> None:
    for name in BASE_URLS:
        setattr(settings, name, "")
    missing = {error.msg.partition(":")[0] for error in base_urls_are_urls()}
    assert missing == set(BASE_URLS) - {"OPSAPI_GROUP_CHAT_BASE_URL"}


@pytest.mark.parametrize("missing", SMS)
def test_an_sms_provider_with_a_part_missing_is_refused(settings: Settings, missing: str) -> None:
    for name in SMS:
        setattr(settings, name, "" if name == missing else "very-secret")
    [error] = sms_settings_go_together()
    assert error.id == "opsapi.E002"
    assert error.msg.endswith(f"not set: {missing}")
    assert "very-secret" not in error.msg


def test_a_whole_sms_provider_is_fine(settings: Settings) -> None:
    for name in SMS:
        setattr(settings, name, "set")
    assert sms_settings_go_together() == []
