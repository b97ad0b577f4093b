"""Whether the read-only fields of a document that was sent say what is stored. Pure.

Values are compared as JSON has them: for Python's own comparison 0, 0.0 and false are equal.
"""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from opsapi import clock

_ARRAYS = (serializers.ListField, serializers.ListSerializer)


def is_empty_array(field: Any, sent: Any) -> bool:
    """Whether `[]` was sent for an array: as good as left out, where nothing is stored."""
    return isinstance(field, _ARRAYS) and sent == []


def says(field: Any, sent: Any, stored: Any) -> bool:
    """Whether the value sent for the field is the stored one, as answers show it.

    A date-time may be written otherwise, as long as it is the same second. Only a field of numbers
    with fractions takes 5.0 for 5.
    """
    if isinstance(stored, Mapping):
        return _says_each(field, sent, stored)
    if isinstance(stored, list):
        below = getattr(field, "child", None)
        is_as_long = isinstance(sent, list) and len(sent) == len(stored)
        return is_as_long and all(says(below, *pair) for pair in zip(sent, stored, strict=True))
    if isinstance(field, serializers.DateTimeField):
        return _is_same_second(sent, stored)
    is_of_one_type = _json_type(field, sent) == _json_type(field, stored)
    return is_of_one_type and bool(sent == stored)


def _says_each(field: Any, sent: Any, stored: Mapping[str, Any]) -> bool:
    fields = getattr(field, "fields", {})
    is_alike = isinstance(sent, Mapping) and sent.keys() == stored.keys()
    return is_alike and all(says(fields.get(name), sent[name], stored[name]) for name in stored)


def _json_type(field: Any, value: Any) -> type:
    """By which values differ: `true` is no number, and 5.0 no integer."""
    if isinstance(value, bool):
        return bool
    if isinstance(value, int) and isinstance(field, serializers.FloatField):
        return float
    return next((one for one in (int, float, str) if isinstance(value, one)), type(value))


def _is_same_second(sent: Any, stored: Any) -> bool:
    if not isinstance(sent, str) or not isinstance(stored, str):
        return bool(sent == stored)
    try:
        return clock.parse_time(sent) == clock.parse_time(stored)
    except ValueError:
        return False
