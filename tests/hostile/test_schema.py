"""The OpenAPI document, taken at its word and against it: cases Schemathesis makes of each operation.

The answers are held against the document by the client that sends them (`tests.client`).
"""

import itertools
import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

import pytest
import requests
import schemathesis.openapi
from hypothesis import given
from hypothesis import strategies as st
from schemathesis import APIOperation, Case, GenerationMode

from opsapi.api.bodies import render
from opsapi.api.schema import openapi_document
from opsapi.ids import ID_PATTERN
from tests.hostile.assailant import Assailant
from tests.hostile.budget import share, tries

COVERED, DRAWN = 200, 100
"""How many cases of each kind are sent over all operations."""

Operation = APIOperation[Any, Any, Any, Any]
PATHS: Mapping[str, Mapping[str, Any]] = openapi_document()["paths"]
NUMBER = sum(map(len, PATHS.values()))
"""Of operations."""

_BASE = "http://testserver"
_OF_THE_CLIENT = {"authorization", "content-length", "content-type", "connection", "host", "cookie"}
pytestmark = pytest.mark.django_db


@cache
def schema() -> Any:
    """The document as Schemathesis reads it: by whoever tries something, not by each who collects tests."""
    return schemathesis.openapi.from_dict(json.loads(render(openapi_document())))


@cache
def operations() -> list[Operation]:
    """Those of all paths."""
    return [cast(Any, result).ok() for result in schema().get_all_operations()]


def test_they_are_those_of_the_document() -> None:
    assert len(operations()) == NUMBER
    assert {one.path for one in operations()} == set(PATHS)


@pytest.mark.parametrize("path", PATHS)
def test_cases_made_of_the_schema_are_answered(assailant: Assailant, path: str) -> None:
    for operation in (one for one in operations() if one.path == path):
        _send_edges(assailant, operation)
        _send_drawn(assailant, operation)


def _send_edges(assailant: Assailant, operation: Operation) -> None:
    config = schema().config.generation_for(operation=operation, phase="coverage")
    for mode in GenerationMode:
        cases = schema().iter_coverage_cases(operation, generation_modes=[mode], generation_config=config)
        for case in itertools.islice(cases, share(COVERED, 2 * NUMBER)):
            send(assailant, case)


def _send_drawn(assailant: Assailant, operation: Operation) -> None:
    cases = st.one_of([operation.as_strategy(generation_mode=mode) for mode in GenerationMode])

    @tries(max(1, DRAWN // NUMBER))
    @given(case=cases)
    def draw(case: Case[Any]) -> None:
        send(assailant, case)

    draw()


def send(assailant: Assailant, case: Case[Any]) -> Any:
    """The answer to a case; well-formed ids stand for things that exist."""
    case.path_parameters = {
        name: _existing(name, value, assailant.known) for name, value in (case.path_parameters or {}).items()
    }
    sent = case.as_transport_kwargs(base_url=_BASE)
    names = ("method", "url", "params", "data", "json", "files")
    prepared = requests.Request(**{name: sent[name] for name in names if name in sent}).prepare()
    body = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body
    content_type = case.media_type or "application/json"
    return assailant.attempt(
        prepared.method or "", prepared.path_url, body, content_type=content_type, **_headers(case)
    )


def _existing(name: str, value: Any, known: Mapping[str, str]) -> Any:
    well_formed = isinstance(value, str) and re.fullmatch(ID_PATTERN, value)
    return known.get(name, value) if well_formed else value


def _headers(case: Case[Any]) -> dict[str, Any]:
    """The case's own headers as WSGI names them."""
    return {
        f"HTTP_{name.upper().replace('-', '_')}": str(value)
        for name, value in (case.headers or {}).items()
        if name.lower() not in _OF_THE_CLIENT
    }
