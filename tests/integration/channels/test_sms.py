"""SMS against a receiver that answers as Twilio's Messages API does.

https://www.twilio.com/docs/messaging/api/message-resource: fields and lengths;
https://www.twilio.com/docs/usage/twilios-response: errors.
"""

from base64 import b64encode
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import pytest
from pytest_django import Settings

from integrations.channels.base import DeliveryError
from integrations.channels.sms import send
from integrations.choices import MessageKind
from integrations.messages import Message
from tests.integration.channels.provider import faults, provide
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import NOW, make_message, named_everywhere

ACCOUNT, TOKEN, SENDER = "AC0123456789abcdef0123456789abcdef", "very-secret", "+12025550199"
CONFIG = {"mobileNumber": "+1 202 555 0100"}
_FORM = {
    "type": "object",
    "additionalProperties": False,
    "required": ["From", "To", "Body"],
    "properties": {
        "From": {"const": SENDER},
        "To": {"type": "string", "pattern": r"^\+[1-9]\d{1,14}$"},
        "Body": {"type": "string", "minLength": 1, "maxLength": 1600},
    },
}


class Provider:
    """The provider: `texts` are the accepted messages."""

    def __init__(self, receiver: HttpReceiver) -> None:
        self.texts: list[Mapping[str, str]] = []
        provide(receiver, self.respond)

    def respond(self, request: ReceivedRequest) -> tuple[int, Mapping[str, Any]]:
        """201, 401 for other credentials, 404 for another path, or 400."""
        if request.path != f"/2010-04-01/Accounts/{ACCOUNT}/Messages.json":
            return 404, {"code": 20404, "message": "not found", "status": 404}
        credentials = b64encode(f"{ACCOUNT}:{TOKEN}".encode()).decode()
        if request.headers["Authorization"] != f"Basic {credentials}":
            return 401, {"code": 20003, "message": "Authenticate", "status": 401}
        assert request.headers["Content-Type"] == "application/x-www-form-urlencoded"
        form = {name: value for name, [value] in parse_qs(request.body.decode()).items()}
        if found := faults(form, _FORM):
            return 400, {"code": 21211, "message": "; ".join(found), "status": 400}
        self.texts.append(form)
        return 201, {"sid": "SM0123456789abcdef0123456789abcdef", "status": "queued", "error_code": None}


@pytest.fixture
def provider(http_receiver: HttpReceiver, settings: Settings) -> Provider:
    """The provider of the settings."""
    settings.OPSAPI_SMS_BASE_URL = http_receiver.url("")
    settings.OPSAPI_SMS_ACCOUNT, settings.OPSAPI_SMS_TOKEN = ACCOUNT, TOKEN
    settings.OPSAPI_SMS_FROM = SENDER
    return Provider(http_receiver)


def failure_of(message: Message, config: Mapping[str, str] = CONFIG) -> DeliveryError:
    """Why sending it fails."""
    with pytest.raises(DeliveryError) as caught:
        send(config, message, now=NOW)
    return caught.value


def test_it_sends_one_text(provider: Provider) -> None:
    send(CONFIG, make_message(), now=NOW)
    text = (
        "[OPEN] [CRITICAL] Host down: db1.example.com:27017 (project payments). Since: 2026-11-21 07:26:14Z"
    )
    assert provider.texts == [{"From": SENDER, "To": "+12025550100", "Body": text}]


def test_a_test_is_one_text_that_says_so(provider: Provider) -> None:
    send(CONFIG, make_message(kind=MessageKind.INFORM, is_test=True), now=NOW)
    assert [text["Body"].split()[0] for text in provider.texts] == ["[TEST]"]


def test_long_and_odd_names_are_taken(provider: Provider) -> None:
    hostile = "x\r\n\u0000\ud800\u2028&To=+1900" + "é" * 5000
    send(CONFIG, make_message(**named_everywhere(hostile)), now=NOW)
    assert [(text["To"], len(text["Body"])) for text in provider.texts] == [("+12025550100", 320)]


@pytest.mark.parametrize("setting", ["OPSAPI_SMS_ACCOUNT", "OPSAPI_SMS_TOKEN", "OPSAPI_SMS_FROM"])
def test_without_a_provider_it_fails_for_good_and_asks_nobody(
    provider: Provider, http_receiver: HttpReceiver, settings: Settings, setting: str
) -> None:
    setattr(settings, setting, "")
    failure = failure_of(make_message())
    assert (failure.reason, failure.retryable) == ("SMS is not configured in this installation", False)
    assert http_receiver.requests == []


def test_what_is_no_number_is_asked_of_nobody(provider: Provider, http_receiver: HttpReceiver) -> None:
    failure = failure_of(make_message(), {"mobileNumber": "call me"})
    assert (failure.reason, failure.retryable) == ("the mobile number is not valid", False)
    assert http_receiver.requests == []


def test_a_number_the_provider_refuses_fails_for_good(provider: Provider) -> None:
    failure = failure_of(make_message(), {"mobileNumber": "112"})
    assert (failure.reason, failure.retryable) == ("the receiver answered 400", False)
    assert provider.texts == []


def test_other_credentials_fail_for_good_and_are_not_quoted(
    provider: Provider, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.OPSAPI_SMS_TOKEN = "another-very-secret"
    failure = failure_of(make_message())
    assert (failure.reason, failure.retryable) == ("the receiver answered 401", False)
    assert "very-secret" not in caplog.text
