"""The recipients and the schedule of a notification, in words."""

from typing import Any

import pytest

from alerting.configs.notification_types import NOTIFICATION_TYPES, receiver_sentence, rhythm_sentence


@pytest.mark.parametrize(
    ("notification", "said"),
    [
        ({"typeName": "ADMIN", "emailEnabled": True, "smsEnabled": False}, "Administrators by e-mail"),
        (
            {
                "typeName": "GROUP",
                "roles": ["GROUP_OWNER", "GROUP_READ_ONLY"],
                "emailEnabled": True,
                "smsEnabled": True,
            },
            "Project members GROUP_OWNER, GROUP_READ_ONLY by e-mail and SMS",
        ),
        (
            {"typeName": "TEAM", "teamId": "7ea7", "teamName": "on call", "smsEnabled": True},
            "Team on call by SMS",
        ),
        ({"typeName": "TEAM", "teamId": "7ea7", "emailEnabled": True}, "Team 7ea7 by e-mail"),
        (
            {"typeName": "EMAIL", "emailAddress": "oncall@example.com", "emailEnabled": True},
            "E-mail oncall@example.com",
        ),
        ({"typeName": "PAGER_SERVICE"}, "PagerDuty with the integration of the project"),
        ({"typeName": "CHAT_SERVICE", "apiToken": "******", "channelName": "#ops"}, "Slack #ops"),
        (
            {
                "typeName": "CHAT_SERVICE",
                "apiToken": "******",
                "channelName": "#ops",
                "updateInPlace": True,
            },
            "Slack #ops with messages updated in place",
        ),
        (
            {"typeName": "CHAT_SERVICE", "updateInPlace": False},
            "Slack with the integration of the project",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_a_receiver_is_said_in_words(notification: dict[str, Any], said: str) -> None:
    assert receiver_sentence(notification) == said


@pytest.mark.parametrize("kind", list(NOTIFICATION_TYPES))
def test_no_secret_is_said(kind: str) -> None:
    declared = NOTIFICATION_TYPES[kind]
    hidden = dict.fromkeys(declared.secret_fields, "******last")
    said = receiver_sentence({"typeName": kind, **declared.example, **hidden})
    assert "******" not in said
    assert said.startswith(NOTIFICATION_TYPES[kind].label)


@pytest.mark.parametrize(
    ("notification", "said"),
    [
        ({"delayMin": 0, "intervalMin": 60}, "immediately, reminder every 1 h"),
        ({"delayMin": 5}, "after 5 min, no reminders"),
    ],
    ids=["repeated", "once"],
)
def test_the_rhythm_is_said_in_words(notification: dict[str, Any], said: str) -> None:
    assert rhythm_sentence(notification) == said
