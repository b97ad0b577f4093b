"""Cases that Schemathesis generates for each operation of the OpenAPI document, valid and invalid."""

import itertools
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import requests
from hypothesis import strategies as st

from opsapi.api.root import DOCUMENT
from opsapi.ids import ID_PATTERN
from tests.hostile.grammar import Attempt, Known
from tests.openapi import published

if TYPE_CHECKING:  # a process that tries no case need not read it: half a second
    from schemathesis import APIOperation, Case

    Operation = APIOperation[Any, Any, Any, Any]

PATHS: Mapping[str, Mapping[str, Any]] = published()["paths"]
NUMBER = sum(map(len, PATHS.values()))
"""Of operations."""

_BASE = "http://testserver"
_OF_THE_CLIENT = {"authorization", "content-length", "content-type", "connection", "host", "cookie"}


@cache
def schema() -> Any:
    """The document as Schemathesis reads it: by whoever tries something, not by each who collects tests."""
    import schemathesis.openapi  # noqa: PLC0415 - as above

    return schemathesis.openapi.from_dict(json.loads(DOCUMENT.read_bytes()))


@cache
def operations() -> "list[Operation]":
    """The operations of all paths."""
    return [cast(Any, result).ok() for result in schema().get_all_operations()]


def edges(operation: "Operation", number: int) -> Iterator["Case[Any]"]:
    """Up to so many cases at the bounds of what the operation takes, half of them beyond."""
    config = schema().config.generation_for(operation=operation, phase="coverage")
    for mode in _modes():
        cases = schema().iter_coverage_cases(operation, generation_modes=[mode], generation_config=config)
        yield from itertools.islice(cases, max(1, number // 2))


def drawn(operation: "Operation") -> "st.SearchStrategy[Case[Any]]":
    """Any cases of the operation, valid or not."""
    return st.one_of([operation.as_strategy(generation_mode=mode) for mode in _modes()])


def _modes() -> Iterable[Any]:
    """Valid, and not."""
    from schemathesis import GenerationMode  # noqa: PLC0415 - as above

    return GenerationMode


def attempt_of(case: "Case[Any]", known: Known) -> Attempt:
    """The request of a case; well-formed ids mean things that exist."""
    case.path_parameters = {
        name: _existing(name, value, known) for name, value in (case.path_parameters or {}).items()
    }
    sent = case.as_transport_kwargs(base_url=_BASE)
    names = ("method", "url", "params", "data", "json", "files")
    prepared = requests.Request(**{name: sent[name] for name in names if name in sent}).prepare()
    body = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body
    content_type = case.media_type or "application/json"
    return prepared.method or "", prepared.path_url, body, {"content_type": content_type, **_headers(case)}


def _existing(name: str, value: Any, known: Known) -> Any:
    well_formed = isinstance(value, str) and re.fullmatch(ID_PATTERN, value)
    return known.get(name, value) if well_formed else value


def _headers(case: "Case[Any]") -> dict[str, Any]:
    """The case's own headers as WSGI names them."""
    return {
        f"HTTP_{name.upper().replace('-', '_')}": str(value)
        for name, value in (case.headers or {}).items()
        if name.lower() not in _OF_THE_CLIENT
    }
