"""JSON of API responses, and of requests to webhooks and services. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

JsonObject = dict[str, Any]
"""A JSON object as it is sent."""

_INTEGERS = range(-(2**63), 2**64)  # orjson writes no others


def write_json(document: Any, *, pretty: bool = False) -> bytes:
    """Return the document as UTF-8 JSON.

    PostgreSQL stores the double 1e22 in jsonb as 10000000000000000000000, and returns an integer that orjson
    cannot write. Such integers are written as doubles again.

    Raises: TypeError: a value is not JSON.
    """
    options = orjson.OPT_INDENT_2 if pretty else 0
    try:
        return orjson.dumps(document, option=options)
    except TypeError:
        # Rare, so other documents do not pay for the conversion. Other faults raise the same error again.
        return orjson.dumps(_as_written(document), option=options)


def without_nulls(values: Mapping[str, Any] | Iterable[tuple[str, Any]]) -> JsonObject:
    """Return an object without the members that are None: the API leaves out absent values."""
    return {name: value for name, value in dict(values).items() if value is not None}


def _as_written(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_written(below) for name, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_written(below) for below in value]
    # Not `type(value)`: orjson also writes subclasses of int as integers.
    return _double(value) if isinstance(value, int) and value not in _INTEGERS else value


def _double(number: int) -> float | orjson.Fragment:
    try:
        return float(number)
    except OverflowError:
        return orjson.Fragment(str(number))
