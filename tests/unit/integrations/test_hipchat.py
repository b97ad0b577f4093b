"""GROUP_CHAT_SERVICE: what a room is notified of."""

from typing import Any

import pytest

from events.types import Severity
from integrations.channels.base import DeliveryError
from integrations.channels.hipchat import build_request
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

CONFIG = {"notificationToken": "token-0123456789", "roomName": "oncall"}


@pytest.fixture(autouse=True)
def server(settings: Any) -> None:
    """A server is configured."""
    settings.OPSAPI_GROUP_CHAT_BASE_URL = "https://chat.example.com"


def built(message: Message) -> dict[str, Any]:
    """The document posted."""
    return dict(build_request(CONFIG, message, NOW).document)


@each(
    ("changes", "label", "colour", "notify"),
    [
        ({"kind": MessageKind.OPEN}, "OPEN", "red", True),
        ({"kind": MessageKind.UPDATE}, "STILL OPEN", "red", True),
        ({"kind": MessageKind.CLOSE}, "CLOSED", "green", True),
        ({"kind": MessageKind.OPEN, "severity": Severity.WARNING}, "OPEN", "yellow", True),
        ({"kind": MessageKind.CLOSE, "severity": Severity.WARNING}, "CLOSED", "green", True),
        ({"kind": MessageKind.INFORM, "severity": Severity.INFO}, "EVENT", "purple", True),
        ({"kind": MessageKind.INFORM, "is_test": True}, "TEST", "gray", False),
    ],
)
def test_it_notifies_of_title_and_facts(
    changes: dict[str, Any], label: str, colour: str, notify: bool
) -> None:
    message = make_message(**changes)
    assert message.title.startswith(f"[{label}] ")
    assert built(message) == {
        "message": "<br>".join([f"<b>{message.title}</b>", *lines_of(message)]),
        "message_format": "html",
        "color": colour,
        "notify": notify,
    }


def test_it_shows_the_token_to_the_service_in_a_header_only() -> None:
    request = build_request(CONFIG, make_message(), NOW)
    assert request.headers == {"Authorization": "Bearer token-0123456789"}
    assert b"token-" not in request.body


def test_it_links_to_the_alert() -> None:
    text = built(make_message(link='https://ops.example/alerts/1?a=1&b="2"'))["message"]
    assert text.endswith(
        '<br><a href="https://ops.example/alerts/1?a=1&amp;b=&quot;2&quot;">Open the alert</a>'
    )


def test_a_link_that_is_too_long_stays_out() -> None:
    without = built(make_message())
    bare = len(without["message"]) + len('<br><a href="">Open the alert</a>')
    assert len(built(make_message(link="x" * (10_000 - bare)))["message"]) == 10_000
    assert built(make_message(link="x" * (10_001 - bare))) == without


def test_no_name_gets_markup_of_its_own() -> None:
    name = "<img src=x onerror=\"alert('1')\">&amp;"
    text = built(make_message(**named_everywhere(name)))["message"]
    assert "<img" not in text
    assert "Fact 1: &lt;img src=x onerror=&quot;alert(&#x27;1&#x27;)&quot;&gt;&amp;amp;<br>" in text


@each("name", ODD)
def test_odd_names_leave_printable_text(name: str) -> None:
    message = make_message(**named_everywhere(name))
    assert built(message)["message"].isprintable()


@each("char", LONGEST)
def test_it_keeps_to_the_length_of_the_service(char: str) -> None:
    long = char * 500
    text = built(make_message(**named_everywhere(long, MOST_FACTS)))["message"]
    assert 1 <= len(text) <= 10_000
    assert "Fact 0: " in text


@each("token", ["tökén", "a\r\nX-Evil: 1"])
def test_a_token_that_no_header_can_carry_fails_for_good(token: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        build_request({**CONFIG, "notificationToken": token}, make_message(), NOW)
    assert not caught.value.retryable
    assert token not in caught.value.reason
