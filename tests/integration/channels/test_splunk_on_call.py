"""ON_CALL_SERVICE against a receiver that answers as Splunk On-Call's REST endpoint does.

https://help.splunk.com/en/splunk-observability-cloud/splunk-on-call/alerts/incident-fields-glossary: fields,
lengths, what a message type does to an incident.
"""

from collections.abc import Mapping
from typing import Any

import pytest
from pytest_django import Settings

from events.types import Severity
from integrations.channels.base import DeliveryError
from integrations.channels.splunk_on_call import SPLUNK_ON_CALL
from integrations.choices import MessageKind
from integrations.messages import Message
from tests.integration.channels.provider import faults, json_of, provide, strings
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import NOW, make_message

CONFIG = {"apiKey": "01234567-very-secret", "routingKey": "databases"}
PATH = "/integrations/generic/20131114/alert/01234567-very-secret"
_ALERT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["message_type", "entity_id"],
    "properties": {
        **strings(entity_id=512, entity_display_name=512, state_message=20_480, monitoring_tool=512),
        **strings(ack_author=512, ack_msg=20_480),
        "message_type": {"enum": ["CRITICAL", "WARNING", "ACKNOWLEDGEMENT", "INFO", "RECOVERY"]},
        "state_start_time": {"type": "integer", "minimum": 0},
    },
}
_STATES = {"CRITICAL": "triggered", "ACKNOWLEDGEMENT": "acknowledged", "RECOVERY": "resolved"}


class OnCall:
    """The service: `incidents` are its incidents, entity → state; `timeline` has all requests."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self.incidents: dict[str, str] = {}
        self.timeline: list[str] = []
        provide(receiver, self.respond)

    def respond(self, request: ReceivedRequest) -> tuple[int, Mapping[str, Any]]:
        """200, 404 for another path, or 400 with every fault."""
        if request.path not in {PATH, f"{PATH}/databases"}:
            return 404, {"result": "failure", "message": "unknown endpoint"}
        alert = json_of(request)
        if found := faults(alert, _ALERT):
            return 400, {"result": "failure", "message": "; ".join(found)}
        self.take(alert)
        return 200, {"result": "success", "entity_id": alert["entity_id"]}

    def take(self, alert: Mapping[str, Any]) -> None:
        """Do to the incident what the message says; only CRITICAL opens one."""
        self.timeline.append(alert["message_type"])
        state, entity = _STATES.get(alert["message_type"]), alert["entity_id"]
        if state == "triggered":
            self.incidents[entity] = (
                "acknowledged" if self.incidents.get(entity) == "acknowledged" else "triggered"
            )
        elif state and self.incidents.get(entity) in {"triggered", "acknowledged"}:
            self.incidents[entity] = state


@pytest.fixture
def service(http_receiver: HttpReceiver, settings: Settings) -> OnCall:
    """The service, where the settings say it is."""
    settings.OPSAPI_ON_CALL_BASE_URL = http_receiver.url("")
    return OnCall(http_receiver)


def failure_of(message: Message, config: Mapping[str, str] = CONFIG) -> DeliveryError:
    """Why sending it fails."""
    with pytest.raises(DeliveryError) as caught:
        SPLUNK_ON_CALL.send(config, message, now=NOW)
    return caught.value


def test_one_alert_is_one_incident_from_its_opening_to_its_end(service: OnCall) -> None:
    entity = make_message().thread_key
    states = []
    for kind in (MessageKind.OPEN, MessageKind.UPDATE, MessageKind.ACKNOWLEDGE, MessageKind.CLOSE):
        SPLUNK_ON_CALL.send(CONFIG, make_message(kind=kind), now=NOW)
        states.append(service.incidents[entity])
    assert states == ["triggered", "triggered", "acknowledged", "resolved"]
    assert list(service.incidents) == [entity]


def test_a_cancelled_alert_is_resolved(service: OnCall) -> None:
    SPLUNK_ON_CALL.send(CONFIG, make_message(), now=NOW)
    SPLUNK_ON_CALL.send(CONFIG, make_message(kind=MessageKind.CANCEL), now=NOW)
    assert list(service.incidents.values()) == ["resolved"]


@pytest.mark.parametrize("is_test", [False, True], ids=["quoted once", "test"])
def test_what_opens_nothing_shows_on_the_timeline_only(service: OnCall, is_test: bool) -> None:
    message = make_message(kind=MessageKind.INFORM, severity=Severity.INFO, is_test=is_test)
    SPLUNK_ON_CALL.send(CONFIG, message, now=NOW)
    assert (service.timeline, service.incidents) == (["INFO"], {})


def test_without_a_routing_key_the_path_ends_before_it(service: OnCall, http_receiver: HttpReceiver) -> None:
    SPLUNK_ON_CALL.send({"apiKey": CONFIG["apiKey"]}, make_message(), now=NOW)
    assert [request.path for request in http_receiver.requests] == [PATH]
    assert list(service.incidents.values()) == ["triggered"]


@pytest.mark.parametrize("kind", list(MessageKind))
def test_long_and_odd_names_are_taken(service: OnCall, kind: MessageKind) -> None:
    hostile = 'x\r\n\u0000\ud800\u2028"\\' + "é" * 50_000
    names = {"target": hostile, "project_name": hostile, "event_type_name": hostile}
    document = {"acknowledgingUsername": hostile, "acknowledgementComment": hostile}
    SPLUNK_ON_CALL.send(
        CONFIG, make_message(kind=kind, document=document, link="https://o.example", **names), now=NOW
    )
    assert len(service.timeline) == 1


def test_an_answer_that_is_no_http_says_nothing_of_the_path(
    service: OnCall, http_receiver: HttpReceiver, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    http_receiver.behave(lambda handler: handler.wfile.write(f"{handler.path}\r\n\r\n".encode()))
    failure = failure_of(make_message())
    assert (failure.reason, failure.retryable) == ("the receiver did not send a valid HTTP response", True)
    assert "very-secret" not in caplog.text
