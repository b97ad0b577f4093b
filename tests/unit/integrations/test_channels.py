"""What every channel declares."""

import pytest

from integrations.channels import CHANNELS
from integrations.channels.base import Channel, ConfigField
from integrations.choices import ChannelType, MessageKind, SecretKind


def test_each_stands_under_its_own_type() -> None:
    assert {channel_type: channel.type for channel_type, channel in CHANNELS.items()} == {
        ChannelType.EMAIL: ChannelType.EMAIL,
        ChannelType.WEBHOOK: ChannelType.WEBHOOK,
    }


@pytest.mark.parametrize("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_each_is_told_of_opening_and_closing(channel: Channel) -> None:
    assert channel.kinds >= {MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE, MessageKind.INFORM}


def test_mail_is_not_told_of_acknowledging_and_cancelling_webhooks_are() -> None:
    kinds = {MessageKind.ACKNOWLEDGE, MessageKind.CANCEL}
    assert not CHANNELS[ChannelType.EMAIL].kinds & kinds
    assert CHANNELS[ChannelType.WEBHOOK].kinds >= kinds


@pytest.mark.parametrize(
    ("channel_type", "config", "missing"),
    [
        (ChannelType.WEBHOOK, {"url": "https://example.com"}, []),
        (ChannelType.WEBHOOK, {"url": ""}, ["url"]),
        (ChannelType.WEBHOOK, {"secret": "s"}, ["url"]),
        (ChannelType.EMAIL, {}, ["emailAddress"]),
        (ChannelType.EMAIL, {"emailAddress": "a@example.com"}, []),
    ],
)
def test_it_names_missing_fields(
    channel_type: ChannelType, config: dict[str, str], missing: list[str]
) -> None:
    assert CHANNELS[channel_type].missing(config) == missing


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (SecretKind.PLAIN, "https://hooks.example/T0/abcdefgh1234"),
        (SecretKind.TOKEN, "******1234"),
        (SecretKind.SECRET, "******"),
        (SecretKind.URL, "https://hooks.example/******1234"),
    ],
)
def test_it_redacts_by_the_kind_of_secret(kind: SecretKind, shown: str) -> None:
    assert ConfigField("name", "name", kind).redact("https://hooks.example/T0/abcdefgh1234") == shown
