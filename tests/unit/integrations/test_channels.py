"""What every channel declares."""

from integrations.channels import CHANNELS
from integrations.channels.base import Channel
from integrations.choices import ChannelType, MessageKind, SecretKind
from integrations.redaction import redact
from tests.each import each


@each("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_each_is_notified_of_opening_and_closing(channel: Channel) -> None:
    assert channel.kinds >= {MessageKind.OPEN, MessageKind.UPDATE, MessageKind.CLOSE, MessageKind.INFORM}


@each("channel", CHANNELS.values(), ids=CHANNELS.keys())
def test_services_with_state_and_webhooks_are_notified_of_acknowledging_and_cancelling(
    channel: Channel,
) -> None:
    sends_state = channel.kinds & {MessageKind.ACKNOWLEDGE, MessageKind.CANCEL}
    assert len(sends_state) == (2 if channel.keeps_state or channel.type == "WEBHOOK" else 0)


def test_the_services_with_state_equal_the_decisions() -> None:
    assert {channel_type for channel_type, channel in CHANNELS.items() if channel.keeps_state} == {
        ChannelType("PAGER_SERVICE"),
        ChannelType("OPS_ALERT_SERVICE"),
        ChannelType("ON_CALL_SERVICE"),
    }


@each(
    ("channel_type", "config", "missing"),
    [
        (ChannelType("WEBHOOK"), {"url": "https://example.com"}, []),
        (ChannelType("WEBHOOK"), {"url": ""}, ["url"]),
        (ChannelType("WEBHOOK"), {"secret": "s"}, ["url"]),
        (ChannelType("EMAIL"), {}, ["emailAddress"]),
        (ChannelType("EMAIL"), {"emailAddress": "a@example.com"}, []),
        (ChannelType("CHAT_SERVICE"), {"apiToken": "t"}, ["channelName"]),
        (ChannelType("CHAT_SERVICE"), {"apiToken": "t", "channelName": "c"}, []),
        (ChannelType("GROUP_CHAT_SERVICE"), {}, ["notificationToken", "roomName"]),
        (ChannelType("METRICS_SERVICE"), {"region": "EU"}, ["apiKey"]),
        (ChannelType("METRICS_SERVICE"), {"apiKey": "k"}, []),
        (ChannelType("TEAM_CHAT_SERVICE"), {}, ["webhookUrl"]),
        (ChannelType("SMS"), {}, ["mobileNumber"]),
        (ChannelType("PAGER_SERVICE"), {"serviceKey": ""}, ["serviceKey"]),
        (ChannelType("OPS_ALERT_SERVICE"), {"region": "EU"}, ["apiKey"]),
        (ChannelType("OPS_ALERT_SERVICE"), {"apiKey": "k"}, []),
        (ChannelType("ON_CALL_SERVICE"), {"routingKey": "r"}, ["apiKey"]),
        (ChannelType("ON_CALL_SERVICE"), {"apiKey": "k"}, []),
    ],
)
def test_it_names_missing_fields(
    channel_type: ChannelType, config: dict[str, str], missing: list[str]
) -> None:
    assert CHANNELS[channel_type].missing(config) == missing


@each(
    ("kind", "shown"),
    [
        (SecretKind.PLAIN, "https://hooks.example/T0/abcdefgh1234"),
        (SecretKind.TOKEN, "******1234"),
        (SecretKind.SECRET, "******"),
        (SecretKind.URL, "https://hooks.example/******1234"),
    ],
)
def test_it_redacts_by_the_kind_of_secret(kind: SecretKind, shown: str) -> None:
    assert redact(kind, "https://hooks.example/T0/abcdefgh1234") == shown
