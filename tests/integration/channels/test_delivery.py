"""Delivery of one message: every end is an outcome."""

import json
import socket
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from ipaddress import ip_network

import pytest
from pytest_django import Settings

from integrations.channels import delivery
from integrations.channels.base import Channel
from integrations.channels.delivery import UNFORESEEN, deliver
from integrations.choices import ChannelType, DeliveryFault, DeliveryStatus
from integrations.messages import Message
from opsapi.outbound.pool import POOL
from tests.each import each
from tests.receivers import HttpReceiver, MailReceiver
from tests.unit.integrations.messages import NOW, make_message


def test_it_delivers_by_webhook(http_receiver: HttpReceiver) -> None:
    outcome = deliver(ChannelType("WEBHOOK"), {"url": http_receiver.url()}, make_message(), now=NOW)
    assert (outcome.status, outcome.reason, outcome.retry_after) == (DeliveryStatus.DELIVERED, None, None)
    assert outcome.latency_ms >= 0
    assert len(http_receiver.requests) == 1


def test_it_delivers_by_email(mail_receiver: MailReceiver) -> None:
    outcome = deliver(ChannelType("EMAIL"), {"emailAddress": "a@example.com"}, make_message(), now=NOW)
    assert outcome.status is DeliveryStatus.DELIVERED
    assert len(mail_receiver.mails) == 1


def test_a_busy_receiver_is_tried_again_when_it_asks(http_receiver: HttpReceiver) -> None:
    http_receiver.answer(429, {"Retry-After": "30"})
    outcome = deliver(ChannelType("WEBHOOK"), {"url": http_receiver.url()}, make_message(), now=NOW)
    assert (outcome.status, outcome.reason) == (DeliveryStatus.RETRY, "the receiver answered 429")
    assert outcome.retry_after == 30


@pytest.mark.parametrize(
    ("status", "fault", "perhaps"),
    [
        (302, DeliveryFault.MESSAGE, True),
        (404, DeliveryFault.MESSAGE, False),
        (408, DeliveryFault.DESTINATION, False),
        (425, DeliveryFault.DESTINATION, False),
        (429, DeliveryFault.DESTINATION, False),
        (500, DeliveryFault.DESTINATION, True),
        (503, DeliveryFault.DESTINATION, True),
        (599, DeliveryFault.DESTINATION, True),
    ],
)
def test_anything_but_a_definite_refusal_counts_as_perhaps_received(
    http_receiver: HttpReceiver, status: int, fault: DeliveryFault, perhaps: bool
) -> None:
    http_receiver.answer(status)
    outcome = deliver(ChannelType("WEBHOOK"), {"url": http_receiver.url()}, make_message(), now=NOW)
    assert (outcome.fault, outcome.perhaps_received) == (fault, perhaps)


def test_a_request_without_an_answer_was_perhaps_received(http_receiver: HttpReceiver) -> None:
    http_receiver.behave(lambda handler: None)
    outcome = deliver(ChannelType("WEBHOOK"), {"url": http_receiver.url()}, make_message(), now=NOW)
    assert (outcome.fault, outcome.perhaps_received) == (DeliveryFault.DESTINATION, True)


def test_where_no_connection_is_created_nothing_left_and_the_host_is_at_fault(settings: Settings) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [ip_network("127.0.0.0/8")]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    outcome = deliver(ChannelType("WEBHOOK"), {"url": f"http://127.0.0.1:{port}/"}, make_message(), now=NOW)
    assert (outcome.status, outcome.fault, outcome.perhaps_received) == (
        DeliveryStatus.RETRY,
        DeliveryFault.HOST,
        False,
    )


def test_a_refusing_receiver_fails_for_good(http_receiver: HttpReceiver) -> None:
    http_receiver.answer(404)
    outcome = deliver(ChannelType("WEBHOOK"), {"url": http_receiver.url()}, make_message(), now=NOW)
    assert (outcome.status, outcome.reason) == (DeliveryStatus.FAILED, "the receiver answered 404")


