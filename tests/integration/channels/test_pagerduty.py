"""PAGER_SERVICE against a receiver that answers as the Events API v2 does.

https://github.com/PagerDuty/developer-docs/blob/main/docs/events-API-v2/02-Trigger-Events.md: fields,
lengths, what an action does to an alert.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from pytest_django import Settings

from events.types import Severity
from integrations.channels.base import DeliveryError
from integrations.channels.pagerduty import PAGERDUTY
from integrations.choices import MessageKind
from integrations.messages import Message
from tests.integration.channels.provider import faults, json_of, provide, strings
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import NOW, make_message

KEY = "0123456789abcdef0123456789abcdef"
_TRIGGER = {
    "type": "object",
    "additionalProperties": False,
    "required": ["routing_key", "event_action", "dedup_key", "payload"],
    "properties": {
        **strings(routing_key=32, dedup_key=255, client=255, client_url=2000),
        "event_action": {"const": "trigger"},
        "links": {
            "type": "array",
            "items": {"type": "object", "required": ["href"], "properties": strings(href=2000, text=255)},
        },
        "payload": {
            "type": "object",
            "additionalProperties": False,
            "required": ["summary", "source", "severity"],
            "properties": {
                **strings(summary=1024, source=255, component=255, group=255),
                "class": {"type": "string", "minLength": 1},
                "severity": {"enum": ["critical", "error", "warning", "info"]},
                "timestamp": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$"},
                "custom_details": {"type": "object"},
            },
        },
    },
}
_FOLLOW_UP = {
    "type": "object",
    "additionalProperties": False,
    "required": ["routing_key", "event_action", "dedup_key"],
    "properties": {
        **strings(routing_key=32, dedup_key=255),
        "event_action": {"enum": ["acknowledge", "resolve"]},
    },
}


class Pager:
    """The service: `alerts` are its alerts, key → state."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self.alerts: dict[str, str] = {}
        self.severities: list[str] = []
        provide(receiver, self.respond)

    def respond(self, request: ReceivedRequest) -> tuple[int, Mapping[str, Any]]:
        """202, or 400 with every fault."""
        if request.path != "/v2/enqueue":
            return 404, {}
        event = json_of(request)
        found = faults(event, _TRIGGER if event.get("event_action") == "trigger" else _FOLLOW_UP)
        if len(event.get("routing_key", "")) != 32:
            found.append("Length of 'routing_key' is incorrect (should be 32 characters)")
        if found:
            return 400, {"status": "invalid event", "message": "Event object is invalid", "errors": found}
        self.take(event)
        return 202, {"status": "success", "message": "Event processed", "dedup_key": event["dedup_key"]}

    def take(self, event: Mapping[str, Any]) -> None:
        """Do to the alert what the event says; follow-ups of one that is not open are dropped."""
        key = event["dedup_key"]
        if event["event_action"] == "trigger":
            self.alerts[key] = "acknowledged" if self.alerts.get(key) == "acknowledged" else "triggered"
            self.severities.append(event["payload"]["severity"])
        elif self.alerts.get(key) in {"triggered", "acknowledged"}:
            self.alerts[key] = {"acknowledge": "acknowledged", "resolve": "resolved"}[event["event_action"]]


@pytest.fixture
def pager(http_receiver: HttpReceiver, settings: Settings) -> Pager:
    """The service, where the settings say it is."""
    settings.OPSAPI_PAGER_BASE_URL = http_receiver.url("")
    return Pager(http_receiver)


def send_message(message: Message, key: str = KEY) -> None:
    """Send it."""
    PAGERDUTY.send({"serviceKey": key}, message, now=NOW)


def failure_of(message: Message, key: str = KEY) -> DeliveryError:
    """Why sending it fails."""
    with pytest.raises(DeliveryError) as caught:
        send_message(message, key)
    return caught.value


def test_one_alert_is_one_incident_from_its_opening_to_its_end(pager: Pager) -> None:
    key = make_message().thread_key
    states = []
    for kind in (MessageKind.OPEN, MessageKind.UPDATE, MessageKind.ACKNOWLEDGE, MessageKind.CLOSE):
        send_message(make_message(kind=kind))
        states.append(dict(pager.alerts))
    assert states == [{key: "triggered"}, {key: "triggered"}, {key: "acknowledged"}, {key: "resolved"}]
    assert pager.severities == ["critical", "critical"]


def test_a_cancelled_alert_is_resolved(pager: Pager) -> None:
    send_message(make_message())
    send_message(make_message(kind=MessageKind.CANCEL))
    assert list(pager.alerts.values()) == ["resolved"]


def test_an_event_has_its_severity(pager: Pager) -> None:
    send_message(make_message(kind=MessageKind.INFORM, severity=Severity.WARNING))
    assert (list(pager.alerts.values()), pager.severities) == (["triggered"], ["warning"])


def test_a_test_leaves_nothing_open(pager: Pager, http_receiver: HttpReceiver) -> None:
    send_message(make_message(kind=MessageKind.INFORM, is_test=True))
    assert (list(pager.alerts.values()), pager.severities) == (["resolved"], ["info"])
    assert len(http_receiver.requests) == 2


def test_a_retry_is_the_same_event(pager: Pager, http_receiver: HttpReceiver) -> None:
    send_message(make_message())
    send_message(make_message())
    first, second = http_receiver.requests
    assert first.body == second.body
    assert len(pager.alerts) == 1


@pytest.mark.parametrize("kind", list(MessageKind))
def test_long_and_odd_names_are_taken(pager: Pager, kind: MessageKind) -> None:
    hostile = 'x\r\n\u0000\ud800\u2028"\\' + "é" * 5000
    send_message(
        make_message(
            kind=kind, target=hostile, project_name=hostile, event_type_name=hostile, link="https://o"
        )
    )


def test_a_key_of_the_first_version_goes_the_same_way(pager: Pager) -> None:
    send_message(make_message(), "e93facc04764012d7bfb002500d5d1a6")
    assert list(pager.alerts.values()) == ["triggered"]


def test_a_key_the_service_refuses_fails_for_good_and_is_not_quoted(
    pager: Pager, caplog: pytest.LogCaptureFixture
) -> None:
    failure = failure_of(make_message(), "very-secret")
    assert (failure.reason, failure.retryable) == ("the receiver answered 400", False)
    assert "very-secret" not in caplog.text
    assert pager.alerts == {}


def test_a_test_that_is_not_taken_is_not_closed(pager: Pager, http_receiver: HttpReceiver) -> None:
    http_receiver.answer(403)
    assert failure_of(make_message(is_test=True)).reason == "the receiver answered 403"
    assert len(http_receiver.requests) == 1


def test_a_test_that_cannot_be_closed_says_that_it_is_open(pager: Pager, http_receiver: HttpReceiver) -> None:
    def respond(request: ReceivedRequest) -> tuple[int, Mapping[str, Any]]:
        return pager.respond(request) if json_of(request)["event_action"] == "trigger" else (429, {})

    provide(http_receiver, respond)
    failure = failure_of(make_message(is_test=True))
    assert (
        failure.reason == "the test incident was created but could not be closed: the receiver answered 429"
    )
    assert failure.retryable
    assert list(pager.alerts.values()) == ["triggered"]
