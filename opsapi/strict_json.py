"""JSON read strictly (decisions 1 "bodies"; findings "Parsing"). Pure.

The standard parser reads, because it can be made to see what others let pass: duplicate keys,
NaN and Infinity, numbers that overflow. NUL characters and lone surrogates, which PostgreSQL
cannot store, and documents nested too deeply are refused as well.
"""

import json
from collections.abc import Callable
from typing import Any, NoReturn

MAX_DEPTH = 64
_SURROGATES = range(0xD800, 0xE000)


def finite(text: str) -> float:
    """The number as a double.

    Raises:
        ValueError: it is too large for one.
    """
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {text[:50]} is too large")
    return number


def read_json(
    body: bytes | str,
    *,
    read_float: Callable[[str], Any] = finite,
    read_integer: Callable[[str], Any] = int,
) -> Any:
    """The value in the text; the two readers make the numbers, out of how they are written.

    Raises:
        ValueError: with what is wrong, fit for an answer.
    """
    try:
        document = json.loads(
            body.decode("utf-8") if isinstance(body, bytes) else body,
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_float=read_float,
            parse_int=read_integer,
        )
        _check_values(document)
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep") from None
    return document


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:50]!r} stands there twice")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check_values(document: Any) -> None:
    """Walk the document without recursion: depth, NUL characters, lone surrogates."""
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested more than {MAX_DEPTH} deep")
        below: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                below.extend(value.keys())
                below.extend(value.values())
            elif isinstance(value, list):
                below.extend(value)
            elif isinstance(value, str):
                _check_text(value)
        level = below


def _check_text(text: str) -> None:
    if text.isascii():
        if "\0" in text:
            raise ValueError("a text holds a NUL character")
    elif "\0" in text or any(ord(character) in _SURROGATES for character in text):
        raise ValueError("a text holds a NUL character or a lone surrogate")
