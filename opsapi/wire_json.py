"""JSON of the API: requests, read strictly; responses, and requests to webhooks and services. Pure.

The standard parser can refuse what other parsers accept: duplicate keys, NaN and Infinity. While it builds
values, it blocks all threads of the process, and the values may take fifty times the size of the body. A body
with too much nesting or too many values is therefore refused by its bytes, before values are built.

Text with NUL characters or lone surrogates, and numbers beyond a double, are JSON but cannot be stored. They
are passed on, so that the fields refuse them by name.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from itertools import accumulate, chain
from typing import Any, Final, NoReturn

import orjson

MAX_DEPTH = 64
MAX_MARKS = 2_000_000
"""The maximum number of commas and brackets of a body, including strings. It limits the number of values."""
UNKEPT_TEXT: Final = "must not contain NUL characters or lone surrogates"
"""The fault of a text for which `is_kept` is false."""

SEVERAL_LINES_TEXT: Final = "must not contain control characters"
"""The fault of a text for which `is_single_line` is false."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_UNKEPT = re.compile(r"[\x00\ud800-\udfff]")
_NO_MARKS = bytes(set(range(256)) - set(b"[]{},"))
_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS: Final = [{"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(byte), 0) for byte in range(256)]
_DIGITS_AS_ZERO = bytes(ord("0") if chr(byte).isdecimal() and byte < 128 else byte for byte in range(256))
_MOST_DIGITS = 400  # Reading costs the square of the length; a double has at most 309 digits.
_BEYOND_DOUBLE: int = 10**_MOST_DIGITS


def is_kept(text: str) -> bool:
    """Whether PostgreSQL can store the text and a response can contain it."""
    return not _UNKEPT.search(text)


def is_single_line(text: str) -> bool:
    """Whether the text has no control characters."""
    return not _CONTROL.search(text)


def bounded_integer(text: str) -> int:
    """Return the integer. A number of more than 400 characters becomes another integer beyond a double."""
    if len(text) <= _MOST_DIGITS:
        return int(text)
    return -_BEYOND_DOUBLE if text.startswith("-") else _BEYOND_DOUBLE


def read_json(
    body: bytes | str,
    *,
    read_float: Callable[[str], Any] | None = None,
    read_integer: Callable[[str], Any] | None = None,
) -> Any:
    """Return the value in the text. The two readers convert numbers from their notation.

    Without them, the parser returns infinity or an integer for numbers beyond a double. Bytes come from
    clients and are limited to MAX_DEPTH and MAX_MARKS; a text was checked when it was stored.

    Raises: ValueError: the fault, as a text for clients.
    """
    if isinstance(body, bytes):
        _check_structure(body)
        if read_float is None and read_integer is None:
            with suppress(ValueError):
                return _read_plain(body)
    try:
        return json.loads(
            _text(body),
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_float=read_float or float,
            parse_int=read_integer or bounded_integer,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep") from None


def _read_plain(body: bytes) -> Any:
    """Return the value, as the standard parser does, in half of its time, which blocks other threads less.

    orjson accepts duplicate keys, and converts integers of more than 64 bits to doubles. A repeated key is
    lost with its comma, so the value has fewer marks than the body. Escapes could hide marks. A double of at
    least 1e16 can come from such an integer.

    Raises: ValueError: the value may differ, or the body is not JSON; the standard parser decides.
    """
    value = orjson.loads(body)
    written = orjson.dumps(value)
    if b"\\" in body or _marks(written) != _marks(body) or b"0e+" in written.translate(_DIGITS_AS_ZERO):
        raise ValueError
    return value


def _text(body: bytes | str) -> str:
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise ValueError("it must be UTF-8 without a byte order mark")
    return text


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) < len(pairs):
        raise ValueError(f"the key {_first_repeated(pairs)[:50]!r} is given twice")
    return document


def _first_repeated(pairs: list[tuple[str, Any]]) -> str:
    first: dict[str, int] = {}
    return next(name for place, (name, _) in enumerate(pairs) if first.setdefault(name, place) < place)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check_structure(body: bytes) -> None:
    """Refuse a body by its brackets and commas; the parser checks whether they match."""
    marks = _marks(body)
    if len(marks) > MAX_MARKS:
        raise ValueError(f"it has more than {MAX_MARKS} commas and brackets")
    if len(marks) - marks.count(b",") > MAX_DEPTH and _depth(body) > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")


def _marks(body: bytes) -> bytes:
    """Return the commas and brackets, in a single pass: this takes less time than counting each of them."""
    return body.translate(None, _NO_MARKS)


def _depth(body: bytes) -> int:
    """Return the depth of nested brackets, without brackets in strings."""
    # Without escapes, each quote begins or ends a string. Strings without brackets are removed at once.
    quotes = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    parts = quotes.translate(None, _NO_BRACKETS).replace(b'""', b"").split(b'"')
    return max(accumulate(map(_STEPS.__getitem__, chain.from_iterable(parts[::2]))), default=0)


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
