"""errors.md: the catalogue of errors, and the operations that can answer each error."""

from collections.abc import Mapping
from http import HTTPStatus
from itertools import groupby
from typing import Any

from drf_spectacular.drainage import GENERATOR_STATS

from opsapi.api.catalogue import CATALOGUE, ErrorCode
from opsapi.api.links import PUBLIC
from opsapi.api.schema import openapi_document
from tools.reference.markdown import code, table

_INTRODUCTION = """# Errors

A refused request gets an error document with `error` (the status), `reason`, `errorCode`, `detail` and
`parameters`. If fields or query parameters are wrong, `badFields` lists all of them
([order of checks](../decisions.md#order-of-checks)).

In this page, `…` is a parameter. Paths are below `/api/public/v1.0`, except the paths of agents and scrapers.
`GET /errorCodes` lists the codes and messages.
"""
_METHODS = ("get", "post", "put", "patch", "delete")
_MOST_PATHS = 5
_ANYWHERE = "any path"


def page() -> str:
    """The page, status by status."""
    operations = _operations()
    total = len({operation for found in operations.values() for operation in found})
    sections = [
        f"\n## {status} {HTTPStatus(status).phrase}\n\n"
        + table(
            ("code", "message", "operations"),
            ((code(each), _message(each), _where(operations[each], total)) for each in group),
        )
        for status, group in groupby(_by_status(), lambda each: CATALOGUE[each].status)
    ]
    return _INTRODUCTION + "".join(sections)


def _by_status() -> list[ErrorCode]:
    return sorted(CATALOGUE, key=lambda each: CATALOGUE[each].status)


def _message(each: ErrorCode) -> str:
    return CATALOGUE[each].message.format("…", "…")


def _operations() -> Mapping[ErrorCode, list[tuple[str, str]]]:
    """Code → the operations that declare it, as path and method."""
    with GENERATOR_STATS.silence():
        paths = openapi_document()["paths"]
    found: dict[ErrorCode, list[tuple[str, str]]] = {each: [] for each in ErrorCode}
    for path, operations in paths.items():
        for method in _METHODS:
            for each in _codes(operations.get(method, {})):
                found[each].append((path.removeprefix(PUBLIC) or "/", method.upper()))
    return found


def _codes(operation: Mapping[str, Any]) -> list[ErrorCode]:
    described = [response["description"].split(", ") for response in operation.get("responses", {}).values()]
    return [ErrorCode(word) for words in described for word in words if word in ErrorCode.__members__]


def _where(operations: list[tuple[str, str]], total: int) -> str:
    """The paths if they are few. An error that no operation declares can come from any path (405, 404)."""
    by_path = {
        path: [method for _, method in group]
        for path, group in groupby(operations, lambda operation: operation[0])
    }
    if not by_path:
        return _ANYWHERE
    if len(by_path) > _MOST_PATHS:
        return "every operation" if len(operations) == total else f"{len(operations)} of {total} operations"
    return "\n".join(f"{', '.join(methods)} {code(path)}" for path, methods in by_path.items())
