"""Converts the text of an input into a JSON value, and back.

Text that cannot be converted stays text, so that the API reports the fault.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from alerting.config_form.inputs import Input, InputKind
from alerting.config_form.rows import TICKED
from opsapi.console.forms import CLEAR

_EXACT = 1e15  # Smaller doubles are written without an exponent.
_WHOLE = re.compile(r"[+-]?[0-9]{1,20}")
_NUMBER = re.compile(r"[+-]?([0-9]{1,400}(\.[0-9]{0,400})?|\.[0-9]{1,400})([eE][+-]?[0-9]{1,4})?")


def value_of(
    declared: Input, typed: Mapping[str, Sequence[str]], before: Mapping[str, Any] | None = None
) -> Any:
    """The value of an input, None for nothing; `before` is the stored value, None for a new one."""
    texts = typed.get(declared.name, ())
    text = texts[0] if texts else ""
    stored = None if before is None else before.get(declared.name)
    match declared.kind:
        case InputKind.FLAG:
            # A value that was never set is not set by an untouched checkbox.
            left_alone = before is not None and stored is None
            return bool(text) or (None if left_alone else False)
        case InputKind.SECRET:
            return text or (None if typed.get(declared.name + CLEAR) else stored)
        case InputKind.CHOICES:
            return _in_order([text for text in texts if text], stored)
        case _:
            return _READ[declared.kind](text)


def texts_of(declared: Input, value: Any) -> list[str]:
    """The form value of a stored value; empty for a secret."""
    if value is None or declared.kind is InputKind.SECRET:
        return []
    match declared.kind:
        case InputKind.FLAG:
            return [TICKED] if value else []
        case InputKind.CHOICES:
            return list(value)
        case InputKind.LINES:
            return ["\n".join(value)]
        case InputKind.NUMBER:
            return [number_text(value)]
        case _:
            return [str(value)]


def number_text(value: float) -> str:
    """A number as people write it: 1000, not 1000.0, with all significant digits."""
    return str(int(value)) if abs(value) < _EXACT and value == int(value) else repr(value)


def _in_order(chosen: Sequence[str], stored: Sequence[str] | None) -> list[str] | None:
    """The selected values in stored order, then new ones, because the page has its own order."""
    kept = [value for value in stored or () if value in chosen]
    return kept + [value for value in chosen if value not in kept] or None


def _whole(text: str) -> int | str | None:
    stripped = text.strip()
    return int(stripped) if _WHOLE.fullmatch(stripped) else stripped or None


def _number(text: str) -> float | str | None:
    stripped = text.strip()
    number = float(stripped) if _NUMBER.fullmatch(stripped) else math.inf
    return number if math.isfinite(number) else stripped or None


def _lines(text: str) -> list[str] | None:
    return [line for line in text.replace("\r\n", "\n").split("\n") if line] or None


_READ: Mapping[InputKind, Callable[[str], Any]] = {
    InputKind.TEXT: lambda text: text or None,
    InputKind.CHOICE: lambda text: text or None,
    InputKind.LINES: _lines,
    InputKind.WHOLE: _whole,
    InputKind.NUMBER: _number,
}
