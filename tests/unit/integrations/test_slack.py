"""CHAT_SERVICE: what is posted, and what an answer means."""

from typing import Any

import pytest

from events.types import Severity
from integrations.channels.base import DeliveryError
from integrations.channels.slack import build_request, read_answer
from integrations.channels.stages import ANYTHING
from integrations.choices import MessageKind
from integrations.messages import Message
from opsapi.outbound.errors import OutboundReason
from tests.each import each
from tests.unit.integrations.messages import (
    LONGEST,
    MOST_FACTS,
    ODD,
    lines_of,
    make_message,
    named_everywhere,
)

CONFIG = {"apiToken": "xoxb-0123456789", "channelName": "#oncall"}


def built(message: Message) -> dict[str, Any]:
    """The document posted."""
    return dict(build_request(CONFIG, message).document)


def texts(document: dict[str, Any]) -> list[str]:
    """Every text that Slack shows."""
    header, *rest = document["blocks"]
    fields = [field for block in rest for field in block.get("fields", block.get("elements"))]
    return [document["text"], header["text"]["text"], *(field["text"] for field in fields)]


@each(
    ("changes", "label"),
    [
        ({"kind": MessageKind.OPEN}, "OPEN"),
        ({"kind": MessageKind.UPDATE}, "STILL OPEN"),
        ({"kind": MessageKind.CLOSE}, "CLOSED"),
        ({"kind": MessageKind.INFORM}, "EVENT"),
        ({"kind": MessageKind.INFORM, "is_test": True}, "TEST"),
    ],
)
def test_it_posts_title_and_facts_to_the_channel(changes: dict[str, Any], label: str) -> None:
    message = make_message(**changes)
    title = message.title
    assert title.startswith(f"[{label}] ")
    facts = lines_of(message)
    assert built(message) == {
        "channel": "#oncall",
        "text": title,
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}},
            {
                "type": "section",
                "fields": [{"type": "plain_text", "text": fact, "emoji": False} for fact in facts],
            },
        ],
        "unfurl_links": False,
        "unfurl_media": False,
    }


def test_it_shows_the_token_to_the_service_in_a_header_only() -> None:
    request = build_request(CONFIG, make_message())
    assert request.headers == {
        "Authorization": "Bearer xoxb-0123456789",
        "Content-Type": "application/json; charset=utf-8",
    }
    assert b"xoxb" not in request.body


def test_it_links_to_the_alert() -> None:
    config = "https://ops.example/configs/1"
    document = built(make_message(link="https://ops.example/alerts/1?a=1&b=2", config_link=config))
    assert document["blocks"][2]["elements"] == [
        {"type": "mrkdwn", "text": "<https://ops.example/alerts/1?a=1&amp;b=2|Open the alert>"},
        {"type": "mrkdwn", "text": f"<{config}|Alert configuration>"},
    ]


def test_a_bar_in_a_link_does_not_end_it() -> None:
    document = built(make_message(runbook_url="https://wiki.example.com/a|b"))
    [link] = document["blocks"][2]["elements"]
    assert link["text"] == "<https://wiki.example.com/a%7Cb|Runbook>"


@each(
    ("kind", "severity", "colour"),
    [
        (MessageKind.OPEN, Severity.CRITICAL, "danger"),
        (MessageKind.UPDATE, Severity.WARNING, "warning"),
        (MessageKind.OPEN, Severity.INFO, "#1565c0"),
        (MessageKind.ACKNOWLEDGE, Severity.CRITICAL, "warning"),
        (MessageKind.CLOSE, Severity.CRITICAL, "good"),
        (MessageKind.CANCEL, Severity.CRITICAL, "#808080"),
    ],
)
def test_a_message_that_changes_has_the_colour_of_its_severity_while_the_alert_is_open(
    kind: MessageKind, severity: Severity, colour: str
) -> None:
    message = make_message(kind=kind, severity=severity)
    document = build_request({**CONFIG, "updateInPlace": "True"}, message).document
    [attachment] = document["attachments"]
    assert attachment["color"] == colour


@each(("length", "blocks"), [(2000 - 37, 3), (2000 - 36, 2)])
def test_a_link_that_is_too_long_stays_out(length: int, blocks: int) -> None:
    link = "https://ops.example/" + "x" * length
    assert len(built(make_message(link=link))["blocks"]) == blocks


@each("name", ["<!channel>", "<https://evil.example|db1>", "<@U123>", "a & b"])
def test_no_name_mentions_anybody_or_becomes_a_link(name: str) -> None:
    document = built(make_message(**named_everywhere(name)))
    escaped = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    for text in texts(document):
        assert "<" not in text
        assert ">" not in text
    assert f"Fact 3: {escaped}" in texts(document)


@each("name", ODD)
def test_odd_names_leave_one_line_each(name: str) -> None:
    for text in texts(built(make_message(**named_everywhere(name)))):
        assert text.isprintable()


@each("char", LONGEST)
def test_it_keeps_to_the_lengths_of_the_service(char: str) -> None:
    long = char * 500
    document = built(make_message(**named_everywhere(long, MOST_FACTS)))
    header, *sections = document["blocks"]
    assert 100 < len(header["text"]["text"]) <= 150
    assert header["text"]["text"].endswith("…")
    assert [len(section["fields"]) for section in sections] == [10, 9]
    assert all(len(field["text"]) <= 2000 for section in sections for field in section["fields"])
    assert len(document["text"]) <= 4000


def test_a_cut_title_ends_in_a_whole_escape() -> None:
    header = built(make_message(headline="&" * 100))["blocks"][0]["text"]["text"]
    assert header == f"[OPEN] [CRITICAL] {'&amp;' * 26}…"


@each("token", ["tökén", "a\r\nX-Evil: 1", "a\x00"])
def test_a_token_that_no_header_can_carry_fails_for_good(token: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        build_request({**CONFIG, "apiToken": token}, make_message())
    assert not caught.value.retryable
    assert token not in caught.value.reason


@each(
    ("answer", "read"),
    [
        (b'{"ok":true,"channel":"C1","ts":"1.2","message":{}}', ("ok", "")),
        (b'{"ok":true,"error":"odd"}', ("ok", "")),
        (b'{"ok":true,"channel":"C1","message":{"te', ("ok", "")),
        (b'{"ok":false,"error":"channel_not_found"}', ("channel_not_found", "channel_not_found")),
        (b'{"ok":false,"error":"some_new_error"}', (ANYTHING, "some_new_error")),
        (b'{"ok":false,"error":"ok"}', (ANYTHING, "ok")),
        (b'{"ok":false,"error":"bad response"}', (ANYTHING, "bad response")),
        (b'{"ok":false}', (ANYTHING, "")),
        (b'{"ok":false,"error":{"a":[1]}}', (ANYTHING, "")),
    ],
)
def test_it_reads_the_error_of_an_answer(answer: bytes, read: tuple[str, str]) -> None:
    assert read_answer(answer) == read


@each(
    "answer",
    [b"", b"ok", b"<html>", b"[]", b"null", b"{}", b'{"ok":1}', b'{"ok":"true"}', b'{"ok":tr', b"[" * 60_000],
    ids=["empty", "text", "html", "list", "null", "object", "number", "string", "cut", "deep"],
)
def test_an_answer_of_something_else_is_none_of_slack(answer: bytes) -> None:
    assert read_answer(answer) == (OutboundReason.BAD_RESPONSE, "")
