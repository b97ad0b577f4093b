"""Compares the read-only fields of a request with the stored document, so that it can be written back. Pure.

Values are compared as JSON: in Python 0, 0.0 and false are equal.
"""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from opsapi import clock

_ARRAYS = (serializers.ListField, serializers.ListSerializer)


def is_empty_array(field: Any, sent: Any) -> bool:
    """Whether `[]` was sent for an array. It means the same as an absent field."""
    return isinstance(field, _ARRAYS) and sent == []


def is_unchanged(field: Any, sent: Any, stored: Any) -> bool:
    """Whether the sent value is the stored value.

    Date-times can have another notation of the same second. Only fields of fractional numbers accept 5.0 for
    5.
    """
    if isinstance(stored, Mapping):
        return _are_unchanged(field, sent, stored)
    if isinstance(stored, list):
        below = getattr(field, "child", None)
        is_as_long = isinstance(sent, list) and len(sent) == len(stored)
        return is_as_long and all(is_unchanged(below, *pair) for pair in zip(sent, stored, strict=True))
    if isinstance(field, serializers.DateTimeField):
        return _is_same_second(sent, stored)
    is_of_one_type = _json_type(field, sent) == _json_type(field, stored)
    return is_of_one_type and bool(sent == stored)


def _are_unchanged(field: Any, sent: Any, stored: Mapping[str, Any]) -> bool:
    fields = getattr(field, "fields", {})
    is_alike = isinstance(sent, Mapping) and sent.keys() == stored.keys()
    return is_alike and all(is_unchanged(fields.get(name), sent[name], stored[name]) for name in stored)


def _json_type(field: Any, value: Any) -> type:
    """Return the JSON type for the comparison: `true` is not a number, and 5.0 is not an integer."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int) and isinstance(field, serializers.FloatField):
        return float
    return next((kind for kind in (int, float, str) if isinstance(value, kind)), type(value))


def _is_same_second(sent: Any, stored: Any) -> bool:
    if not isinstance(sent, str) or not isinstance(stored, str):
        return bool(sent == stored)
    try:
        return clock.parse_time(sent) == clock.parse_time(stored)
    except ValueError:
        return False
