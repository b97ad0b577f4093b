"""What every response has: headers, envelope, pretty, HEAD, trailing slash."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
import time_machine

from accesslist.models import Project
from opsapi import clock
from opsapi.ids import new_id
from tests.api import bodies
from tests.api.routes import KEYED, ROUTES, Route
from tests.client import ApiClient
from tests.each import each

READING = [route for route in KEYED if route.method == "GET" and not route.needs_query]
OPEN_READING = [route for route in ROUTES if route.method == "GET" and not route.needs_key]
VERSION = re.compile(r"gitHash=[0-9a-f]{40}; versionString=\S+")
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("known")]


def get(client: ApiClient, path: str, **options: Any) -> Any:
    """GET an absolute path."""
    return client.request("GET", path, base="", **options)


@pytest.mark.slow
@each("route", READING, ids=str)
def test_a_slash_at_the_end_changes_nothing(owner: ApiClient, known: Mapping[str, str], route: Route) -> None:
    with time_machine.travel(clock.now(), tick=False):
        plain, slashed = get(owner, route.path(known)), get(owner, route.path(known) + "/")
    assert slashed.status_code == 200
    assert slashed.content.replace(b"/?pageNum", b"?pageNum") == plain.content


@each("route", OPEN_READING, ids=str)
def test_a_slash_at_the_end_changes_nothing_without_a_key(stranger: ApiClient, route: Route) -> None:
    plain, slashed = stranger.http.get(route.path()), stranger.http.get(route.path() + "/")
    assert (slashed.status_code, slashed.content) == (plain.status_code, plain.content)


def test_a_slash_at_the_end_changes_nothing_for_writes(owner: ApiClient, known: Mapping[str, str]) -> None:
    path = f"/groups/{known['group_id']}/alertConfigs"
    made = owner.post(f"{path}/", bodies.alert_config())
    assert made.status_code == 201
    assert owner.delete(f"{path}/{made.json()['id']}/").status_code == 204


@pytest.mark.slow
@each("route", READING, ids=str)
def test_head_answers_as_get_without_the_body(
    owner: ApiClient, known: Mapping[str, str], route: Route
) -> None:
    whole, head = get(owner, route.path(known)), owner.request("HEAD", route.path(known), base="")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == str(len(whole.content))
    assert set(head.headers) == set(whole.headers)


def test_head_of_nothing_is_a_refusal_without_a_body(owner: ApiClient) -> None:
    answer = owner.request("HEAD", f"/groups/{new_id()}")
    assert (answer.status_code, answer.content) == (404, b"")
    assert int(answer.headers["Content-Length"]) > 0


@pytest.mark.slow
@each("route", READING, ids=str)
def test_a_success_carries_type_and_version(owner: ApiClient, known: Mapping[str, str], route: Route) -> None:
    answer = get(owner, route.path(known))
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/json"
    assert VERSION.fullmatch(answer.headers["X-Vendor-Service-Version"])
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_new_private_key_is_stored_on_no_way(owner: ApiClient) -> None:
    answer = owner.post("/admin/apiKeys", {"desc": "agents", "roles": ["GLOBAL_READ_ONLY"]})
    assert answer.status_code == 201
    assert answer.headers["Cache-Control"] == "no-store"


REFUSED = {
    401: ("GET", "/groups", False),
    404: ("GET", "/nope", True),
    405: ("PUT", "/groups", True),
    415: ("POST", "/groups", True),
    400: ("GET", "/groups?pageNum=0", True),
}


@each("status", REFUSED)
def test_a_refusal_carries_every_header_but_the_version(
    owner: ApiClient, stranger: ApiClient, status: int
) -> None:
    method, path, with_key = REFUSED[status]
    answer = (owner if with_key else stranger).request(method, path)
    assert answer.status_code == status
    assert "X-Vendor-Service-Version" not in answer.headers
    assert answer.headers["Strict-Transport-Security"] == "max-age=300"
    assert answer.headers["Cache-Control"] == "no-store"
    assert re.fullmatch("[A-Za-z0-9-]{1,64}", answer.headers["X-Request-ID"])
    assert answer.headers["Content-Type"].startswith("application/json")


@each("path", ["/", "/nope", "/health/live", "/health/ready", "/api/schema/", "/admin/login/"])
def test_pages_outside_the_api_carry_the_common_headers(stranger: ApiClient, path: str) -> None:
    answer = stranger.http.get(path)
    assert answer.headers["Strict-Transport-Security"] == "max-age=300"
    assert answer.headers["X-Request-ID"]


@each(
    ("given", "taken"),
    [
        ("a", True),
        ("Trace-0123456789", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("", False),
        ("a b", False),
        ("a_b", False),
        ("a\u00e9", False),
        ("a\n", False),
    ],
)
def test_a_request_id_is_taken_from_outside_only_in_its_form(
    owner: ApiClient, given: str, taken: bool
) -> None:
    shown = owner.get("/groups", HTTP_X_REQUEST_ID=given).headers["X-Request-ID"]
    assert (shown == given) is taken


@each("flag", ["true", "TRUE", "True"])
def test_one_result_goes_into_an_envelope(owner: ApiClient, flag: str) -> None:
    bare = owner.get("").json()
    assert owner.get(f"?envelope={flag}").json() == {"status": 200, "content": bare}


def test_a_list_gets_the_status_next_to_its_results(owner: ApiClient, known: Mapping[str, str]) -> None:
    shown = owner.get("/groups?envelope=true").json()
    assert set(shown) == {"status", "results", "links", "totalCount"}
    assert (shown["status"], shown["totalCount"]) == (200, len(shown["results"]))


def test_a_created_resource_and_a_refusal_go_into_an_envelope(owner: ApiClient) -> None:
    made = owner.post("/groups?envelope=true", bodies.group())
    assert (made.status_code, made.json()["status"]) == (201, 201)
    assert made.json()["content"]["name"] == "payments"
    again = owner.post("/groups?envelope=true", bodies.group())
    assert (again.status_code, again.json()["status"]) == (409, 409)
    assert again.json()["content"]["errorCode"] == "GROUP_ALREADY_EXISTS"


@pytest.mark.slow
@each("route", READING, ids=str)
def test_an_enveloped_answer_is_described(route: Route, owner: ApiClient, known: Mapping[str, str]) -> None:
    """The client holds every answer against the OpenAPI document."""
    answer = get(owner, f"{route.path(known)}?envelope=true")
    assert answer.status_code == answer.json()["status"] == 200


def test_even_a_401_goes_into_an_envelope(stranger: ApiClient) -> None:
    answer = stranger.get("/groups?envelope=true")
    assert (answer.status_code, answer.json()["content"]["errorCode"]) == (401, "UNAUTHORIZED")


@each("query", ["", "?envelope=true", "?pretty=true&envelope=true"])
def test_a_deletion_has_no_body(owner: ApiClient, known: Mapping[str, str], query: str) -> None:
    path = f"/groups/{known['group_id']}/alertConfigs/{known['config_id']}"
    answer = owner.delete(path + query)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "Content-Length" not in answer.headers
    assert VERSION.fullmatch(answer.headers["X-Vendor-Service-Version"])
    assert owner.get(path).status_code == 404


@each("path", ["", "/groups", "/nope"])
def test_pretty_is_the_same_document_on_many_lines(owner: ApiClient, path: str) -> None:
    compact, pretty = owner.get(path), owner.get(f"{path}?pretty=true")
    assert b"\n" not in compact.content
    assert pretty.content.startswith(b"{\n  ")
    assert set(json.loads(pretty.content)) == set(compact.json())


@pytest.mark.slow
@each("name", ["pretty", "envelope"])
@each("value", ["", "1", "yes", "falsch"])
def test_a_flag_is_true_or_false(owner: ApiClient, known: Mapping[str, str], name: str, value: str) -> None:
    for route in READING:
        answer = get(owner, f"{route.path(known)}?{name}={value}")
        assert (answer.status_code, answer.json()["errorCode"]) == (400, "INVALID_QUERY_PARAMETER"), route
        assert answer.json()["badFields"][0]["allowed"] == ["true", "false"]


@each("accept", ["text/html", "application/xml", "nonsense", ""])
def test_there_is_one_representation_whatever_is_accepted(owner: ApiClient, accept: str) -> None:
    answer = owner.get("/groups", HTTP_ACCEPT=accept)
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")


@each("count", [1001, 3500])
def test_however_many_parameters_a_query_has_it_is_read(owner: ApiClient, count: int) -> None:
    assert owner.get("/groups?" + "a&" * count).status_code == 200


def test_a_foreign_host_is_refused_before_anything_is_written(owner: ApiClient) -> None:
    answer = owner.post("/groups", bodies.group(), HTTP_HOST="evil.example")
    assert (answer.status_code, answer.json()["badFields"][0]["field"]) == (400, "Host")
    assert not Project.objects.filter(name=bodies.group()["name"]).exists()


@each("host", ["evil.example", "testserver.evil.example", "a b", "[::1", ""])
def test_a_foreign_host_is_refused_where_links_are_created(owner: ApiClient, host: str) -> None:
    answer = owner.get("", HTTP_HOST=host)
    assert answer.status_code == (200 if host == "" else 400)
    assert "evil" not in json.dumps(answer.json().get("links", ""))
