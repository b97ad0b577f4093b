"""METRICS_SERVICE: what is in the stream of events."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from events.types import Severity
from integrations.channels.base import DeliveryError
from integrations.channels.datadog import build_request
from integrations.choices import MessageKind
from integrations.messages import Message, printable
from tests.each import each
from tests.unit.integrations.messages import LONGEST, MOST_FACTS, NOW, ODD, make_message, named_everywhere

CONFIG = {"apiKey": "0123456789abcdef0123456789abcdef"}
HOURS = timedelta(hours=1)
SECOND = timedelta(seconds=1)


def built(message: Message, now: datetime = NOW) -> dict[str, Any]:
    """The document posted."""
    return dict(build_request(CONFIG, message, now).document)


@each(
    ("changes", "label", "alert_type", "priority"),
    [
        ({"kind": MessageKind.OPEN}, "OPEN", "error", "normal"),
        ({"kind": MessageKind.UPDATE}, "STILL OPEN", "error", "normal"),
        ({"kind": MessageKind.CLOSE}, "CLOSED", "success", "normal"),
        ({"kind": MessageKind.OPEN, "severity": Severity.WARNING}, "OPEN", "warning", "normal"),
        ({"kind": MessageKind.UPDATE, "severity": Severity.INFO}, "STILL OPEN", "info", "normal"),
        ({"kind": MessageKind.CLOSE, "severity": Severity.INFO}, "CLOSED", "success", "normal"),
        ({"kind": MessageKind.INFORM, "severity": Severity.INFO}, "EVENT", "info", "normal"),
        ({"kind": MessageKind.INFORM, "severity": Severity.WARNING}, "EVENT", "warning", "normal"),
        ({"kind": MessageKind.INFORM, "is_test": True}, "TEST", "info", "low"),
    ],
)
def test_it_posts_an_event(changes: dict[str, Any], label: str, alert_type: str, priority: str) -> None:
    message = make_message(link="https://ops.example/alerts/1", **changes)
    assert message.title.startswith(f"[{label}] ")
    assert built(message) == {
        "title": message.title,
        "text": "\n".join(message.lines),
        "alert_type": alert_type,
        "priority": priority,
        "aggregation_key": "6740a1b2c3d4e5f607080900",
        "date_happened": 1795245974,
        "tags": ["event_type:HOST_DOWN", "project:payments", "target:db1.example.com:27017"],
    }


def test_it_shows_the_key_to_the_service_in_a_header_only() -> None:
    request = build_request(CONFIG, make_message(), NOW)
    assert request.headers == {"DD-API-KEY": "0123456789abcdef0123456789abcdef"}
    assert b"0123456789abcdef" not in request.body


@each(
    ("kind", "age", "shown_age"),
    [
        (MessageKind.OPEN, 0 * HOURS, 0 * HOURS),
        (MessageKind.OPEN, 17 * HOURS, 17 * HOURS),
        (MessageKind.OPEN, 17 * HOURS + SECOND, 0 * HOURS),
        (MessageKind.CLOSE, 17 * HOURS, 17 * HOURS),
        (MessageKind.CLOSE, 480 * HOURS, 0 * HOURS),
        (MessageKind.INFORM, 1 * HOURS, 1 * HOURS),
        (MessageKind.UPDATE, 1 * HOURS, 0 * HOURS),
    ],
)
def test_it_is_where_it_happened_unless_the_service_finds_that_old(
    kind: MessageKind, age: timedelta, shown_age: timedelta
) -> None:
    document = built(make_message(kind=kind, occurred_at=NOW - age))
    assert document["date_happened"] == int((NOW - shown_age).timestamp())


def test_what_has_no_value_has_neither_fact_nor_tag() -> None:
    document = built(make_message(target=None, project_name=None, known={"Time": "now", "Host": ""}))
    assert document["tags"] == ["event_type:HOST_DOWN"]
    assert document["text"] == "State: Open\nSeverity: Critical\nTime: now"


@each("name", ODD)
def test_odd_names_leave_one_line_each(name: str) -> None:
    document = built(make_message(**named_everywhere(name)))
    lines = [document["title"], *document["text"].split("\n"), *document["tags"]]
    assert all(line.isprintable() for line in lines)
    # What has nothing printable in it is left out.
    assert len(lines) == (1 + 7 + 3 if printable(name) else 1 + 2 + 3)


@each("name", ["%%% \n[db1](https://evil.example)\n %%%", "%%%"])
def test_no_name_makes_markdown_of_the_text(name: str) -> None:
    assert not built(make_message(**named_everywhere(name)))["text"].startswith("%%%")


@each("char", LONGEST)
def test_it_keeps_to_the_lengths_of_the_service(char: str) -> None:
    long = char * 5000
    names = named_everywhere(long, MOST_FACTS)
    document = built(make_message(**names, thread_key=long, link=f"https://{long}"))
    assert len(document["title"]) == 100
    assert 3600 < len(document["text"]) <= 4000
    assert len(document["aggregation_key"]) == 100
    assert [len(tag) for tag in document["tags"]] == [200, 200, 200]


@each("key", ["schlüssel", "a\r\nX-Evil: 1"])
def test_a_key_that_no_header_can_carry_fails_for_good(key: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        build_request({"apiKey": key}, make_message(), NOW)
    assert not caught.value.retryable
    assert key not in caught.value.reason
