"""OPS_ALERT_SERVICE against a receiver that answers as Opsgenie's alert API does.

https://docs.opsgenie.com/docs/alert-api: fields, lengths, actions by alias.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from pytest_django import Settings

from events.types import Severity
from integrations.channels.base import DeliveryError
from integrations.channels.opsgenie import OPSGENIE
from integrations.choices import MessageKind, Region
from integrations.messages import Message
from tests.integration.channels.provider import faults, json_of, provide, strings
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import NOW, make_message

KEY = "01234567-89ab-cdef-0123-456789abcdef"
_CREATE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["message"],
    "properties": {
        **strings(message=130, alias=512, description=15_000, entity=512, source=100),
        "priority": {"enum": ["P1", "P2", "P3", "P4", "P5"]},
        "tags": {"type": "array", "maxItems": 20, "items": {"type": "string", "maxLength": 50}},
        "details": {"type": "object", "additionalProperties": {"type": "string"}},
    },
}
_ACTION = {
    "type": "object",
    "additionalProperties": False,
    "properties": strings(user=100, source=100, note=25_000),
}
_STATES = {"acknowledge": "acknowledged", "close": "closed"}


class OpsAlerts:
    """The service: `alerts` are its alerts, alias → state; `counts` are its requests, by alias."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self.alerts: dict[str, str] = {}
        self.counts: dict[str, int] = {}
        self.priorities: list[str] = []
        self.actions: list[Mapping[str, Any]] = []
        provide(receiver, self.respond)

    def respond(self, request: ReceivedRequest) -> tuple[int, Mapping[str, Any]]:
        """202, 401 for another key, 404 for another path, or 422 with every fault."""
        if request.headers["Authorization"] != f"GenieKey {KEY}":
            return 401, {"message": "Could not authenticate", "took": 0.001, "requestId": "r"}
        url = urlsplit(request.path)
        document = json_of(request)
        match url.path.split("/")[1:]:
            case ["v2", "alerts"]:
                return self.answer(faults(document, _CREATE)) or self.create(document)
            case ["v2", "alerts", alias, ("acknowledge" | "close") as action]:
                assert parse_qs(url.query) == {"identifierType": ["alias"]}
                return self.answer(faults(document, _ACTION)) or self.act(alias, action, document)
        return 404, {"message": "No handler found", "took": 0.001, "requestId": "r"}

    def answer(self, found: list[str]) -> tuple[int, Mapping[str, Any]] | None:
        """422 where there are faults."""
        return (422, {"message": "Request body is not processable", "errors": found}) if found else None

    def create(self, alert: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        """Open it; one that is open already is counted."""
        alias = alert["alias"]
        if self.alerts.get(alias) in {None, "closed"}:
            self.alerts[alias], self.counts[alias] = "open", 0
        self.counts[alias] += 1
        self.priorities.append(alert.get("priority", "P3"))
        return 202, {"result": "Request will be processed", "took": 0.302, "requestId": "r"}

    def act(self, alias: str, action: str, document: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]]:
        """Do so to the alert that is open; with another alias nothing happens."""
        if self.alerts.get(alias) in {"open", "acknowledged"}:
            self.alerts[alias] = _STATES[action]
            self.actions.append(document)
        return 202, {"result": "Request will be processed", "took": 0.107, "requestId": "r"}


@pytest.fixture
def service(http_receiver: HttpReceiver, settings: Settings) -> OpsAlerts:
    """The service in the US, where the settings say it is."""
    settings.OPSAPI_OPS_ALERT_US_BASE_URL = http_receiver.url("")
    return OpsAlerts(http_receiver)


def send_message(message: Message, **config: str) -> None:
    """Send it."""
    OPSGENIE.send({"apiKey": KEY, **config}, message, now=NOW)


def failure_of(message: Message, **config: str) -> DeliveryError:
    """Why sending it fails."""
    with pytest.raises(DeliveryError) as caught:
        send_message(message, **config)
    return caught.value


