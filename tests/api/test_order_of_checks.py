"""The order of checks over every route.

429 · 401 · 403 address · 404 path, 405 · 404 malformed id · 403 role · 404 unknown id · 415, 413 ·
400 query · 400 body.
"""

import re
from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

import pytest

from accesslist.models import Project
from automation.desired_state.resource import AutomationConfigDocument
from opsapi.api.links import AGENTS, DISCOVERY, PUBLIC
from opsapi.api.permissions import Where
from opsapi.ids import new_id
from opsapi.roles import Grant, Role
from tests.api.recipients import refusal
from tests.api.routes import KEYED, ROUTES, Route
from tests.client import ApiClient
from tests.each import each
from tests.factories.accesslist import ProjectFactory, make_key

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW")
CHALLENGE = re.compile(
    r'Digest realm="Ops Public API", domain="", nonce="[A-Za-z0-9_-]{32}", '
    r'algorithm=MD5, qop="auth", stale=false'
)
UNKNOWN_PATHS = [
    f"{PUBLIC}/nope",
    f"{PUBLIC}//",
    f"{PUBLIC}/groups/{'a' * 24}/nope",
    f"{PUBLIC}/groups/%2Fetc/alerts/x/y",
    f"{PUBLIC}/GROUPS",
    f"{PUBLIC}/nope%0Anope",
    f"{PUBLIC}/%ff%00",
    f"{DISCOVERY}/nope",
    f"{AGENTS}",
    f"{AGENTS}/groups",
]
MALFORMED_IDS = ("x", "0" * 23, "0" * 25, "%00", "%ff")
UNKNOWN_NAMES = ("x", "a/b", "%2F", "%00", "%ff", "%F0%9F%8D%A3%20x", "byName")
BY_TEMPLATE: dict[str, set[str]] = defaultdict(set)
for a_route in ROUTES:
    BY_TEMPLATE[a_route.template] |= {a_route.method, "HEAD"} if a_route.method == "GET" else {a_route.method}
WITH_IDS = [route for route in KEYED if route.identifiers]
BY_NAME = [route for route in KEYED if route.identifiers != route.parameters]
NAME_CODES = {
    "group_name": "GROUP_NAME_NOT_FOUND",
    "org_name": "ORG_NAME_NOT_FOUND",
    "username": "USERNAME_NOT_FOUND",
    "team_name": "TEAM_NOT_FOUND",
    "host_name": "HOST_NOT_FOUND",
    "agent_name": "AGENT_NOT_FOUND",
    "agent_type": "INVALID_AGENT_TYPE",
    "database_name": "DATABASE_NOT_FOUND",
    "integration_type": "INVALID_INTEGRATION_TYPE",
    "revision": "AUTOMATION_CONFIG_REVISION_NOT_FOUND",
}
IN_GROUP = [route for route in KEYED if route.access.where is Where.GROUP]
WITH_ROLES = [route for route in KEYED if route.access.roles]
WITH_BODY = [route for route in ROUTES if route.takes_body]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("known")]


def call(client: ApiClient, route: Route, path: str | None = None, **options: Any) -> Any:
    """The route's method on a path."""
    return client.request(route.method, path or route.path(), base="", **options)


def malformed(route: Route, name: str) -> str:
    """The code for a malformed value of a path parameter."""
    return {"group_id": "INVALID_GROUP_ID", "org_id": "INVALID_ORG_ID", **route.viewset.identifiers}[name]


@pytest.fixture
def project(known: Mapping[str, str], db: None) -> Project:
    """The project of these objects."""
    return Project.objects.get(id=known["group_id"])


@pytest.fixture
def stranger_to_it(db: None) -> ApiClient:
    """Project Owner, of another project."""
    return ApiClient(make_key(Grant(Role.GROUP_OWNER, group_id=ProjectFactory.create().id)))


@pytest.fixture
def nobody(db: None) -> ApiClient:
    """A key without any role."""
    return ApiClient(make_key())


