"""The end of a delivery that a service refused: the same for all channels over HTTP."""

from collections.abc import Callable

import pytest
from pytest_django import Settings

from alerting.configs.notification_types import NOTIFICATION_TYPES
from integrations.channels import CHANNELS
from integrations.channels.base import DeliveryError
from integrations.choices import ChannelType
from tests.integration.channels.gists import SECRET, Service, lead_here
from tests.receivers import HttpReceiver, MailReceiver
from tests.unit.integrations.messages import NOW, make_message

OVER_HTTP = [name for name in CHANNELS if name != "EMAIL"]


@pytest.fixture(params=OVER_HTTP)
def failure_of(
    request: pytest.FixtureRequest,
    http_receiver: HttpReceiver,
    mail_receiver: MailReceiver,
    settings: Settings,
) -> Callable[[], DeliveryError]:
    """How a message over the channel fails."""
    lead_here(settings, http_receiver)
    notification = Service(request.param, http_receiver, mail_receiver).notification()
    kind = NOTIFICATION_TYPES[request.param]

    def send() -> DeliveryError:
        with pytest.raises(DeliveryError) as raised:
            CHANNELS[ChannelType(request.param)].send(
                kind.channel_config(notification, {}), make_message(), now=NOW
            )
        return raised.value

    return send


@pytest.mark.parametrize(
    ("status", "retry_after", "expected"),
    [
        (302, None, ("the receiver answered 302; redirects are not followed", False, None)),
        (400, "10", ("the receiver answered 400", False, None)),
        (401, None, ("the receiver answered 401", False, None)),
        (402, None, ("the receiver answered 402", False, None)),
        (403, None, ("the receiver answered 403", False, None)),
        (404, None, ("the receiver answered 404", False, None)),
        (410, None, ("the receiver answered 410", False, None)),
        (422, None, ("the receiver answered 422", False, None)),
        (429, None, ("the receiver answered 429", True, None)),
        (429, "30", ("the receiver answered 429", True, 30)),
        (429, "Sat, 21 Nov 2026 07:27:14 GMT", ("the receiver answered 429", True, 60)),
        (500, None, ("the receiver answered 500", True, None)),
        (503, None, ("the receiver answered 503", True, None)),
        (503, "7200", ("the receiver answered 503", True, 3600)),
    ],
)
def test_it_says_why_it_was_not_delivered(
    http_receiver: HttpReceiver,
    failure_of: Callable[[], DeliveryError],
    status: int,
    retry_after: str | None,
    expected: tuple[str, bool, int | None],
) -> None:
    headers = {"Retry-After": retry_after} if retry_after else {}
    body = b'{"ok":false,"error":"ratelimited","quoted":"a token"}'
    http_receiver.answer(status, {"Location": "/elsewhere", **headers}, body)
    failure = failure_of()
    assert (failure.reason, failure.retryable, failure.retry_after) == expected
    assert len(http_receiver.requests) == 1


def test_a_service_that_hangs_up_is_tried_again_and_no_secret_is_shown(
    http_receiver: HttpReceiver, failure_of: Callable[[], DeliveryError], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    http_receiver.behave(lambda handler: None)
    failure = failure_of()
    assert (failure.reason, failure.retryable) == ("sent, no answer", True)
    assert len(http_receiver.requests) == 1
    assert "no answer from http://127.0.0.1" in caplog.text
    assert SECRET not in caplog.text
