"""TEAM_CHAT_SERVICE: the card."""

from typing import Any

from events.types import Severity
from integrations.channels.microsoft_teams import build_request
from integrations.choices import MessageKind
from integrations.messages import Message
from tests.each import each
from tests.unit.integrations.messages import (
    LONGEST,
    MOST_FACTS,
    NOW,
    ODD,
    lines_of,
    make_message,
    named_everywhere,
)

CONFIG = {"webhookUrl": "https://chat.example.com/workflows/0123456789"}


def built(message: Message) -> dict[str, Any]:
    """The card of the document posted."""
    [attachment] = build_request(CONFIG, message, NOW).document["attachments"]
    card: dict[str, Any] = attachment["content"]
    return card


def lines(card: dict[str, Any]) -> list[str]:
    """What people read, line by line."""
    return ["".join(run["text"] for run in block["inlines"]) for block in card["body"]]


@each(
    ("changes", "label", "colour"),
    [
        ({"kind": MessageKind.OPEN}, "OPEN", "attention"),
        ({"kind": MessageKind.UPDATE}, "STILL OPEN", "attention"),
        ({"kind": MessageKind.CLOSE}, "CLOSED", "good"),
        ({"kind": MessageKind.OPEN, "severity": Severity.WARNING}, "OPEN", "warning"),
        ({"kind": MessageKind.CLOSE, "severity": Severity.WARNING}, "CLOSED", "good"),
        ({"kind": MessageKind.INFORM, "severity": Severity.INFO}, "EVENT", "accent"),
        ({"kind": MessageKind.INFORM, "is_test": True}, "TEST", "default"),
    ],
)
def test_it_shows_title_and_facts(changes: dict[str, Any], label: str, colour: str) -> None:
    message = make_message(**changes)
    card = built(message)
    assert message.title.startswith(f"[{label}] ")
    assert lines(card) == [message.title, *lines_of(message)]
    [title] = card["body"][0]["inlines"]
    assert (title["color"], title["weight"]) == (colour, "bolder")


def test_it_is_a_message_with_one_card() -> None:
    document = build_request(CONFIG, make_message(), NOW).document
    assert document["type"] == "message"
    [attachment] = document["attachments"]
    assert (attachment["contentType"], attachment["contentUrl"]) == (
        "application/vnd.microsoft.card.adaptive",
        None,
    )
    card = attachment["content"]
    assert (card["type"], card["version"]) == ("AdaptiveCard", "1.4")
    assert "actions" not in card


def test_it_links_to_the_alert() -> None:
    card = built(make_message(link="https://ops.example/alerts/1?a=1&b=2"))
    [action] = card["actions"]
    assert action == {
        "type": "Action.OpenUrl",
        "title": "Open the alert",
        "url": "https://ops.example/alerts/1?a=1&b=2",
    }


@each(("length", "actions"), [(2000, 1), (2001, 0)])
def test_a_link_that_is_too_long_stays_out(length: int, actions: int) -> None:
    card = built(make_message(link="https://ops.example/".ljust(length, "x")))
    assert len(card.get("actions", [])) == actions


@each("name", ["[db1](https://evil.example)", "**db1**", "<at>everybody</at>"])
def test_no_name_is_read_as_markup(name: str) -> None:
    card = built(make_message(**named_everywhere(name)))
    assert f"Fact 3: {name}" in lines(card)
    assert {block["type"] for block in card["body"]} == {"RichTextBlock"}
    assert {run["type"] for block in card["body"] for run in block["inlines"]} == {"TextRun"}


@each("name", ODD)
def test_odd_names_leave_one_line_each(name: str) -> None:
    shown = lines(built(make_message(**named_everywhere(name))))
    assert all(line.isprintable() for line in shown)


@each("char", LONGEST)
def test_it_keeps_to_the_size_of_the_service(char: str) -> None:
    long = char * 500
    link = "https://ops.example/".ljust(500, "x")
    links = {"link": link, "config_link": link, "runbook_url": link}
    message = make_message(**named_everywhere(long, MOST_FACTS), **links)
    assert len(build_request(CONFIG, message, NOW).body) <= 28 * 1024
