"""A service gets what its configuration and its integration say."""

from typing import Any, NamedTuple

import pytest
from pytest_django import Settings

from accesslist.models import Project
from tests.api.bodies import alert_config
from tests.client import ApiClient
from tests.receivers import HttpReceiver, ReceivedRequest

pytestmark = pytest.mark.django_db


class ServiceCase(NamedTuple):
    """A service: its settings, its fields in notifications and integrations, and their traces in a request.

    `{url}` means the receiver's address; `seen` are texts of the request, with the notification's own
    credentials and with the credentials of the integration.
    """

    settings: tuple[str, ...]
    notification: dict[str, str]
    integration: dict[str, str]
    seen: tuple[str, str]


CASES = {
    "CHAT_SERVICE": ServiceCase(
        ("OPSAPI_CHAT_BASE_URL",),
        {"apiToken": "token-of-the-notification", "channelName": "own"},
        {"apiToken": "token-of-the-integration", "channelName": "shared", "teamName": "ops"},
        ("Bearer token-of-the-notification", "Bearer token-of-the-integration"),
    ),
    "GROUP_CHAT_SERVICE": ServiceCase(
        ("OPSAPI_GROUP_CHAT_BASE_URL",),
        {"notificationToken": "token-of-the-notification", "roomName": "own"},
        {"notificationToken": "token-of-the-integration", "roomName": "shared"},
        ("/v2/room/own/notification", "/v2/room/shared/notification"),
    ),
    "METRICS_SERVICE": ServiceCase(
        ("OPSAPI_METRICS_US_BASE_URL", "OPSAPI_METRICS_EU_BASE_URL"),
        {"metricsServiceApiKey": "key-of-the-notification"},
        {"apiKey": "key-of-the-integration", "region": "EU"},
        ("/OPSAPI_METRICS_US_BASE_URL/api/v1/events", "/OPSAPI_METRICS_EU_BASE_URL/api/v1/events"),
    ),
    "TEAM_CHAT_SERVICE": ServiceCase(
        (),
        {"teamChatWebhookUrl": "{url}/workflows/own"},
        {"webhookUrl": "{url}/workflows/shared"},
        ("/workflows/own", "/workflows/shared"),
    ),
}
SERVICES = pytest.mark.parametrize("name", CASES)


@pytest.fixture
def receiver(http_receiver: HttpReceiver, settings: Settings) -> HttpReceiver:
    """Every service in one: each base URL is a path of its own."""
    for case in CASES.values():
        for name in case.settings:
            setattr(settings, name, http_receiver.url(f"/{name}"))
    http_receiver.answer(200, body=b'{"ok": true}')
    return http_receiver


def filled(fields: dict[str, str], receiver: HttpReceiver) -> dict[str, str]:
    """The fields with the receiver's address in them."""
    return {name: value.format(url=receiver.url("")) for name, value in fields.items()}


def request_of_test(
    admin: ApiClient, project: Project, receiver: HttpReceiver, **notification: Any
) -> ReceivedRequest:
    """What the receiver gets when a configuration with that notification is tested."""
    path = f"/groups/{project.id}/alertConfigs"
    made = admin.post(path, alert_config(notifications=[notification]))
    assert made.status_code == 201, made.content
    answer = admin.request("POST", f"{path}/{made.json()['id']}/test")
    assert [row["status"] for row in answer.json()["results"]] == ["DELIVERED"]
    [request] = receiver.requests
    return request


def text_of(request: ReceivedRequest) -> str:
    """The path and headers of a request, which contain credentials and destinations."""
    return "\n".join([request.path, *request.headers.values()])


@SERVICES
def test_a_service_is_notified_with_the_notifications_own_credentials(
    admin: ApiClient, project: Project, receiver: HttpReceiver, name: str
) -> None:
    admin.post(f"/groups/{project.id}/integrations/{name}", filled(CASES[name].integration, receiver))
    request = request_of_test(
        admin, project, receiver, typeName=name, **filled(CASES[name].notification, receiver)
    )
    own, shared = CASES[name].seen
    assert own in text_of(request)
    assert shared not in text_of(request)


@SERVICES
def test_a_service_is_notified_with_the_integrations_credentials_where_there_are_no_others(
    admin: ApiClient, project: Project, receiver: HttpReceiver, name: str
) -> None:
    made = admin.post(f"/groups/{project.id}/integrations/{name}", filled(CASES[name].integration, receiver))
    assert made.status_code == 201
    request = request_of_test(admin, project, receiver, typeName=name)
    own, shared = CASES[name].seen
    assert shared in text_of(request)
    assert own not in text_of(request)
    assert b"[TEST] Test notification for Host down" in request.body
