"""Microsoft Teams (TEAM_CHAT_SERVICE): an Adaptive Card to the URL of a workflow.

https://learn.microsoft.com/microsoftteams/platform/webhooks-and-connectors/how-to/add-incoming-webhook:
the message around the card, 28 KB at most. Notifications of Teams show its summary.
https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format:
cards in full width.
https://learn.microsoft.com/adaptive-cards/schema-explorer/text-run: text without Markdown.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime

from events.types import Severity
from integrations.channels.base import Channel, ChannelField
from integrations.channels.http import ServiceRequest, origin_of, over_http, same_url
from integrations.choices import ChannelType, MessageKind, SecretKind
from integrations.messages import Message, printable
from opsapi.api.fields import WebUrl
from opsapi.wire_json import JsonObject

_LINK_LIMIT = 2000
_SUMMARY_LIMIT = 100
_MESSAGE_LIMIT = 28_000
"""In bytes."""
_COLOURS: Mapping[Severity, str] = {
    Severity.CRITICAL: "attention",
    Severity.WARNING: "warning",
    Severity.INFO: "accent",
}
_TEST_COLOUR = "default"


def build_request(config: Mapping[str, str], message: Message, _now: datetime) -> ServiceRequest:
    """The card of a message; the URL is the credential."""
    attachment = {
        "contentType": "application/vnd.microsoft.card.adaptive",
        "contentUrl": None,
        "content": _card(message),
    }
    document = {
        "type": "message",
        "summary": printable(message.title, _SUMMARY_LIMIT),
        "attachments": [attachment],
    }
    return ServiceRequest(config["webhookUrl"], document)


def _card(message: Message) -> JsonObject:
    title = _run(message.title, weight="bolder", size="medium", color=_colour(message))
    facts = [
        _line(_run(f"{label}: ", weight="bolder"), _run(value)) for label, value in message.facts.items()
    ]
    if message.report:
        facts = [line for title, lines in message.report.items() for line in _section(title, lines)]
    card: JsonObject = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [_line(title), *facts],
        "msteams": {"width": "Full"},
    }
    # Title and facts are limited. A long link is left out, because the service would reject the whole card.
    links = {label: url for label, url in message.links.items() if len(url) <= _LINK_LIMIT}
    if links:
        card["actions"] = [
            {"type": "Action.OpenUrl", "title": label, "url": url} for label, url in links.items()
        ]
    return card


def _colour(message: Message) -> str:
    if message.kind is MessageKind.CLOSE:
        return "good"
    return _TEST_COLOUR if message.is_test else _COLOURS[message.severity]


def _section(title: str, lines: Iterable[str]) -> list[JsonObject]:
    return [_line(_run(title, weight="bolder")), *(_line(_run(line)) for line in lines)]


def _shows_report(config: Mapping[str, str], message: Message) -> bool:
    return len(build_request(config, message, message.occurred_at).body) <= _MESSAGE_LIMIT


def _line(*runs: dict[str, str]) -> JsonObject:
    return {"type": "RichTextBlock", "inlines": list(runs)}


def _run(text: str, **style: str) -> dict[str, str]:
    # No TextBlock or Fact: they parse Markdown, and a host name could become a link.
    return {"type": "TextRun", "text": text, **style}


MICROSOFT_TEAMS = Channel(
    ChannelType("TEAM_CHAT_SERVICE"),
    "Microsoft Teams",
    fields=(
        ChannelField(
            "webhookUrl",
            "Webhook URL",
            WebUrl(),
            example="https://chat.example.com/workflows/0123456789",
            secret=SecretKind.URL,
            notification_name="teamChatWebhookUrl",
        ),
    ),
    send=over_http(build_request),
    origin=lambda config: origin_of(config["webhookUrl"]),
    identity=lambda config: {"webhookUrl": same_url(config.get("webhookUrl", ""))},
    shows_report=_shows_report,
)
