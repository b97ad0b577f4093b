"""Who a notification goes to, as people know them; and when it is only scheduled."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.configs.notification_types import recipient_words
from alerting.engine.choices import NotificationStatus
from alerting.engine.rules import NotificationState, notification_state
from integrations.channels import CHANNELS
from integrations.choices import ChannelType, MessageKind

NOW = datetime(2099, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("type_name", "channel", "recipient", "place", "words"),
    [
        ("EMAIL", "EMAIL", "ada@example.com", "", "ada@example.com"),
        ("GROUP", "EMAIL", "ada@example.com", "", "ada@example.com"),
        ("USER", "SMS", "+12025550100", "", "+12025550100"),
        ("GROUP", None, "", "", "Project members"),
        ("GROUP", None, "GROUP_OWNER", "", "Project members: GROUP_OWNER"),
        ("USER", None, "ada", "", "User: ada"),
        ("TEAM", None, "69201a2b3c4d5e6f70819207", "on call", "Team: on call"),
        ("CHAT_SERVICE", "CHAT_SERVICE", "******good", "oncall", "Slack #oncall"),
        ("CHAT_SERVICE", "CHAT_SERVICE", "******good", "#oncall", "Slack #oncall"),
        ("CHAT_SERVICE", "CHAT_SERVICE", "******good", "", "Slack"),
        ("PAGER_SERVICE", "PAGER_SERVICE", "******cdef", "", "PagerDuty"),
        ("OPS_ALERT_SERVICE", "OPS_ALERT_SERVICE", "******cdef", "", "Opsgenie"),
        ("METRICS_SERVICE", "METRICS_SERVICE", "******cdef", "", "Datadog"),
        ("ON_CALL_SERVICE", "ON_CALL_SERVICE", "******cdef", "", "Splunk On-Call"),
        ("WEBHOOK", "WEBHOOK", "https://hooks.example.com/******hift", "", "Webhook hooks.example.com"),
        (
            "TEAM_CHAT_SERVICE",
            "TEAM_CHAT_SERVICE",
            "https://chat.example.com/******ng",
            "",
            "Microsoft Teams chat.example.com",
        ),
        ("WEBHOOK", "WEBHOOK", None, "", "Webhook (recipient not shown)"),
        ("EMAIL", "EMAIL", None, "", "E-mail (recipient not shown)"),
        ("GROUP", None, "on call", "", "Project members: on call"),
    ],
)
def test_a_recipient_is_named_as_people_know_it(
    type_name: str, channel: str | None, recipient: str | None, place: str, words: str
) -> None:
    way = ChannelType(channel) if channel else None
    assert recipient_words(type_name=type_name, channel=way, recipient=recipient, place=place) == words


@pytest.mark.parametrize("channel", CHANNELS)
def test_no_masked_secret_is_shown(channel: ChannelType) -> None:
    for recipient in ("******cdef", "https://hooks.example.com/******hift"):
        words = recipient_words(type_name=channel, channel=channel, recipient=recipient)
        assert "***" not in words or CHANNELS[channel].has_address


@pytest.mark.parametrize(
    ("changes", "state"),
    [
        ({}, "Scheduled"),
        ({"due": NOW}, "Waiting"),
        ({"kind": MessageKind.OPEN}, "Scheduled"),
        ({"kind": MessageKind.OPEN, "is_held": True}, "Waiting"),
        ({"is_held": True}, "Scheduled"),
        ({"attempts": 1}, "Waiting"),
        ({"status": NotificationStatus.DELIVERED}, "Delivered"),
        ({"status": NotificationStatus.FAILED}, "Failed"),
        ({"status": NotificationStatus.DROPPED}, "Dropped"),
    ],
    ids=str,
)
def test_what_is_to_come_is_scheduled(changes: dict[str, Any], state: str) -> None:
    reminder: dict[str, Any] = {
        "status": NotificationStatus.PENDING,
        "kind": MessageKind.UPDATE,
        "due": NOW + SECOND,
        "attempts": 0,
        "is_held": False,
    }
    assert notification_state(**{**reminder, **changes}, now=NOW) == NotificationState(state)
