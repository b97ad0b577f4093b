"""The ready templates against a receiver that refuses what their service would refuse."""

from collections.abc import Mapping
from typing import Any, Literal, cast
from urllib.parse import urlsplit

import orjson
import pytest

from integrations.channels.base import DeliveryError
from integrations.channels.webhook import WEBHOOK
from integrations.choices import MessageKind
from integrations.messages import Message
from integrations.webhooks.templates import TEMPLATES, WebhookRequest
from tests.each import each
from tests.integration.channels.provider import json_of, provide
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import NOW, make_message
from tests.unit.integrations.webhooks.services import SERVICES, faults

EACH = pytest.mark.parametrize("name", SERVICES)


def serve(receiver: HttpReceiver, name: str, message: Message) -> None:
    """Answer as the service: 200, or 400 with what it refuses of a request about the message."""
    ids = {"key": message.thread_key, "delivery": message.delivery_id}

    def respond(request: ReceivedRequest) -> tuple[int, Mapping[str, Any]]:
        method = cast("Literal['POST', 'PUT']", request.method)
        sent = WebhookRequest(method, request.path, request.body)
        found = list(faults(name, request.headers["X-Ops-Event"], sent, ids, json_of(request)))
        if request.headers.get("Authorization") != SERVICES[name].authorization:
            return 401, {"error": "unauthorized"}
        return (400, {"error": "; ".join(found)}) if found else (200, {})

    provide(receiver, respond)


def config_of(receiver: HttpReceiver, name: str) -> dict[str, str]:
    """What users store, with the address of the receiver."""
    template = TEMPLATES[name]
    url = urlsplit(template.url)
    stored = {"url": receiver.url(url._replace(scheme="", netloc="").geturl()), "template": name}
    return {**stored, "authorization": template.authorization} if template.authorization else stored


@EACH
def test_each_message_arrives(http_receiver: HttpReceiver, name: str) -> None:
    config = config_of(http_receiver, name)
    for kind in MessageKind:
        message = make_message(kind=kind, link="https://ops.example/alerts/1")
        serve(http_receiver, name, message)
        WEBHOOK.send(config, message, now=NOW)
    assert [request.headers["X-Ops-Event"] for request in http_receiver.requests] == [
        kind.value for kind in MessageKind
    ]


@EACH
def test_a_test_opens_nothing_that_stays_open(http_receiver: HttpReceiver, name: str) -> None:
    message = make_message(kind=MessageKind.INFORM, is_test=True)
    serve(http_receiver, name, message)
    WEBHOOK.send(config_of(http_receiver, name), message, now=NOW)
    kinds = [request.headers["X-Ops-Event"] for request in http_receiver.requests]
    assert kinds == (["alert.inform", "alert.close"] if TEMPLATES[name].tracks_alerts else ["alert.inform"])


def test_an_error_of_the_service_reaches_people(http_receiver: HttpReceiver) -> None:
    body = {"ok": False, "error_code": 400, "description": "Bad Request: chat not found"}
    http_receiver.answer(400, {"Content-Type": "application/json"}, orjson.dumps(body))
    with pytest.raises(DeliveryError) as caught:
        WEBHOOK.send(config_of(http_receiver, "telegram"), make_message(), now=NOW)
    assert "chat not found" in caught.value.peer
    assert not caught.value.retryable


@each(
    ("header", "body", "seconds"),
    [
        ({}, {"parameters": {"retry_after": 35}}, 35),
        ({"Retry-After": "7"}, {"parameters": {"retry_after": 35}}, 7),
        ({}, {"parameters": {"retry_after": 10**9}}, 3600),
        ({}, {"parameters": {"retry_after": -1}}, None),
        ({}, {"parameters": {"retry_after": True}}, None),
        ({}, {"parameters": {"retry_after": "35"}}, None),
        ({}, {"parameters": [35]}, None),
        ({}, ["parameters"], None),
        ({}, {}, None),
    ],
)
def test_telegram_says_in_its_document_how_long_to_wait(
    http_receiver: HttpReceiver, header: dict[str, str], body: object, seconds: int | None
) -> None:
    http_receiver.answer(429, {"Content-Type": "application/json", **header}, orjson.dumps(body))
    with pytest.raises(DeliveryError) as telegram:
        WEBHOOK.send(config_of(http_receiver, "telegram"), make_message(), now=NOW)
    with pytest.raises(DeliveryError) as discord:
        WEBHOOK.send(config_of(http_receiver, "discord"), make_message(), now=NOW)
    assert telegram.value.retry_after == seconds
    assert discord.value.retry_after == (7 if header else None)
