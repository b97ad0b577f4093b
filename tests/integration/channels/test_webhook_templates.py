"""Webhooks with header fields, authorization and a document of their own, against a real receiver."""

import hashlib
import hmac
import json
from typing import Any

import pytest

from integrations.channels.base import DeliveryError
from integrations.channels.webhook import send
from integrations.choices import ChannelType, DeliveryStatus, MessageKind
from integrations.delivery import deliver
from integrations.webhooks import templates
from integrations.webhooks.templates import read_template
from tests.each import each
from tests.receivers import HttpReceiver
from tests.unit.integrations.messages import NOW, make_message

SERVICE = read_template(
    "service",
    {
        "label": "Service",
        "url": "https://service.example.com/alerts",
        "authorization": "Key 0123",
        "tracksAlerts": True,
        "words": {"state": {"alert.close": "ok", "alert.cancel": "ok", "default": "bad"}},
        "requests": {
            "default": {"body": {"state": "{{word.state}}", "topic": "{{url.topic}}"}},
            "alert.acknowledge": {"path": "/{{key}}/ack", "body": {"by": "{{acknowledgingUsername}}"}},
            "alert.close": {"method": "PUT", "path": "/{{key}}", "body": {"state": "{{word.state}}"}},
        },
        "parameters": {"topic": "The topic"},
    },
)


@pytest.fixture(autouse=True)
def service(monkeypatch: pytest.MonkeyPatch) -> None:
    """The template `service`."""
    monkeypatch.setattr(
        "integrations.channels.webhook.TEMPLATES", {**templates.TEMPLATES, "service": SERVICE}
    )


def test_it_sends_document_header_fields_and_authorization(http_receiver: HttpReceiver) -> None:
    config = {
        "url": http_receiver.url("/in?topic=a%20b&x=1"),
        "secret": "secret",
        "authorization": "Bearer 0123",
        "headers": json.dumps(
            {"X-Key": "4567", "content-type": "application/vnd.x+json", "user-agent": "me"}
        ),
        "body": json.dumps({"what": "{{what}}", "topic": "{{url.topic}}"}),
    }
    message = make_message(headline='A "b"\n\\ \U0001f600')
    send(config, message, now=NOW)
    [request] = http_receiver.requests
    assert (request.method, request.path) == ("POST", "/in?x=1")
    assert json.loads(request.body) == {"what": 'A "b" \\ \U0001f600', "topic": "a b"}
    expected = {
        "Authorization": "Bearer 0123",
        "X-Key": "4567",
        "Content-Type": "application/vnd.x+json",
        "User-Agent": "me",
        "X-Ops-Event": "alert.open",
        "X-Ops-Delivery": message.delivery_id,
    }
    assert {name: request.headers[name] for name in expected} == expected
    assert len({name.lower() for name in request.headers}) == len(request.headers)
    time, signature = request.headers["X-Ops-Signature"].split(",")
    signed = time.removeprefix("t=").encode() + b"." + request.body
    assert signature == f"v1={hmac.new(b'secret', signed, hashlib.sha256).hexdigest()}"


@each(
    ("kind", "expected"),
    [
        (MessageKind.OPEN, ("POST", "/alerts?x=1", {"state": "bad", "topic": "a"})),
        (MessageKind.ACKNOWLEDGE, ("POST", "/alerts/6740a1b2c3d4e5f607080900/ack?x=1", {})),
        (MessageKind.CLOSE, ("PUT", "/alerts/6740a1b2c3d4e5f607080900?x=1", {"state": "ok"})),
        (MessageKind.CANCEL, ("POST", "/alerts?x=1", {"state": "ok", "topic": "a"})),
    ],
)
def test_it_sends_the_request_of_the_kind(
    http_receiver: HttpReceiver, kind: MessageKind, expected: tuple[str, str, Any]
) -> None:
    http_receiver.requests.clear()
    send(
        {"url": http_receiver.url("/alerts?topic=a&x=1"), "template": "service"},
        make_message(kind=kind),
        now=NOW,
    )
    [request] = http_receiver.requests
    assert (request.method, request.path, json.loads(request.body)) == expected


def test_the_alert_of_a_test_is_closed(http_receiver: HttpReceiver) -> None:
    message = make_message(kind=MessageKind.INFORM, is_test=True)
    send({"url": http_receiver.url("/alerts?topic=a"), "template": "service"}, message, now=NOW)
    assert [json.loads(request.body)["state"] for request in http_receiver.requests] == ["bad", "ok"]
    assert [request.headers["X-Ops-Event"] for request in http_receiver.requests] == [
        "alert.inform",
        "alert.close",
    ]


def test_a_template_that_no_longer_exists_is_named() -> None:
    with pytest.raises(DeliveryError, match="no-such") as caught:
        send({"url": "http://127.0.0.1:9/", "template": "no-such"}, make_message(), now=NOW)
    assert not caught.value.retryable


def test_the_reason_of_a_failure_quotes_no_secret(http_receiver: HttpReceiver) -> None:
    secrets = ["secret-canary-1", "secret-canary-2"]
    http_receiver.answer(
        400, body=f"bad {' '.join(secrets)}".encode(), headers={"Content-Type": "text/plain"}
    )
    config = {
        "url": http_receiver.url(),
        "authorization": f"Bearer {secrets[0]}",
        "headers": json.dumps({"X-Key": secrets[1]}),
    }
    outcome = deliver(ChannelType("WEBHOOK"), config, make_message(), now=NOW)
    assert outcome.status is DeliveryStatus.FAILED
    assert "bad" in (outcome.reason or "")
    assert "secret-canary" not in (outcome.reason or "")
