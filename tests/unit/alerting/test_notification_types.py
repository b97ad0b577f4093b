"""The table of notification types: the channels of each, and whose credentials it uses."""

from collections.abc import Callable
from typing import Any

import pytest

from alerting.configs.choices import PeopleType
from alerting.configs.notification_types import NOTIFICATION_TYPES, NotificationType
from integrations.channels import CHANNELS
from integrations.choices import ChannelType, SecretKind
from integrations.fields import FieldSet
from integrations.types import INTEGRATION_TYPES


def kinds(kept: Callable[[NotificationType], bool] = lambda _: True) -> pytest.MarkDecorator:
    """Runs a test for each type that is kept."""
    rows = [pytest.param(kind, id=name) for name, kind in NOTIFICATION_TYPES.items() if kept(kind)]
    return pytest.mark.parametrize("kind", rows)


def has_integration(kind: NotificationType) -> bool:
    """Whether the integration of a project can supply the credentials."""
    return kind.integration is not None


def integration_of(kind: NotificationType) -> FieldSet:
    """The integration that can supply the credentials."""
    assert kind.integration is not None
    return INTEGRATION_TYPES[kind.integration]


def test_every_type_is_in_the_table_under_its_name() -> None:
    assert [kind.type for kind in NOTIFICATION_TYPES.values()] == list(NOTIFICATION_TYPES)
    assert set(NOTIFICATION_TYPES) == {*PeopleType, *CHANNELS}


def test_some_are_for_people_and_some_can_have_an_integration() -> None:
    assert {name for name, kind in NOTIFICATION_TYPES.items() if kind.for_people} == {
        "ADMIN",
        "GROUP",
        "ORG",
        "USER",
        "TEAM",
    }
    integrated = {kind.integration for kind in NOTIFICATION_TYPES.values() if kind.integration}
    assert integrated == set(INTEGRATION_TYPES) - {"SCRAPER"}
    assert [kind.type for kind in NOTIFICATION_TYPES.values() if kind.global_only] == ["ADMIN"]
    assert {kind.type: kind.most for kind in NOTIFICATION_TYPES.values() if kind.most} == {
        "GROUP": 1,
        "ORG": 1,
    }


@kinds(lambda kind: not kind.for_people)
def test_its_channel_gets_all_it_needs_from_a_whole_notification(kind: NotificationType) -> None:
    (channel,) = (CHANNELS[channel] for channel in kind.channels)
    config = kind.channel_config(kind.example, {})
    assert channel.missing(config) == []
    assert set(config) <= {field.name for field in channel.fields}


@kinds(has_integration)
def test_its_channel_gets_all_it_needs_from_an_integration(kind: NotificationType) -> None:
    example = integration_of(kind).example
    config = kind.channel_config({}, example)
    assert CHANNELS[ChannelType(kind.type)].missing(config) == []
    assert config == {name: str(value) for name, value in example.items()}


@kinds()
def test_an_encrypted_value_can_be_decrypted(kind: NotificationType) -> None:
    values = dict(kind.example)
    shown, secrets = kind.shown(values), kind.secrets(values)
    assert kind.opened(shown, secrets) == values
    named = [name for name in kind.secret_fields if name in values]
    assert not [name for name in named if shown[name] == values[name]]
    assert len(secrets) == len(named)


@kinds()
def test_what_is_shown_of_a_secret_is_not_taken_for_it(kind: NotificationType) -> None:
    values = dict(kind.example)
    opened = kind.opened(kind.shown(values), {})
    assert opened == {name: value for name, value in values.items() if name not in kind.secret_fields}


@kinds(has_integration)
def test_a_secret_is_of_the_same_kind_as_in_its_integration(kind: NotificationType) -> None:
    known = {field.name: field.secret for field in integration_of(kind).fields}
    assert [field for field in kind.fields if known[field.config_name or ""] is not field.secret] == []


@kinds(lambda kind: not has_integration(kind))
def test_what_needs_no_integration_has_no_secret(kind: NotificationType) -> None:
    assert {field.secret for field in kind.fields} <= {SecretKind.PLAIN}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("EMAIL", 60),
        ("GROUP", 60),
        ("WEBHOOK", 60),
        ("CHAT_SERVICE", 60),
        ("METRICS_SERVICE", 60),
        ("PAGER_SERVICE", None),
        ("OPS_ALERT_SERVICE", None),
        ("ON_CALL_SERVICE", None),
    ],
)
def test_services_that_keep_state_are_notified_once_unless_asked(name: str, expected: int | None) -> None:
    assert NOTIFICATION_TYPES[name].default_interval_min == expected


@pytest.mark.parametrize(
    ("name", "own", "integration", "expected"),
    [
        ("CHAT_SERVICE", {}, {"apiToken": "t", "channelName": "c"}, {"apiToken": "t", "channelName": "c"}),
        (
            "CHAT_SERVICE",
            {"channelName": "mine"},
            {"apiToken": "t", "channelName": "c"},
            {"apiToken": "t", "channelName": "mine"},
        ),
        (
            "CHAT_SERVICE",
            {"apiToken": "own", "channelName": "mine"},
            {"apiToken": "t", "channelName": "c", "teamName": "n"},
            {"apiToken": "own", "channelName": "mine"},
        ),
        ("WEBHOOK", {"webhookUrl": "u"}, {"url": "v", "secret": "s"}, {"url": "u"}),
        ("WEBHOOK", {}, {"url": "v", "secret": "s"}, {"url": "v", "secret": "s"}),
        ("ON_CALL_SERVICE", {"onCallApiKey": "k"}, {"apiKey": "l", "routingKey": "r"}, {"apiKey": "k"}),
        (
            "ON_CALL_SERVICE",
            {"onCallRoutingKey": "mine"},
            {"apiKey": "l", "routingKey": "r"},
            {"apiKey": "l", "routingKey": "mine"},
        ),
        ("METRICS_SERVICE", {}, {"apiKey": "k", "region": "EU"}, {"apiKey": "k", "region": "EU"}),
        (
            "EMAIL",
            {"emailAddress": "a@example.com", "emailEnabled": True},
            {},
            {"emailAddress": "a@example.com"},
        ),
    ],
)
def test_credentials_come_whole_from_one_of_the_two(
    name: str, own: dict[str, Any], integration: dict[str, Any], expected: dict[str, str]
) -> None:
    assert NOTIFICATION_TYPES[name].channel_config(own, integration) == expected
