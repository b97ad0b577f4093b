"""Values that are JSON and cannot be stored: every route names the field."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from accesslist.models import Project
from automation.desired_state.resource import AutomationConfigDocument
from events.models import Event
from tests.api import bodies
from tests.api.automation import path, publisher
from tests.api.recipients import fields, refusal
from tests.api.routes import ROUTES, Route
from tests.architecture.test_writes_are_recorded import ANOTHER, BODIES
from tests.client import ApiClient
from tests.each import each
from tests.factories.documents import document, process
from tests.hostile.values import Place, places, replaced

__all__ = ["path", "publisher"]

ODD = "@odd@"
ODD_TEXTS = [r'"\u0000"', r'"a\u0000b"', r'"\ud800"', r'"\udfff\ud800"']
ODD_NUMBERS = ["1e400", "-1e999", "9" * 5000, "-" + "9" * 5000]
NO_ARRAYS: list[Any] = ["x", "", {}, 5, 0, False]
CODES = {"INVALID_ATTRIBUTE", "INVALID_ENUM_VALUE", "NOTIFICATION_INTERVAL_OUT_OF_RANGE"}
WITH_BODY = [route for route in ROUTES if route.takes_body]
pytestmark = pytest.mark.django_db


def with_odd(body: Any, place: Place, odd: str) -> bytes:
    """The body with this JSON text at a place of it."""
    return json.dumps(replaced(body, place, ODD)).replace(f'"{ODD}"', odd).encode()


def dotted(place: Place) -> str:
    """The place as `badFields` names it."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).removeprefix(".")


def value_at(body: Any, place: Place) -> Any:
    """What is there."""
    for step in place:
        body = body[step]
    return body


def oddities(route: Route) -> Iterator[tuple[str, bytes]]:
    """Where something odd is in a body that is good otherwise, and the body."""
    body = BODIES[str(route)]
    name = pointer if is_automation(route) else dotted
    for place in places(body):
        value = value_at(body, place)
        if isinstance(value, str):
            yield from ((name(place), with_odd(body, place, odd)) for odd in ODD_TEXTS)
        elif isinstance(value, int | float) and not isinstance(value, bool) and not is_automation(route):
            yield from ((name(place), with_odd(body, place, odd)) for odd in ODD_NUMBERS)


def is_automation(route: Route) -> bool:
    """Whether it takes the automation document, which has its own way of naming places."""
    return route.viewset.bodies[route.action] is AutomationConfigDocument


def pointer(place: Place) -> str:
    """The place as a JSON Pointer."""
    return "".join(f"/{step}" for step in place)


@each("route", WITH_BODY, ids=str)
class TestEveryRoute:
    """What each route makes of them."""

    @pytest.fixture(autouse=True)
    def _place(self, owner: ApiClient, known: Mapping[str, str]) -> None:
        self.caller, self.known = owner, known

    def answer(self, route: Route, body: Any) -> Any:
        """What the route answers to the body; it may change nothing."""
        before = Event.objects.count()
        target = route.path({**self.known, **ANOTHER.get(str(route), {})})
        answer = self.caller.request(route.method, target, base="", body=body)
        assert Event.objects.count() == before
        return answer

    @pytest.mark.slow
    def test_they_are_named_by_their_place(self, route: Route) -> None:
        for place, body in oddities(route):
            status, code = refusal(answer := self.answer(route, body))
            assert (status, code in CODES) == (400, True), (place, answer.json())
            assert all(field.startswith(place) for field in fields(answer)), (place, answer.json())

    @pytest.mark.slow
    def test_a_name_that_cannot_be_kept_is_a_fault_of_the_whole(self, route: Route) -> None:
        for name in ("\0", "\ud800"):
            odd = json.dumps({name: 1})
            answer = self.answer(route, f"[{odd}]" if route.takes_array else odd)
            assert answer.status_code == 400
            whole = "[0]" if route.takes_array else "body"
            assert whole in fields(answer), answer.json()

    @pytest.mark.slow
    def test_links_are_an_array(self, route: Route) -> None:
        if is_automation(route):
            return  # it has no links, and keeps a section of that name
        body = BODIES[str(route)]
        for links in NO_ARRAYS:
            sent = {**(body[0] if route.takes_array else body), "links": links}
            answer = self.answer(route, [sent] if route.takes_array else sent)
            assert refusal(answer) == (400, "INVALID_ATTRIBUTE")
            assert fields(answer) == ["[0].links" if route.takes_array else "links"]


