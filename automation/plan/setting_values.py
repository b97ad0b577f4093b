"""The values of settings as texts that are equal if the server takes the values for equal. Pure.

A server reads 1 and 1.0 as the same number. It reads a parameter as a text: 1 and "1" are the same, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

PARAMETERS = "setParameter."
"""The names of server parameters begin with it, among the names of settings."""


def setting_value(name: str, value: Any) -> str:
    """The text of the value of the setting with this dotted name."""
    if name.startswith(PARAMETERS) and not isinstance(value, (Mapping, list, str)):
        value = _text(value)
    return _text(value)


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        members = ",".join(f"{json.dumps(str(name))}:{_text(value[name])}" for name in sorted(value))
        return f"{{{members}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, (float, Decimal)):
        return _number(Decimal(str(value)))
    if isinstance(value, int) and not isinstance(value, bool):
        return _number(Decimal(int(value)))
    return json.dumps(value)


def _number(number: Decimal) -> str:
    """Without zeros at the end, whatever the notation."""
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return f'"{number}"'  # Not a number, or infinite: no JSON number.
    text = "".join(map(str, digits)).lstrip("0")
    kept = text.rstrip("0")
    exponent += len(text) - len(kept)
    if not kept:
        return "0"
    return f"{'-' if sign else ''}{kept}{f'e{exponent}' if exponent else ''}"
