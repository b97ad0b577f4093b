"""JSON read strictly. Pure.

It uses the standard parser, which can refuse what others accept: duplicate keys, NaN and Infinity. While
that parser builds values it holds the interpreter, and the values may take fifty times the size of the
body. A body that is nested too deeply or has too many values is therefore refused by its bytes, before
anything is built. Text with NUL characters or lone surrogates and numbers beyond a double are JSON and
cannot be stored. They are passed on, so that the fields refuse them by name.
"""

import json
import re
from collections.abc import Callable
from itertools import accumulate, chain
from typing import Any, Final, NoReturn

MAX_DEPTH = 64
MAX_MARKS = 2_000_000
"""The maximum number of commas and brackets of a body, strings included; a body has no more values."""
UNKEPT_TEXT: Final = "must not contain NUL characters or lone surrogates"
"""What is wrong with a text that `is_kept` denies."""

_UNKEPT = re.compile(r"[\x00\ud800-\udfff]")
_NO_BRACKETS = bytes(set(range(256)) - set(b'[]{}"'))
_STEPS: Final = [{"[": 1, "{": 1, "]": -1, "}": -1}.get(chr(byte), 0) for byte in range(256)]
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
    Bytes come from outside and are held to MAX_DEPTH and MAX_MARKS; a text was when it came.

    Raises:
        ValueError: with what is wrong, fit for an answer.
    """
    if isinstance(body, bytes):
        _check_structure(body)
    try:
        return json.loads(
            _text(body),
            object_pairs_hook=_unique_keys,
            parse_constant=_no_constant,
            parse_float=read_float,
            parse_int=read_integer,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"invalid JSON at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep") from None


def _text(body: bytes | str) -> str:
    try:
        text = body.decode("utf-8") if isinstance(body, bytes) else body
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    if text.startswith("\ufeff"):
        raise ValueError("it must be UTF-8 without a byte order mark")
    return text


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:50]!r} is given twice")
        found[name] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _check_structure(body: bytes) -> None:
    """Refuse a body by its brackets and commas; whether they fit together is for the parser to say."""
    brackets = sum(map(body.count, (b"[", b"]", b"{", b"}")))
    if brackets + body.count(b",") > MAX_MARKS:
        raise ValueError(f"it has more than {MAX_MARKS} commas and brackets")
    if brackets > MAX_DEPTH and _depth(body) > MAX_DEPTH:
        raise ValueError(f"it is nested more than {MAX_DEPTH} deep")


def _depth(body: bytes) -> int:
    """The depth of nested brackets, without brackets in strings."""
    # Without escapes each quote begins or ends a string; what has nothing of interest in it goes at once.
    quotes = body.replace(b"\\\\", b"").replace(b'\\"', b"")
    parts = quotes.translate(None, _NO_BRACKETS).replace(b'""', b"").split(b'"')
    return max(accumulate(map(_STEPS.__getitem__, chain.from_iterable(parts[::2]))), default=0)