@pytest.mark.slow
@each("path", [*dict.fromkeys(route.path() for route in KEYED), *UNKNOWN_PATHS])
def test_without_a_key_every_path_and_method_answers_the_same_401(stranger: ApiClient, path: str) -> None:
    for method in METHODS:
        answer = stranger.request(method, path, base="")
        assert answer.status_code == 401, method
        assert CHALLENGE.fullmatch(answer.headers["WWW-Authenticate"])
        assert answer.headers["Content-Type"] == "application/json;charset=ISO-8859-1"
        assert answer.content.isascii()
        assert answer.json() == {
            "error": 401,
            "reason": "Unauthorized",
            "errorCode": "UNAUTHORIZED",
            "detail": answer.json()["detail"],
            "parameters": [],
        }


@each("path", UNKNOWN_PATHS)
def test_an_unknown_path_is_404_whatever_the_method(nobody: ApiClient, path: str) -> None:
    for method in METHODS:
        assert refusal(nobody.request(method, path, base="")) == (404, "RESOURCE_NOT_FOUND"), method


@pytest.mark.slow
@each("template", BY_TEMPLATE)
def test_another_method_is_405_with_the_allowed_methods(nobody: ApiClient, template: str) -> None:
    route = next(route for route in ROUTES if route.template == template)
    offered = BY_TEMPLATE[template]
    for method in sorted(set(METHODS) - offered):
        answer = nobody.request(method, route.path({"group_id": "malformed"}), base="")
        assert refusal(answer) == (405, "METHOD_NOT_ALLOWED"), method
        assert set(answer.headers["Allow"].split(", ")) == offered


@pytest.mark.slow
@each("route", WITH_IDS, ids=str)
def test_a_malformed_id_is_404_before_any_role(nobody: ApiClient, route: Route) -> None:
    for name in route.identifiers:
        answer = call(nobody, route, route.path({name: "A" * 24}))
        assert refusal(answer) == (404, malformed(route, name)), name


@each(("parameter", "route"), {name: route for route in WITH_IDS for name in route.identifiers}.items())
def test_an_id_has_one_form(nobody: ApiClient, parameter: str, route: Route) -> None:
    for bad in MALFORMED_IDS:
        answer = call(nobody, route, route.path({parameter: bad}))
        assert refusal(answer) == (404, malformed(route, parameter)), bad


@each("route", IN_GROUP, ids=str)
def test_a_caller_without_a_role_does_not_learn_whether_a_project_exists(
    known: Mapping[str, str], stranger_to_it: ApiClient, route: Route
) -> None:
    there, nowhere = known["group_id"], new_id()
    texts = []
    for group_id in (there, nowhere):
        answer = call(stranger_to_it, route, route.path({**known, "group_id": group_id}))
        assert refusal(answer) == (403, "NOT_IN_GROUP")
        texts.append(answer.content.decode().replace(group_id, "…"))
    assert texts[0] == texts[1]


@pytest.mark.slow
@each("route", WITH_ROLES, ids=str)
def test_a_missing_role_is_403_before_anything_in_the_request(
    known: Mapping[str, str], project: Project, route: Route
) -> None:
    caller = ApiClient(make_key(Grant(Role.GROUP_DATA_ACCESS_READ_ONLY, group_id=project.id)))
    if route.access.roles == (Role.GROUP_READ_ONLY,):
        caller = ApiClient(make_key(Grant(Role.GROUP_AGENT, group_id=project.id)))
    path = route.path({"group_id": known["group_id"]}) + "?pretty=maybe"
    answer = call(caller, route, path, body=b"nonsense", content_type="text/plain")
    assert refusal(answer) == (403, "USER_UNAUTHORIZED")
    assert all(role.value in answer.json()["detail"] for role in route.access.roles)


@pytest.mark.slow
@each("route", BY_NAME, ids=str)
def test_an_unknown_name_is_404_before_anything_in_the_request(
    owner: ApiClient, known: Mapping[str, str], route: Route
) -> None:
    place = route.parameters[-1]
    for name in UNKNOWN_NAMES:
        if place == "agent_type" and "/" in unquote(name):
            continue  # it takes a segment
        answer = call(owner, route, route.path({**known, place: name}) + "?pretty=maybe")
        assert refusal(answer) == (404, NAME_CODES[place]), name


