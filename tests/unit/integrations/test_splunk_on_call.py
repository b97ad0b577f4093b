"""ON_CALL_SERVICE: the request of each message."""

from typing import Any

import pytest

from events.types import Severity
from integrations.channels.base import DeliveryError
from integrations.channels.http import ServiceRequest
from integrations.channels.splunk_on_call import build_request
from integrations.choices import MessageKind
from tests.each import each
from tests.unit.integrations.messages import MOST_FACTS, lines_of, make_message, named_everywhere

BASE = "https://on-call.example"
ENDPOINT = f"{BASE}/integrations/generic/20131114/alert"
CONFIG = {"apiKey": "01234567-89ab", "routingKey": "databases"}


def request_of(**changes: Any) -> ServiceRequest:
    """The request of a message with these changes."""
    return build_request(CONFIG, make_message(**changes), base_url=BASE)


def test_it_raises_an_incident_with_everything_people_want_to_know() -> None:
    request = request_of(link="https://ops.example/alerts/1")
    assert (request.url, request.headers) == (f"{ENDPOINT}/01234567-89ab/databases", {})
    assert request.document == {
        "message_type": "CRITICAL",
        "entity_id": make_message().thread_key,
        "entity_display_name": "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments)",
        "state_message": "\n".join(
            [*lines_of(make_message()), "Open the alert: https://ops.example/alerts/1"]
        ),
        "state_start_time": 1795245974,
        "monitoring_tool": "Ops API",
    }


@each(
    ("kind", "severity", "message_type"),
    [
        (MessageKind.OPEN, Severity.CRITICAL, "CRITICAL"),
        (MessageKind.OPEN, Severity.WARNING, "WARNING"),
        (MessageKind.OPEN, Severity.INFO, "INFO"),
        (MessageKind.UPDATE, Severity.WARNING, "WARNING"),
        (MessageKind.INFORM, Severity.WARNING, "WARNING"),
        (MessageKind.ACKNOWLEDGE, Severity.WARNING, "ACKNOWLEDGEMENT"),
        (MessageKind.CLOSE, Severity.WARNING, "RECOVERY"),
        (MessageKind.CANCEL, Severity.WARNING, "RECOVERY"),
    ],
)
def test_each_kind_and_severity_has_its_type(
    kind: MessageKind, severity: Severity, message_type: str
) -> None:
    document = request_of(kind=kind, severity=severity).document
    assert (document["message_type"], document["entity_id"]) == (message_type, make_message().thread_key)


@each("kind", list(MessageKind))
def test_a_test_opens_nothing(kind: MessageKind) -> None:
    assert request_of(kind=kind, is_test=True).document["message_type"] == "INFO"


def test_acknowledging_says_who_and_why() -> None:
    acknowledged = {"acknowledgingUsername": "jane", "acknowledgementComment": "on\nit"}
    document = request_of(kind=MessageKind.ACKNOWLEDGE, document=acknowledged).document
    assert (document["ack_author"], document["ack_msg"]) == ("jane", "on it")


@each("kind", [MessageKind.ACKNOWLEDGE, MessageKind.CLOSE])
def test_otherwise_there_is_no_word_of_it(kind: MessageKind) -> None:
    assert not request_of(kind=kind).document.keys() & {"ack_author", "ack_msg"}


@each(
    ("config", "path"),
    [
        ({"apiKey": "k"}, "/k"),
        ({"apiKey": "k", "routingKey": ""}, "/k"),
        ({"apiKey": "k", "routingKey": "r"}, "/k/r"),
        ({"apiKey": "a/b?c#d", "routingKey": "é %2F"}, "/a%2Fb%3Fc%23d/%C3%A9%20%252F"),
        ({"apiKey": "...", "routingKey": "a..b"}, "/.../a..b"),
    ],
)
def test_the_keys_are_in_the_path_whatever_they_hold(config: dict[str, str], path: str) -> None:
    assert build_request(config, make_message(), base_url=BASE).url == ENDPOINT + path


@each(
    "config",
    [
        {"apiKey": ".."},
        {"apiKey": "."},
        {"apiKey": "k", "routingKey": ".."},
        {"apiKey": "k", "routingKey": "."},
    ],
)
def test_no_key_leads_to_another_path(config: dict[str, str]) -> None:
    with pytest.raises(DeliveryError) as caught:
        build_request(config, make_message(), base_url=BASE)
    expected = ("the API key or the routing key is not valid", False)
    assert (caught.value.reason, caught.value.retryable) == expected


def test_long_and_odd_names_fit() -> None:
    hostile = "x\r\n\u0000\ud800\u2028" + "é" * 30_000
    link = "https://ops.example/" + "l" * 30_000
    document = request_of(**named_everywhere(hostile, MOST_FACTS), link=link).document
    assert "Fact 15: " in str(document["state_message"])
    assert len(str(document["state_message"])) <= 20_480
    assert len(str(document["entity_display_name"])) <= 512
    assert str(document["entity_display_name"]).isprintable()
