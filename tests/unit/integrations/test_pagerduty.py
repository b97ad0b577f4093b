"""PAGER_SERVICE: the event of each message."""

from typing import Any

import pytest

from events.types import Severity
from integrations.channels.pagerduty import SUMMARY_LIMIT, build_request
from integrations.choices import MessageKind
from tests.unit.integrations.messages import make_message, named_everywhere

KEY = "0123456789abcdef0123456789abcdef"
BASE = "https://events.example"


def event_of(**changes: Any) -> dict[str, Any]:
    """The event of a message with these changes."""
    return dict(build_request({"serviceKey": KEY}, make_message(**changes), base_url=BASE).document)


def test_it_triggers_with_everything_people_want_to_know() -> None:
    link = "https://ops.example/alerts/1"
    config = "https://ops.example/configs/1"
    message = make_message(link=link, config_link=config)
    request = build_request({"serviceKey": KEY}, message, base_url=BASE)
    assert (request.url, request.headers) == ("https://events.example/v2/enqueue", {})
    assert request.document == {
        "routing_key": KEY,
        "event_action": "trigger",
        "dedup_key": message.thread_key,
        "client": "Ops API",
        "client_url": link,
        "links": [
            {"href": link, "text": "Open the alert"},
            {"href": config, "text": "Alert configuration"},
        ],
        "payload": {
            "summary": "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments)",
            "source": "db1.example.com:27017",
            "severity": "critical",
            "timestamp": "2026-11-21T07:26:14Z",
            "class": "HOST_DOWN",
            "custom_details": {
                "State": "Open",
                "Severity": "Critical",
                "Alert": "Host down (HOST_DOWN)",
                "Host": "db1.example.com:27017",
                "Project": "payments",
                "Since": "2026-11-21 07:26:14Z",
            },
        },
    }


def test_without_a_link_there_is_none() -> None:
    assert not event_of(link=None).keys() & {"client_url", "links"}


@pytest.mark.parametrize(
    ("kind", "action"),
    [
        (MessageKind.OPEN, "trigger"),
        (MessageKind.UPDATE, "trigger"),
        (MessageKind.INFORM, "trigger"),
        (MessageKind.ACKNOWLEDGE, "acknowledge"),
        (MessageKind.CLOSE, "resolve"),
        (MessageKind.CANCEL, "resolve"),
    ],
)
@pytest.mark.parametrize("severity", list(Severity))
def test_each_kind_has_its_action_and_a_trigger_its_severity(
    kind: MessageKind, action: str, severity: Severity
) -> None:
    event = event_of(kind=kind, severity=severity)
    assert event["event_action"] == action
    shown = severity.lower() if action == "trigger" else None
    assert event.get("payload", {}).get("severity") == shown


def test_every_kind_of_one_alert_has_one_key() -> None:
    assert {event_of(kind=kind)["dedup_key"] for kind in MessageKind} == {make_message().thread_key}


def test_a_test_is_of_low_severity() -> None:
    event = event_of(kind=MessageKind.OPEN, is_test=True)
    assert (event["event_action"], event["payload"]["severity"]) == ("trigger", "info")


def test_long_and_odd_names_fit() -> None:
    hostile = "x\r\n\u0000\ud800\u2028" + "é" * 5000
    event = event_of(**named_everywhere(hostile))
    assert len(event["payload"]["summary"]) <= SUMMARY_LIMIT
    assert len(event["payload"]["source"]) == 255
    assert event["payload"]["source"].startswith("x éé")
    shown = [*event["payload"]["custom_details"].values(), event["payload"]["summary"]]
    assert all(line.isprintable() for line in shown)
