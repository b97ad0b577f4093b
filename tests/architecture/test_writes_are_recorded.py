"""Every write route records who did what from where (decisions 3 "events"). A new one needs a row here."""

from collections.abc import Mapping
from typing import Any

import pytest

from events.models import Event
from tests.api import bodies
from tests.api.routes import ROUTES, Route
from tests.client import ApiClient

ADDRESS = "192.0.2.7"
PUBLIC, AGENTS = "/api/public/v1.0", "/agents/v1.0"
BODIES: Mapping[str, Any] = {
    f"POST {PUBLIC}/unauth/users": bodies.user(),
    f"POST {PUBLIC}/groups": bodies.group(),
    f"POST {PUBLIC}/groups/<group_id>/apiKeys": bodies.api_key(),
    f"POST {PUBLIC}/groups/<group_id>/alertConfigs": bodies.alert_config(),
    f"DELETE {PUBLIC}/groups/<group_id>/alertConfigs/<config_id>": None,
    f"POST {AGENTS}/groups/<group_id>/reports": bodies.report(bodies.host(hostname="new.example.com")),
}
"""Route → a body that changes something."""

UNSIGNED = {f"POST {PUBLIC}/unauth/users"}
"""Where the event names the user who was made."""

WRITES = [route for route in ROUTES if route.method != "GET"]
pytestmark = pytest.mark.django_db


def test_every_write_route_has_a_row() -> None:
    assert {str(route) for route in WRITES} == set(BODIES)


@pytest.mark.parametrize("route", WRITES, ids=str)
def test_a_write_is_recorded_with_who_and_from_where(
    owner: ApiClient, known: Mapping[str, str], route: Route
) -> None:
    before = set(Event.objects.values_list("id", flat=True))
    answer = owner.request(route.method, route.path(known), BODIES[str(route)], base="", REMOTE_ADDR=ADDRESS)
    assert answer.status_code < 300
    recorded = Event.objects.exclude(id__in=before)
    assert recorded.exists()
    for event in recorded:
        assert event.details["remoteAddress"] == ADDRESS
        assert owner.key
        if str(route) not in UNSIGNED:
            assert event.details["apiKeyId"] == owner.key.id
            assert event.details["publicKey"] == owner.key.public_key


@pytest.mark.parametrize("route", WRITES, ids=str)
def test_a_refused_write_records_nothing(owner: ApiClient, known: Mapping[str, str], route: Route) -> None:
    before = Event.objects.count()
    answer = owner.request(route.method, f"{route.path(known)}?pretty=x", BODIES[str(route)], base="")
    assert answer.status_code == 400
    assert Event.objects.count() == before
