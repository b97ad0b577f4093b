"""The OpenAPI document: valid, current, of every route; and that the tests' check of answers bites."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.http import HttpResponse

from opsapi.api.bodies import render
from opsapi.api.schema import openapi_document
from tests.api.routes import ROUTES
from tests.client import ApiClient
from tests.each import each
from tests.openapi import check_answer

GROUPS = "/api/public/v1.0/groups"
LINK = {"href": "http://testserver/x", "rel": "self"}
GROUP = {
    "id": "a" * 24,
    "name": "payments",
    "orgId": "b" * 24,
    "tags": [],
    "created": "2026-11-21T07:26:14Z",
    "hostCount": 0,
    "links": [LINK],
}
CODE = "GROUP_ALREADY_EXISTS"
REFUSAL = {"error": 409, "reason": "Conflict", "errorCode": CODE, "detail": "x", "parameters": []}


def answer(document: Any, status: int = 200) -> HttpResponse:
    """An answer of the API."""
    return ParsedResponse(render(document), status=status, content_type="application/json")


class ParsedResponse(HttpResponse):
    """What the test client hands out."""

    def json(self) -> Any:
        """The document."""
        return json.loads(self.content)


@pytest.mark.slow
def test_the_document_is_served(stranger: ApiClient) -> None:
    assert stranger.http.get("/api/schema/").json() == openapi_document()


def test_the_document_has_exactly_the_routes_there_are() -> None:
    described = {
        f"{method.upper()} {path}"
        for path, operations in openapi_document()["paths"].items()
        for method in operations
    }
    routes = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", str(route)) for route in ROUTES}
    assert described == routes


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [
        operation["operationId"]
        for operations in openapi_document()["paths"].values()
        for operation in operations.values()
    ]
    assert len(set(names)) == len(names)


@each(
    ("method", "document", "status"),
    [
        ("POST", GROUP, 201),
        ("POST", {"status": 201, "content": GROUP}, 201),
        ("POST", REFUSAL, 409),
        ("PUT", {**REFUSAL, "error": 405}, 405),
        ("GET", {"results": [GROUP], "links": [LINK], "totalCount": 1}, 200),
        ("GET", {"status": 200, "results": [GROUP], "links": []}, 200),
    ],
)
def test_an_answer_as_promised_passes(method: str, document: Mapping[str, Any], status: int) -> None:
    check_answer(method, f"{GROUPS}/?pretty=true", answer(document, status))


@each(
    ("method", "document", "status"),
    [
        ("POST", GROUP, 200),
        ("POST", {**GROUP, "more": 1}, 201),
        ("POST", {**GROUP, "hostCount": 0.5}, 201),
        ("POST", {**GROUP, "tags": None}, 201),
        ("POST", {**GROUP, "created": "2026-11-21T07:26:14.123Z"}, 201),
        ("POST", {name: value for name, value in GROUP.items() if name != "id"}, 201),
        ("POST", {"error": 409}, 409),
        ("POST", {"error": 409, "errorCode": CODE}, 409),
        ("POST", {**REFUSAL, "errorCode": "USER_ALREADY_EXISTS"}, 409),
        ("POST", {**REFUSAL, "error": 418}, 418),
        ("POST", {**REFUSAL, "badFields": [{"field": "x"}]}, 409),
        ("GET", REFUSAL, 409),
        ("POST", {"status": 201, "content": {**GROUP, "more": 1}}, 201),
        ("POST", {"status": "201", "content": GROUP}, 201),
        ("POST", {"content": GROUP}, 201),
        ("POST", {"status": 409, "content": GROUP}, 409),
        ("GET", {"results": [{**GROUP, "links": [{"href": 1}]}], "links": [LINK]}, 200),
        ("GET", {"status": 200, "content": {"results": [GROUP], "links": []}}, 200),
        ("DELETE", GROUP, 204),
    ],
)
def test_any_other_answer_is_noticed(method: str, document: Mapping[str, Any], status: int) -> None:
    with pytest.raises(AssertionError, match=method):
        check_answer(method, GROUPS, answer(document, status))
