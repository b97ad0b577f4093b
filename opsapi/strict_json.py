"""JSON read strictly (decisions 1 "bodies"; findings "Parsing"). Pure.

The standard parser reads, because it can be made to see what others let pass: duplicate keys, NaN and
Infinity. Documents nested too deeply are refused as well. What is JSON and still cannot be kept, texts
with NUL characters or lone surrogates and numbers beyond a double, is handed on for the fields to
refuse, by their names.
"""

import json
import re
from collections.abc import Callable
from typing import Any, Final, NoReturn

MAX_DEPTH = 64
UNKEPT_TEXT: Final = "must not hold NUL characters or lone surrogates"
"""What is wrong with a text that `is_kept` denies."""

_UNKEPT = re.compile(r"[\x00\ud800-\udfff]")
_MOST_DIGITS = 400  # reading costs the square of the length; a double ends at 309 digits
_BEYOND_DOUBLE: int = 10**_MOST_DIGITS


def is_kept(text: str) -> bool:
    """Whether PostgreSQL can store the text and an answer can show it."""
    return not _UNKEPT.search(text)


def bounded_integer(text: str) -> int:
    """The integer; of more than 400 characters some other one, as far beyond what a double holds."""
    if len(text) <= _MOST_DIGITS:
        return int(text)
    return -_BEYOND_DOUBLE if text.startswith("-") else _BEYOND_DOUBLE


def read_json(
    body: bytes | str,
    *,
    read_float: Callable[[str], Any] = float,
    read_integer: Callable[[str], Any] = bounded_integer,
) -> Any:
    """The value in the text; the two readers make the numbers, out of how they are written.

    Left alone they read what no double holds as infinite, or as some integer that none holds either.

    Raises:
        ValueError: with what is wrong, fit for an answer.
    """
    try:
        document = json.loads(
            _text(body),
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_float=read_float,
            parse_int=read_integer,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"it is no JSON from line {error.lineno}, column {error.colno} on") from None
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep") from None
    _check_depth(document)
    return document


def _text(body: bytes | str) -> str:
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise ValueError("it has to be UTF-8 without a byte order mark")
    return text


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:50]!r} stands there twice")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check_depth(document: Any) -> None:
    """Walk the document without recursion."""
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
        level = below
