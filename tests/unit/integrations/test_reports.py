"""Messages with a report: what each channel sends, and when a report is too long."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from events.types import Severity
from integrations.channels import CHANNELS, datadog, hipchat, microsoft_teams, slack, webhook
from integrations.choices import ChannelType, MessageKind
from integrations.messages import Message
from integrations.webhooks.templates import TEMPLATES
from tests.each import each
from tests.unit.integrations.messages import NOW, make_message

LINE = "Host down · db1 & <db2>:27017"
TITLE = "Shift report 2026-11-29 12:00:00Z to 2026-11-29 20:00:00Z"
TOKEN = {"apiToken": "xoxb-0123456789", "channelName": "#oncall"}
ROOM = {"notificationToken": "token-0123456789", "roomName": "oncall"}
KEY = {"apiKey": "0123456789abcdef0123456789abcdef"}
CARD = {"webhookUrl": "https://chat.example.com/workflows/0123456789"}
HOOK = {"url": "https://hooks.example.com/in/0123456789?topic=alerts&chat_id=1"}


def report(rows: int, line: str = LINE) -> Message:
    """A report with two sections, of which one has rows."""
    sections = {"Opened (9)": [line] * rows + ["… and 2 more"], "Closed (0)": ["No alerts."]}
    return make_message(
        kind=MessageKind.INFORM,
        severity=Severity.INFO,
        headline=TITLE,
        target=None,
        known={},
        link="https://ops.example.com/admin/shift-report/?since=1",
        report=sections,
        document={"id": "1", "report": {"sections": [{"lines": sections["Opened (9)"]}]}},
    )


def shows(channel: str, config: Mapping[str, str], message: Message) -> bool:
    shows_report = CHANNELS[ChannelType(channel)].shows_report
    assert shows_report is not None
    return shows_report(config, message)


def test_a_report_is_neither_an_alert_nor_an_event() -> None:
    message = report(1)
    assert message.title == f"[REPORT] {TITLE} (project payments)"
    assert list(message.facts) == ["Opened (9)", "Closed (0)"]
    assert list(message.links) == ["Open the report"]


def test_slack_shows_each_section_in_a_block(settings: Any) -> None:
    settings.OPSAPI_CHAT_BASE_URL = "https://slack.example.com"
    document = dict(slack.build_request(TOKEN, report(2)).document)
    _, opened, closed, _ = document["blocks"]
    escaped = LINE.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    assert opened["text"]["text"] == f"Opened (9)\n{escaped}\n{escaped}\n… and 2 more"
    assert closed["text"] == {"type": "plain_text", "text": "Closed (0)\nNo alerts.", "emoji": False}


def test_teams_shows_a_line_for_each_row() -> None:
    card = microsoft_teams.build_request(CARD, report(1), NOW).document["attachments"][0]["content"]
    texts = ["".join(run["text"] for run in block["inlines"]) for block in card["body"]]
    assert texts[1:] == ["Opened (9)", LINE, "… and 2 more", "Closed (0)", "No alerts."]
    assert [action["title"] for action in card["actions"]] == ["Open the report"]


def test_hipchat_and_datadog_show_a_line_for_each_row(settings: Any) -> None:
    settings.OPSAPI_GROUP_CHAT_BASE_URL = "https://hipchat.example.com"
    html = hipchat.build_request(ROOM, report(1), NOW).document["message"]
    assert "Opened (9): <br>Host down · db1 &amp; &lt;db2&gt;:27017<br>… and 2 more<br>Closed" in html
    text = datadog.build_request(KEY, report(1), NOW).document["text"]
    assert text.startswith(f"Opened (9): \n{LINE}\n… and 2 more\nClosed (0): No alerts.\n")


def test_a_webhook_without_a_template_gets_the_sections() -> None:
    request, headers = webhook.build_request(HOOK, report(1), now=NOW)
    assert json.loads(request.body)["report"]["sections"][0]["lines"] == [LINE, "… and 2 more"]
    assert headers["X-Ops-Event"] == "alert.inform"


@each(
    ("channel", "config", "line", "most"),
    [
        # Titles and the line of further rows count too, and the escapes of Slack and HipChat.
        ("CHAT_SERVICE", TOKEN, "&" * 99, 6),
        ("CHAT_SERVICE", TOKEN, "x" * 99, 29),
        ("GROUP_CHAT_SERVICE", ROOM, "x" * 96, 97),
        ("METRICS_SERVICE", KEY, "x" * 99, 38),
        ("TEAM_CHAT_SERVICE", CARD, "x" * 100, 162),
        ("WEBHOOK", HOOK, "x" * 97, 653),
        ("WEBHOOK", {**HOOK, "template": "ntfy"}, "x" * 99, 8),
        ("WEBHOOK", {**HOOK, "template": "telegram"}, "&" * 99, 2),
        ("WEBHOOK", {**HOOK, "body": '{"text": "{{title}}: {{text}}"}'}, "x" * 99, 38),
    ],
)
def test_a_report_is_whole_up_to_the_limit_of_the_channel(
    channel: str, config: Mapping[str, str], line: str, most: int
) -> None:
    assert shows(channel, config, report(most, line))
    assert not shows(channel, config, report(most + 1, line))


def test_the_sections_of_a_slack_message_have_a_limit_together() -> None:
    sections = {f"Section {number}": ["x" * 2900] for number in range(5)}
    assert not shows("CHAT_SERVICE", TOKEN, make_message(report=sections))
    del sections["Section 4"]
    assert shows("CHAT_SERVICE", TOKEN, make_message(report=sections))


@pytest.mark.parametrize("name", [name for name, template in TEMPLATES.items() if not template.tracks_alerts])
def test_ready_templates_of_chats_have_a_place_for_a_report(name: str) -> None:
    config = {**HOOK, "template": name}
    assert shows("WEBHOOK", config, report(2, "x"))
    assert "… and 2 more" in webhook.build_request(config, report(2, "x"), now=NOW)[0].body.decode()


def test_a_body_without_a_place_for_facts_shows_no_report() -> None:
    assert not shows("WEBHOOK", {**HOOK, "body": '{"text": "{{title}} {{link}}"}'}, report(0))


def test_services_of_incidents_and_of_short_texts_take_no_reports() -> None:
    taking = {channel.type for channel in CHANNELS.values() if channel.shows_report}
    assert taking == {
        "CHAT_SERVICE",
        "GROUP_CHAT_SERVICE",
        "METRICS_SERVICE",
        "TEAM_CHAT_SERVICE",
        "WEBHOOK",
    }
