"""OPS_ALERT_SERVICE: the request of each message."""

from typing import Any

import pytest

from events.types import Severity
from integrations.channels.base import DeliveryError
from integrations.channels.http import ServiceRequest
from integrations.channels.opsgenie import MESSAGE_LIMIT, build_request
from integrations.choices import MessageKind
from tests.each import each
from tests.unit.integrations.messages import MOST_FACTS, lines_of, make_message, named_everywhere

KEY = "01234567-89ab-cdef-0123-456789abcdef"
BASE = "https://alerts.example/below"
ALIAS = make_message().thread_key


def request_of(**changes: Any) -> ServiceRequest:
    """The request of a message with these changes."""
    return build_request({"apiKey": KEY}, make_message(**changes), base_url=BASE)


def test_it_creates_an_alert_with_everything_people_want_to_know() -> None:
    request = request_of(link="https://ops.example/alerts/1")
    assert request.url == "https://alerts.example/below/v2/alerts"
    assert request.headers == {"Authorization": f"GenieKey {KEY}"}
    message = make_message()
    assert request.document == {
        "message": "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments)",
        "alias": ALIAS,
        "description": "\n".join([*lines_of(message), "Open the alert: https://ops.example/alerts/1"]),
        "entity": "db1.example.com:27017",
        "source": "Ops API",
        "tags": ["HOST_DOWN"],
        "details": message.facts,
        "priority": "P1",
    }


@each(
    ("kind", "path"),
    [
        (MessageKind.OPEN, ""),
        (MessageKind.UPDATE, ""),
        (MessageKind.INFORM, ""),
        (MessageKind.ACKNOWLEDGE, f"/{ALIAS}/acknowledge?identifierType=alias"),
        (MessageKind.CLOSE, f"/{ALIAS}/close?identifierType=alias"),
        (MessageKind.CANCEL, f"/{ALIAS}/close?identifierType=alias"),
    ],
)
def test_each_kind_has_its_path(kind: MessageKind, path: str) -> None:
    request = request_of(kind=kind)
    assert request.url == f"{BASE}/v2/alerts{path}"
    assert request.document.get("alias") == (None if path else ALIAS)


@each(
    ("changes", "priority"),
    [
        ({"severity": Severity.CRITICAL}, "P1"),
        ({"severity": Severity.WARNING}, "P3"),
        ({"severity": Severity.INFO}, "P5"),
        ({"kind": MessageKind.UPDATE, "severity": Severity.WARNING}, "P3"),
        ({"kind": MessageKind.INFORM, "severity": Severity.WARNING}, "P3"),
        ({"is_test": True}, "P5"),
        ({"kind": MessageKind.CLOSE}, None),
    ],
)
def test_an_alert_has_the_priority_of_its_severity(changes: dict[str, Any], priority: str | None) -> None:
    assert request_of(**changes).document.get("priority") == priority


def test_acknowledging_says_who_and_why() -> None:
    document = {"acknowledgingUsername": "jane", "acknowledgementComment": "on\nit"}
    request = request_of(kind=MessageKind.ACKNOWLEDGE, document=document)
    assert request.document == {"source": "Ops API", "user": "jane", "note": "on it"}


def test_acknowledging_without_a_comment_has_no_note() -> None:
    request = request_of(kind=MessageKind.ACKNOWLEDGE, document={"acknowledgingUsername": "u" * 254})
    assert request.document == {"source": "Ops API", "user": "u" * 99 + "…"}


def test_closing_says_nothing_of_who_acknowledged() -> None:
    request = request_of(kind=MessageKind.CLOSE, document={"acknowledgingUsername": "jane"})
    assert request.document == {
        "source": "Ops API",
        "note": "[CLOSED] Host down: db1.example.com:27017 (project payments)",
    }


@each("length", [MESSAGE_LIMIT - 1, MESSAGE_LIMIT, MESSAGE_LIMIT + 1])
def test_the_message_is_cut_where_the_service_would_refuse_it(length: int) -> None:
    # "[OPEN] [CRITICAL] ", the headline, ": " and the target.
    names = {"headline": "e" * 100, "target": "t" * (length - 120), "project_name": None}
    shown = str(request_of(**names).document["message"])
    assert len(shown) == min(length, MESSAGE_LIMIT)
    assert shown.endswith("…") is (length > MESSAGE_LIMIT)


def test_long_and_odd_names_fit() -> None:
    hostile = "x\r\n\u0000\ud800\u2028" + "é" * 5000
    document = request_of(**named_everywhere(hostile, MOST_FACTS)).document
    assert MESSAGE_LIMIT - 1 <= len(str(document["message"])) <= MESSAGE_LIMIT
    assert len(str(document["entity"])) <= 512
    assert len(str(document["description"])) <= 15_000
    assert document["tags"] == ["x " + "é" * 47 + "…"]
    assert str(document["message"]).isprintable()


@each("key", ["very-secret\r\nX-Other: 1", "very-secret\u0000", "very-secret-ö"])
def test_a_key_that_no_header_can_carry_fails_for_good(key: str) -> None:
    with pytest.raises(DeliveryError) as caught:
        build_request({"apiKey": key}, make_message(), base_url=BASE)
    assert not caught.value.retryable
    assert "very-secret" not in caught.value.reason