class TestAutomation:
    """The automation document."""

    def test_all_that_is_wrong_is_reported_at_once(self, publisher: ApiClient, path: str) -> None:
        processes = [process(name="a", alias="\0", numCores="4"), process(name="\ud800", hostname="b")]
        sent = json.dumps(document(version=0, processes=processes, notes={"\0": 1, "of": "\udfff"}))
        answer = publisher.put(path, sent)
        assert refusal(answer) == (400, "INVALID_ATTRIBUTE")
        assert fields(answer) == [
            "/processes/0/alias",
            "/processes/0/numCores",
            "/processes/1/name",
            "/notes",
            "/notes/of",
        ]

    @each("number", ["9" * 5000, "1e1000000000000000000000"], ids=["long", "large"])
    def test_a_version_that_cannot_be_kept_is_no_other_version(
        self, publisher: ApiClient, path: str, number: str
    ) -> None:
        sent = json.dumps(document(version=ODD)).replace(f'"{ODD}"', number)
        answer = publisher.put(path, sent)
        assert refusal(answer) == (400, "INVALID_ATTRIBUTE")
        assert fields(answer) == ["/version"]

    def test_links_are_a_section_like_any_other(self, publisher: ApiClient, path: str) -> None:
        answer = publisher.put(path, document(version=0, links="x"))
        assert (answer.status_code, answer.json()["links"]) == (200, "x")

    def test_a_value_of_another_type_is_refused_with_the_allowed_values_of_its_set(
        self, publisher: ApiClient, path: str
    ) -> None:
        concern = {"defaultReadConcern": {"level": 5}}
        answer = publisher.put(path, document(version=0, processes=[process(defaultRWConcern=concern)]))
        assert refusal(answer) == (400, "INVALID_ATTRIBUTE")
        (bad,) = answer.json()["badFields"]
        assert bad["allowed"] == ["available", "local", "majority", "linearizable", "snapshot"]


@each(
    ("where", "body", "field"),
    [
        ("integrations/METRICS_SERVICE", {"apiKey": "k" * 32, "region": 1}, "region"),
        ("alertConfigs", bodies.alert_config(eventTypeName=5), "eventTypeName"),
        ("alertConfigs", bodies.alert_config(notifications=[{"typeName": 5}]), "notifications[0].typeName"),
        ("apiKeys", bodies.api_key(roles=[3]), "roles[0]"),
        ("apiKeys", bodies.api_key(roles=[{"roleName": True}]), "roles[0].roleName"),
        ("maintenanceWindows", bodies.window(alertTypeNames=[{}]), "alertTypeNames[0]"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_refused_value_of_another_type_lists_the_allowed_values(
    admin: ApiClient, project: Project, where: str, body: dict[str, Any], field: str
) -> None:
    answer = admin.post(f"/groups/{project.id}/{where}", body)
    assert refusal(answer) == (400, "INVALID_ATTRIBUTE")
    allowed = {bad["field"]: bad.get("allowed") for bad in answer.json()["badFields"]}
    assert allowed[field], answer.json()


@each("field", ["hostCount", "created", "id"])
@each("value", [False, 0.0, "", 1], ids=repr)
def test_what_a_project_says_otherwise_of_itself_is_read_only(
    owner: ApiClient, project: Project, field: str, value: Any
) -> None:
    answer = owner.patch(f"/groups/{project.id}", {field: value})
    assert refusal(answer) == (400, "ATTRIBUTE_READ_ONLY")
    assert fields(answer) == [field]


def test_a_time_written_otherwise_says_what_is_stored(owner: ApiClient, project: Project) -> None:
    path = f"/groups/{project.id}"
    created = owner.get(path).json()["created"].removesuffix("Z")
    for form in ("{}Z", "{}+00:00", "{}.5Z", "{}"):
        answer = owner.patch(path, {"created": form.format(created), "name": project.name})
        assert answer.status_code == 200, answer.json()


READ_ONLY: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "/users": (bodies.user(), {"id": "a" * 24, "teamIds": ["a" * 24]}),
    "/groups/{}/hosts": (
        bodies.new_host(),
        {
            "id": "a" * 24,
            "groupId": "a" * 24,
            "typeName": "STANDALONE",
            "reachable": True,
            "version": "7.0",
            "clusterId": "a" * 24,
            "uptimeSeconds": 5,
            "created": "2026-11-21T07:26:14Z",
            "lastReport": "2026-11-21T07:26:14Z",
        },
    ),
}
"""Path → a body that makes something there, and what of its document only the platform says."""


@each("where", READ_ONLY)
class TestMaking:
    """What is read-only where a user or a host is created."""

    def test_it_is_refused(self, owner: ApiClient, project: Project, where: str) -> None:
        body, said = READ_ONLY[where]
        before = Event.objects.count()
        answer = owner.post(where.format(project.id), {**body, **said})
        assert refusal(answer) == (400, "ATTRIBUTE_READ_ONLY")
        assert set(fields(answer)) == set(said)
        assert Event.objects.count() == before

    @each("value", [None, []], ids=repr)
    def test_nothing_is_as_good_as_left_out(
        self, owner: ApiClient, project: Project, where: str, value: Any
    ) -> None:
        body, said = READ_ONLY[where]
        arrays = {name for name, value in said.items() if isinstance(value, list)} | {"links"}
        left_out = dict.fromkeys(said if value is None else arrays, value)
        answer = owner.post(where.format(project.id), {**body, **left_out})
        assert answer.status_code == 201, answer.json()


def test_a_new_host_may_say_what_it_will_be(owner: ApiClient, project: Project) -> None:
    said = {"groupId": project.id, "typeName": "NO_DATA", "links": []}
    answer = owner.post(f"/groups/{project.id}/hosts", bodies.new_host(**said))
    assert answer.status_code == 201, answer.json()
    assert {name: answer.json()[name] for name in ("groupId", "typeName")} == {
        "groupId": project.id,
        "typeName": "NO_DATA",
    }
