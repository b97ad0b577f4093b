"""GROUP_CHAT_SERVICE against a receiver that answers as a HipChat v2 server does."""

import json
from typing import Any

import pytest
from pytest_django import Settings

from integrations.channels.base import DeliveryError
from integrations.channels.hipchat import HIPCHAT
from integrations.choices import MessageKind
from tests.integration.channels.provider import closed, faults, json_of, provide
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import LONGEST, NOW, ODD, make_message

TOKEN = "token-very-secret"
CONFIG = {"notificationToken": TOKEN, "roomName": "on call"}
NOTIFIED = closed(
    message={"type": "string", "minLength": 1, "maxLength": 10_000},
    message_format={"enum": ["html", "text"]},
    color={"enum": ["yellow", "green", "red", "purple", "gray", "random"]},
    notify={"type": "boolean"},
)


def hipchat(request: ReceivedRequest) -> tuple[int, dict[str, Any]]:
    """As the room notification method answers."""
    if request.headers["Authorization"] != f"Bearer {TOKEN}":
        return _error(401, "Unauthorized")
    if request.path != "/v2/room/on%20call/notification":
        return _error(404, "Not Found")
    return _error(400, "Bad Request") if faults(json_of(request), NOTIFIED) else (204, {})


def _error(code: int, kind: str) -> tuple[int, dict[str, Any]]:
    return code, {"error": {"code": code, "type": kind, "message": "words of the server"}}


@pytest.fixture(autouse=True)
def service(http_receiver: HttpReceiver, settings: Settings) -> HttpReceiver:
    """The service that the settings name."""
    settings.OPSAPI_GROUP_CHAT_BASE_URL = http_receiver.url("")
    provide(http_receiver, hipchat)
    return http_receiver


def failure_of(**changes: str) -> DeliveryError:
    """Why sending fails."""
    with pytest.raises(DeliveryError) as caught:
        HIPCHAT.send({**CONFIG, **changes}, make_message(), now=NOW)
    return caught.value


@pytest.mark.parametrize("kind", sorted(HIPCHAT.kinds))
def test_the_service_takes_every_kind_of_message(service: HttpReceiver, kind: MessageKind) -> None:
    HIPCHAT.send(CONFIG, make_message(kind=kind, link="https://ops.example/alerts/1"), now=NOW)
    [request] = service.requests
    assert "HOST_DOWN" in json.loads(request.body)["message"]


@pytest.mark.parametrize("name", [*ODD, *(char * 500 for char in LONGEST)], ids=range(len(ODD + LONGEST)))
def test_the_service_takes_whatever_names_there_are(service: HttpReceiver, name: str) -> None:
    HIPCHAT.send(CONFIG, make_message(event_type_name=name, target=name, project_name=name), now=NOW)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("room", "path"),
    [
        ("oncall", "/v2/room/oncall/notification"),
        ("a/b?c#d", "/v2/room/a%2Fb%3Fc%23d/notification"),
        ("../user/me", "/v2/room/..%2Fuser%2Fme/notification"),
        ("%2e%2e", "/v2/room/%252e%252e/notification"),
        ("Räume", "/v2/room/R%C3%A4ume/notification"),
        ("...", "/v2/room/.../notification"),
    ],
)
def test_a_room_is_one_segment_of_the_path(service: HttpReceiver, room: str, path: str) -> None:
    service.answer(204)
    HIPCHAT.send({**CONFIG, "roomName": room}, make_message(), now=NOW)
    assert [request.path for request in service.requests] == [path]


@pytest.mark.parametrize("room", [".", ".."])
def test_a_room_that_would_be_another_path_fails_for_good(service: HttpReceiver, room: str) -> None:
    failure = failure_of(roomName=room)
    assert (failure.reason, failure.retryable) == ("the room name cannot be part of a URL", False)
    assert service.requests == []


def test_an_installation_that_names_no_service_fails_for_good(
    service: HttpReceiver, settings: Settings
) -> None:
    settings.OPSAPI_GROUP_CHAT_BASE_URL = ""
    failure = failure_of()
    assert (failure.reason, failure.retryable) == ("HipChat is not configured in this installation", False)
    assert service.requests == []


def test_a_wrong_token_fails_for_good() -> None:
    failure = failure_of(notificationToken="wrong")
    assert (failure.reason, failure.retryable) == ("the receiver answered 401", False)


def test_an_unknown_room_fails_for_good() -> None:
    failure = failure_of(roomName="nobody")
    assert (failure.reason, failure.retryable) == ("the receiver answered 404", False)
