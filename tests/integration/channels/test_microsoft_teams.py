"""TEAM_CHAT_SERVICE against a receiver that answers as a Teams Workflows URL does."""

import json
from typing import Any

import pytest

from integrations.channels.base import DeliveryError
from integrations.channels.microsoft_teams import MICROSOFT_TEAMS
from integrations.choices import MessageKind
from tests.integration.channels.provider import closed, faults, json_of, provide
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import LONGEST, NOW, ODD, make_message

PATH = "/workflows/0123/triggers/manual/paths/invoke?api-version=1&sig=very-secret"
RUN = {
    "type": "object",
    "properties": {
        "type": {"const": "TextRun"},
        "text": {"type": "string"},
        "weight": {"enum": ["lighter", "default", "bolder"]},
        "size": {"enum": ["small", "default", "medium", "large", "extraLarge"]},
        "color": {"enum": ["default", "dark", "light", "accent", "good", "warning", "attention"]},
    },
    "required": ["type", "text"],
    "additionalProperties": False,
}
BLOCK = closed(type={"const": "RichTextBlock"}, inlines={"type": "array", "items": RUN, "minItems": 1})
ACTION = closed(
    type={"const": "Action.OpenUrl"},
    title={"type": "string", "minLength": 1},
    url={"type": "string", "pattern": "^https?://"},
)
CARD = {
    "type": "object",
    "properties": {
        "$schema": {"const": "http://adaptivecards.io/schemas/adaptive-card.json"},
        "type": {"const": "AdaptiveCard"},
        "version": {"enum": ["1.0", "1.1", "1.2", "1.3", "1.4", "1.5"]},
        "body": {"type": "array", "items": BLOCK, "minItems": 1},
        "actions": {"type": "array", "items": ACTION, "maxItems": 6},
        "msteams": closed(width={"const": "Full"}),
    },
    "required": ["type", "version", "body", "msteams"],
    "additionalProperties": False,
}
ATTACHMENT = closed(
    contentType={"const": "application/vnd.microsoft.card.adaptive"},
    contentUrl={"type": "null"},
    content=CARD,
)
MESSAGE = closed(
    type={"const": "message"},
    summary={"type": "string", "minLength": 1},
    attachments={"type": "array", "items": ATTACHMENT, "minItems": 1, "maxItems": 1},
)


def teams(request: ReceivedRequest) -> tuple[int, dict[str, Any]]:
    """As the trigger of a workflow answers."""
    if "sig=very-secret" not in request.path:
        return 401, {"error": {"code": "DirectApiAuthorizationRequired"}}
    if request.path != PATH:
        return 404, {"error": {"code": "WorkflowNotFound"}}
    if len(request.body) > 28 * 1024:
        return 413, {}
    return (400, {"error": wrong}) if (wrong := faults(json_of(request), MESSAGE)) else (202, {})


@pytest.fixture(autouse=True)
def service(http_receiver: HttpReceiver) -> HttpReceiver:
    """The service behind the URL."""
    provide(http_receiver, teams)
    return http_receiver


def failure_of(service: HttpReceiver, path: str = PATH) -> DeliveryError:
    """Why sending there fails."""
    with pytest.raises(DeliveryError) as caught:
        MICROSOFT_TEAMS.send({"webhookUrl": service.url(path)}, make_message(), now=NOW)
    return caught.value


@pytest.mark.parametrize("kind", sorted(MICROSOFT_TEAMS.kinds))
def test_the_service_takes_every_kind_of_message(service: HttpReceiver, kind: MessageKind) -> None:
    message = make_message(kind=kind, link="https://ops.example/alerts/1")
    MICROSOFT_TEAMS.send({"webhookUrl": service.url(PATH)}, message, now=NOW)
    [request] = service.requests
    assert message.title in json.dumps(json.loads(request.body))


@pytest.mark.parametrize("name", [*ODD, *(char * 500 for char in LONGEST)], ids=range(len(ODD + LONGEST)))
def test_the_service_takes_whatever_names_there_are(service: HttpReceiver, name: str) -> None:
    message = make_message(event_type_name=name, target=name, project_name=name)
    MICROSOFT_TEAMS.send({"webhookUrl": service.url(PATH)}, message, now=NOW)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("path", "status"), [(PATH.replace("very-secret", "wrong"), 401), (PATH.replace("0123", "4567"), 404)]
)
def test_a_wrong_url_fails_for_good(service: HttpReceiver, path: str, status: int) -> None:
    failure = failure_of(service, path)
    assert (failure.reason, failure.retryable) == (f"the receiver answered {status}", False)
