"""WEBHOOK against a real receiver."""

import hashlib
import hmac
import json
from datetime import timedelta

import pytest

from integrations.channels.base import DeliveryError
from integrations.channels.webhook import build_request, send
from integrations.choices import MessageKind
from opsapi import VERSION
from tests.each import each
from tests.receivers import HttpReceiver
from tests.unit.integrations.messages import NOW, make_message


def failure_of(receiver: HttpReceiver) -> DeliveryError:
    """Why sending there fails."""
    with pytest.raises(DeliveryError) as caught:
        send({"url": receiver.url("/very-secret")}, make_message(), now=NOW)
    return caught.value


def test_it_posts_the_document_as_json(http_receiver: HttpReceiver) -> None:
    message = make_message()
    send({"url": http_receiver.url("/hook?x=1")}, message, now=NOW)
    [request] = http_receiver.requests
    assert (request.method, request.path) == ("POST", "/hook?x=1")
    assert json.loads(request.body) == message.document
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["X-Ops-Event"] == "alert.open"
    assert request.headers["X-Ops-Delivery"] == message.delivery_id
    assert request.headers["User-Agent"] == f"opsapi/{VERSION}"
    assert "X-Ops-Signature" not in request.headers


def test_it_signs_what_it_sends(http_receiver: HttpReceiver) -> None:
    send({"url": http_receiver.url(), "secret": "schlüssel"}, make_message(), now=NOW)
    [request] = http_receiver.requests
    stamp, signature = request.headers["X-Ops-Signature"].split(",")
    signed = stamp.removeprefix("t=").encode() + b"." + request.body
    expected = hmac.new("schlüssel".encode(), signed, hashlib.sha256).hexdigest()
    assert (stamp, signature) == ("t=1795245974", f"v1={expected}")


def test_it_keeps_the_delivery_id_and_renews_the_signature_on_a_retry() -> None:
    message = make_message()
    request, first = build_request({"secret": "s"}, message, now=NOW)
    again, second = build_request({"secret": "s"}, message, now=NOW + timedelta(seconds=5))
    assert (again, second["X-Ops-Delivery"]) == (request, first["X-Ops-Delivery"])
    assert second["X-Ops-Signature"] != first["X-Ops-Signature"]


def test_a_number_of_any_size_is_sent() -> None:
    message = make_message(document={"currentValue": {"number": 10**22}})
    request, _ = build_request({}, message, now=NOW)
    assert request.body == b'{"currentValue":{"number":1e+22}}'


@each("kind", list(MessageKind))
def test_it_names_what_happened(kind: MessageKind) -> None:
    _, headers = build_request({}, make_message(kind=kind), now=NOW)
    assert headers["X-Ops-Event"] == kind.value


@pytest.mark.parametrize("status", [200, 201, 202, 204])
def test_it_is_delivered_on_any_2xx(http_receiver: HttpReceiver, status: int) -> None:
    http_receiver.answer(status)
    send({"url": http_receiver.url()}, make_message(), now=NOW)
    assert len(http_receiver.requests) == 1


def test_it_is_delivered_once_though_the_answer_drips(http_receiver: HttpReceiver) -> None:
    http_receiver.drip(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
    send({"url": http_receiver.url()}, make_message(), now=NOW)
    assert len(http_receiver.requests) == 1


def test_a_url_with_credentials_fails_for_good() -> None:
    with pytest.raises(DeliveryError) as caught:
        send({"url": "https://user:hunter2@hook.example/"}, make_message(), now=NOW)
    assert not caught.value.retryable
    assert "hunter2" not in caught.value.reason
