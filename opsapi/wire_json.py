"""JSON as it is sent, in answers and to webhooks and services. Pure."""

from typing import Any

import orjson

JsonObject = dict[str, Any]
"""A JSON object, as it is sent."""

_INTEGERS = range(-(2**63), 2**64)  # what the writer takes


def write_json(document: Any, *, pretty: bool = False) -> bytes:
    """A document as UTF-8 JSON.

    PostgreSQL keeps the double 1e22 in jsonb as 10000000000000000000000 and hands it back as an integer,
    longer than the writer takes: such a one is written as the double it came as.

    Raises:
        TypeError: it holds what is no JSON.
    """
    options = orjson.OPT_INDENT_2 if pretty else 0
    try:
        return orjson.dumps(document, option=options)
    except TypeError:
        # Rare, so that nobody else pays for the walk. What has another fault is refused here again.
        return orjson.dumps(_as_written(document), option=options)


def _as_written(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_written(below) for name, below in value.items()}
    if isinstance(value, (list, tuple)):
        return [_as_written(below) for below in value]
    # Not by `type`: what counts as an integer is for the writer to say.
    return _double(value) if isinstance(value, int) and value not in _INTEGERS else value


def _double(number: int) -> float | orjson.Fragment:
    try:
        return float(number)
    except OverflowError:
        return orjson.Fragment(str(number))