def test_one_alert_is_one_alert_from_its_opening_to_its_end(service: OpsAlerts) -> None:
    alias = make_message().thread_key
    states = []
    for kind in (MessageKind.OPEN, MessageKind.UPDATE, MessageKind.ACKNOWLEDGE, MessageKind.CLOSE):
        send_message(make_message(kind=kind))
        states.append(dict(service.alerts))
    assert states == [{alias: "open"}, {alias: "open"}, {alias: "acknowledged"}, {alias: "closed"}]
    assert service.counts == {alias: 2}
    assert service.priorities == ["P1", "P1"]


def test_a_cancelled_alert_is_closed(service: OpsAlerts) -> None:
    send_message(make_message())
    send_message(make_message(kind=MessageKind.CANCEL))
    assert list(service.alerts.values()) == ["closed"]


def test_an_acknowledgement_names_the_user_and_the_reason(service: OpsAlerts) -> None:
    send_message(make_message())
    document = {"acknowledgingUsername": "jane", "acknowledgementComment": "x" * 500}
    send_message(make_message(kind=MessageKind.ACKNOWLEDGE, document=document))
    assert service.actions == [{"source": "Ops API", "user": "jane", "note": "x" * 500}]


def test_an_event_of_the_severity_info_has_the_lowest_priority(service: OpsAlerts) -> None:
    send_message(make_message(kind=MessageKind.INFORM, severity=Severity.INFO))
    assert (list(service.alerts.values()), service.priorities) == (["open"], ["P5"])


def test_a_test_leaves_nothing_open(service: OpsAlerts) -> None:
    send_message(make_message(kind=MessageKind.INFORM, is_test=True))
    assert (list(service.alerts.values()), service.priorities) == (["closed"], ["P5"])


@pytest.mark.parametrize("kind", list(MessageKind))
def test_long_and_odd_names_are_taken(service: OpsAlerts, kind: MessageKind) -> None:
    hostile = 'x\r\n\u0000\ud800\u2028"\\' + "é" * 50_000
    names = {"target": hostile, "project_name": hostile, "event_type_name": hostile}
    document = {"acknowledgingUsername": hostile, "acknowledgementComment": hostile}
    send_message(make_message(kind=kind, document=document, link="https://ops.example/alerts/1", **names))


@pytest.mark.parametrize(
    ("config", "asked"),
    [({}, "us"), ({"region": Region.US.value}, "us"), ({"region": Region.EU.value}, "eu")],
    ids=["none", "US", "EU"],
)
def test_it_goes_to_the_region_of_the_account(
    http_receiver: HttpReceiver, settings: Settings, config: dict[str, str], asked: str
) -> None:
    settings.OPSAPI_OPS_ALERT_US_BASE_URL = http_receiver.url("/us")
    settings.OPSAPI_OPS_ALERT_EU_BASE_URL = http_receiver.url("/eu")
    send_message(make_message(), **config)
    assert [request.path for request in http_receiver.requests] == [f"/{asked}/v2/alerts"]


def test_another_key_fails_for_good_and_is_not_quoted(
    service: OpsAlerts, caplog: pytest.LogCaptureFixture
) -> None:
    failure = failure_of(make_message(), apiKey="very-secret")
    assert (failure.reason, failure.retryable) == ("the receiver answered 401", False)
    assert "very-secret" not in caplog.text
    assert service.alerts == {}


@pytest.mark.parametrize("kind", [MessageKind.ACKNOWLEDGE, MessageKind.CLOSE])
def test_an_end_that_is_not_taken_comes_again(
    service: OpsAlerts, http_receiver: HttpReceiver, kind: MessageKind
) -> None:
    http_receiver.answer(503)
    failure = failure_of(make_message(kind=kind))
    assert (failure.reason, failure.retryable) == ("the receiver answered 503", True)


def test_a_test_that_cannot_be_closed_says_that_it_is_open(
    service: OpsAlerts, http_receiver: HttpReceiver
) -> None:
    def respond(request: ReceivedRequest) -> tuple[int, Mapping[str, Any]]:
        return service.respond(request) if request.path == "/v2/alerts" else (422, {})

    provide(http_receiver, respond)
    failure = failure_of(make_message(is_test=True))
    assert (
        failure.reason == "the test incident was created but could not be closed: the receiver answered 422"
    )
    assert not failure.retryable
    assert list(service.alerts.values()) == ["open"]
