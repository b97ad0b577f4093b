"""METRICS_SERVICE against a receiver that answers as Datadog does."""

import json
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import Settings

from integrations.channels.base import DeliveryError
from integrations.channels.datadog import DATADOG
from integrations.choices import MessageKind
from tests.integration.channels.provider import closed, faults, json_of, provide
from tests.receivers import HttpReceiver, ReceivedRequest
from tests.unit.integrations.messages import LONGEST, NOW, ODD, make_message

KEY = "0123456789abcdef-very-secret"
CONFIG = {"apiKey": KEY}
EVENT = closed(
    title={"type": "string", "minLength": 1, "maxLength": 100},
    text={"type": "string", "minLength": 1, "maxLength": 4000},
    alert_type={"enum": ["error", "warning", "info", "success", "user_update", "recommendation", "snapshot"]},
    priority={"enum": ["normal", "low"]},
    aggregation_key={"type": "string", "minLength": 1, "maxLength": 100},
    date_happened={"type": "integer", "minimum": int((NOW - timedelta(hours=18)).timestamp())},
    tags={"type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 200}},
)


def datadog(request: ReceivedRequest) -> tuple[int, dict[str, Any]]:
    """As version 1 of the events method answers."""
    if request.headers["DD-API-KEY"] != KEY:
        return 403, {"errors": ["Forbidden"]}
    if request.path not in {"/us/api/v1/events", "/eu/api/v1/events"}:
        return 404, {"errors": ["Not found"]}
    document = json_of(request)
    return (400, {"errors": wrong}) if (wrong := faults(document, EVENT)) else (202, {"status": "ok"})


@pytest.fixture(autouse=True)
def service(http_receiver: HttpReceiver, settings: Settings) -> HttpReceiver:
    """The services that the settings name: one receiver, a path for each region."""
    settings.OPSAPI_METRICS_US_BASE_URL = http_receiver.url("/us")
    settings.OPSAPI_METRICS_EU_BASE_URL = http_receiver.url("/eu")
    provide(http_receiver, datadog)
    return http_receiver


def failure_of(**changes: str) -> DeliveryError:
    """Why sending fails."""
    with pytest.raises(DeliveryError) as caught:
        DATADOG.send({**CONFIG, **changes}, make_message(), now=NOW)
    return caught.value


@pytest.mark.parametrize("kind", sorted(DATADOG.kinds))
@pytest.mark.parametrize("age", [0, 17, 500])
def test_the_service_takes_every_kind_of_message(service: HttpReceiver, kind: MessageKind, age: int) -> None:
    message = make_message(kind=kind, occurred_at=NOW - timedelta(hours=age), link="https://ops.example/1")
    DATADOG.send(CONFIG, message, now=NOW)
    [request] = service.requests
    assert json.loads(request.body)["aggregation_key"] == message.thread_key


@pytest.mark.parametrize("name", [*ODD, *(char * 500 for char in LONGEST)], ids=range(len(ODD + LONGEST)))
def test_the_service_takes_whatever_names_there_are(service: HttpReceiver, name: str) -> None:
    DATADOG.send(CONFIG, make_message(event_type_name=name, target=name, project_name=name), now=NOW)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("region", "path"),
    [
        ({}, "/us/api/v1/events"),
        ({"region": "US"}, "/us/api/v1/events"),
        ({"region": "EU"}, "/eu/api/v1/events"),
    ],
    ids=["default", "US", "EU"],
)
def test_it_posts_to_the_region_of_the_account(
    service: HttpReceiver, region: dict[str, str], path: str
) -> None:
    DATADOG.send({**CONFIG, **region}, make_message(), now=NOW)
    assert [request.path for request in service.requests] == [path]


def test_a_wrong_key_fails_for_good() -> None:
    failure = failure_of(apiKey="wrong")
    assert (failure.reason, failure.retryable) == ("the receiver answered 403", False)