@pytest.mark.slow
@each("route", [route for route in WITH_IDS if route not in BY_NAME], ids=str)
def test_an_unknown_id_is_404_before_anything_in_the_request(
    owner: ApiClient, known: Mapping[str, str], route: Route
) -> None:
    name = route.identifiers[-1]
    path = route.path({**known, name: new_id()}) + "?pretty=maybe"
    expected = malformed(route, name).removeprefix("INVALID_").removesuffix("_ID") + "_NOT_FOUND"
    answer = call(owner, route, path, body=b"nonsense", content_type="text/plain")
    assert refusal(answer) == (404, expected)


@each("body", [b"nonsense", b" ", b'{"a": 1, "a": 1}'])
def test_a_body_is_json_and_names_a_field_once(owner: ApiClient, body: bytes) -> None:
    assert refusal(owner.post("/groups", body)) == (400, "INVALID_JSON")


@each("content_type", ["", "application/json; charset=latin-1", "application/jsonp"])
def test_another_media_type_is_415(owner: ApiClient, content_type: str) -> None:
    answer = owner.post("/groups", b"{}", content_type=content_type)
    assert refusal(answer) == (415, "UNSUPPORTED_MEDIA_TYPE")


@each("content_type", ["application/json; charset=UTF-8", "Application/JSON"])
def test_a_media_type_may_name_its_charset(owner: ApiClient, content_type: str) -> None:
    answer = owner.post("/groups", b"nonsense", content_type=content_type)
    assert refusal(answer) == (400, "INVALID_JSON")


@each("route", WITH_BODY, ids=str)
class TestBodies:
    """What of a body is looked at, in which order."""

    @pytest.fixture(autouse=True)
    def _place(self, owner: ApiClient, known: Mapping[str, str]) -> None:
        self.caller, self.known = owner, known

    def answer(self, route: Route, body: bytes, query: str = "", **options: Any) -> tuple[int, str]:
        """How the route refuses this body."""
        path = route.path(self.known) + query
        return refusal(call(self.caller, route, path, body=body, **options))

    def test_another_media_type_is_415_before_the_size(self, route: Route) -> None:
        too_large = {"CONTENT_LENGTH": str(route.viewset.max_body + 1)}
        answer = self.answer(route, b"{}", "?pretty=x", content_type="text/plain", **too_large)
        assert answer == (415, "UNSUPPORTED_MEDIA_TYPE")

    def test_a_body_too_large_is_413_before_the_query(self, route: Route) -> None:
        too_large = {"CONTENT_LENGTH": str(route.viewset.max_body + 1)}
        assert self.answer(route, b"nonsense", "?pretty=x", **too_large) == (413, "REQUEST_TOO_LARGE")

    def test_a_chunked_body_too_large_is_413(self, route: Route) -> None:
        options: dict[str, Any] = {
            "CONTENT_LENGTH": "",
            "HTTP_TRANSFER_ENCODING": "chunked",
            "wsgi.input_terminated": True,
        }
        body = b" " * (route.viewset.max_body + 1)
        assert self.answer(route, body, **options) == (413, "REQUEST_TOO_LARGE")

    @pytest.mark.slow
    def test_a_body_of_the_greatest_size_is_read(self, route: Route) -> None:
        assert self.answer(route, b"x" * route.viewset.max_body) == (400, "INVALID_JSON")

    def test_the_query_comes_before_the_body(self, route: Route) -> None:
        assert self.answer(route, b"nonsense", "?pretty=x") == (400, "INVALID_QUERY_PARAMETER")

    def test_a_body_of_another_json_type_is_refused_last(self, route: Route) -> None:
        assert self.answer(route, b"{}" if route.takes_array else b"[]") == (400, "INVALID_JSON")

    def test_an_unknown_field_is_named(self, route: Route) -> None:
        if route.viewset.bodies[route.action] is AutomationConfigDocument:
            return  # it keeps unknown fields
        path = route.path(self.known)
        document, field = {"no such field": 1}, "no such field"
        body, named = ([document], f"[0].{field}") if route.takes_array else (document, field)
        answer = call(self.caller, route, path, body=body)
        assert answer.status_code == 400
        assert named in {bad["field"] for bad in answer.json()["badFields"]}
