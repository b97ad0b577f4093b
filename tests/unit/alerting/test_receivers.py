"""Who counts as one receiver."""

import pytest

from alerting.rules.receivers import receiver_key
from integrations.choices import ChannelType


@pytest.mark.parametrize(
    ("channel", "recipient", "expected"),
    [
        (ChannelType.WEBHOOK, "https://hooks.example.com/******cdef", "WEBHOOK https://hooks.example.com"),
        (ChannelType.WEBHOOK, "http://hooks.example.com:81/******", "WEBHOOK http://hooks.example.com:81"),
        (ChannelType.WEBHOOK, "https://[2001:db8::1]:8443/******", "WEBHOOK https://[2001:db8::1]:8443"),
        (
            ChannelType.TEAM_CHAT_SERVICE,
            "https://flows.example.com/******",
            "TEAM_CHAT_SERVICE https://flows.example.com",
        ),
        (ChannelType.WEBHOOK, "", "WEBHOOK"),
        (ChannelType.EMAIL, "ada@example.com", "EMAIL"),
        (ChannelType.SMS, "+12025550100", "SMS"),
        (ChannelType.PAGER_SERVICE, "******cdef", "PAGER_SERVICE"),
    ],
)
def test_what_fails_together_is_one(channel: ChannelType, recipient: str, expected: str) -> None:
    assert receiver_key(channel, recipient) == expected