def test_a_config_without_its_fields_fails_for_good_and_names_them() -> None:
    outcome = deliver(ChannelType("WEBHOOK"), {"secret": "s"}, make_message(), now=NOW)
    assert (outcome.status, outcome.reason) == (DeliveryStatus.FAILED, "not configured: url")


def test_an_unforeseen_error_comes_again_and_is_logged_without_secrets(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def send(config: Mapping[str, str], message: Message, *, now: datetime) -> None:
        raise RuntimeError(f"cannot make sense of {config['url']}")

    broken = Channel(ChannelType("WEBHOOK"), "Webhook", (), send=send, origin=lambda _: "")
    monkeypatch.setattr(delivery, "CHANNELS", {ChannelType("WEBHOOK"): broken})
    config = {"url": "https://hook.example/very-secret"}
    outcome = deliver(ChannelType("WEBHOOK"), config, make_message(), now=NOW)
    assert (outcome.status, outcome.reason) == (DeliveryStatus.RETRY, UNFORESEEN)
    assert "unexpected RuntimeError" in caplog.text
    assert "in send" in caplog.text
    assert "very-secret" not in caplog.text


def test_a_parameter_of_the_url_is_a_secret_with_and_without_its_escapes(http_receiver: HttpReceiver) -> None:
    said = b"no topic abcd+efgh/ijkl (abcd%2Befgh%2Fijkl)"
    http_receiver.answer(400, {"Content-Type": "text/plain"}, said)
    config = {"url": http_receiver.url("/?topic=abcd%2Befgh%2Fijkl"), "body": '{"topic":"{{url.topic}}"}'}
    outcome = deliver(ChannelType("WEBHOOK"), config, make_message(), now=NOW)
    assert b"abcd+efgh/ijkl" in http_receiver.requests[0].body
    assert outcome.reason == "the receiver answered 400: no topic ****** (******)"
    assert outcome.own_reason == "the receiver answered 400"


@each(
    ("content_type", "said"),
    [("text/plain", b"no such\0\x1b[1m\r\nchannel"), ("application/json", b"no such [1m channel")],
)
def test_the_text_of_a_refusal_is_shown_on_a_line(
    http_receiver: HttpReceiver, content_type: str, said: bytes
) -> None:
    http_receiver.answer(400, {"Content-Type": content_type}, said)
    outcome = deliver(ChannelType("WEBHOOK"), {"url": http_receiver.url()}, make_message(), now=NOW)
    assert outcome.reason == "the receiver answered 400: no such [1m channel"


def test_the_log_in_of_a_header_field_is_a_secret_in_each_form(http_receiver: HttpReceiver) -> None:
    sent = b64encode(b"ada:hunter2 and more").decode()
    said = f"no user {sent}, ada:hunter2 and more; the password is hunter2 and more"
    http_receiver.answer(400, {"Content-Type": "text/plain"}, said.encode())
    config = {"url": http_receiver.url(), "headers": json.dumps({"X-Log-In": f"Basic {sent}"})}
    outcome = deliver(ChannelType("WEBHOOK"), config, make_message(), now=NOW)
    assert http_receiver.requests[0].headers["X-Log-In"] == f"Basic {sent}"
    assert outcome.reason == "the receiver answered 400: no user ******, ******; the password is ******"


def test_a_destination_keeps_its_connection_and_shares_it_with_no_other(settings: Settings) -> None:
    settings.OPSAPI_OUTBOUND_ALLOW = [ip_network("127.0.0.0/8")]
    with HttpReceiver(keeps_alive=True).running() as receiver:
        url = receiver.url()
        for secret in ("one", "two"):
            for project in ("a" * 24, "b" * 24):
                for number in range(2):
                    message = make_message(document={"groupId": project}, delivery_id=f"{number}")
                    deliver(ChannelType("WEBHOOK"), {"url": url, "secret": secret}, message, now=NOW)
        POOL.close_all()
    assert (len(receiver.requests), len(receiver.clients)) == (8, 4)
