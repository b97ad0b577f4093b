"""Fields of hosts, with the same rules for reports and the API."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from automation.labels import (
    LONGEST_VALUE,
    MOST_LABELS,
    NAME_PATTERN,
    RESERVED_NAMES,
    name_fault,
    size_fault,
    value_fault,
)
from automation.metrics import MEASURED_UNITS
from automation.units import Unit
from opsapi.api.catalogue import ErrorCode
from opsapi.api.documents import InvalidField, invalid
from opsapi.api.errors import BadField
from opsapi.api.fields import OneOf, Text, Whole, WithExample, path_name
from opsapi.wire_json import UNKEPT_TEXT, is_kept


class DatabaseName(Text):
    """A database name: anything that fits in a URL path."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=200, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        return path_name(super().run_validation(data))


@extend_schema_field(
    {
        "type": "object",
        "maxProperties": MOST_LABELS,
        "propertyNames": {
            "pattern": f"^(?!__){NAME_PATTERN}$",
            "not": {"enum": sorted(RESERVED_NAMES)},
        },
        "additionalProperties": {"type": "string", "minLength": 1, "maxLength": LONGEST_VALUE},
    }
)
class Labels(WithExample, serializers.DictField):
    """Labels of hosts, value by name."""

    def run_validation(self, data: Any = serializers.empty) -> dict[str, str]:
        if not isinstance(data, Mapping):
            raise invalid("must be an object")
        if len(data) > MOST_LABELS:
            raise invalid(f"must have at most {MOST_LABELS} labels")
        if not all(map(is_kept, data)):
            raise invalid(f"its names {UNKEPT_TEXT}")
        bad = [
            BadField(name[:100] or '""', ErrorCode.INVALID_ATTRIBUTE, fault)
            for name, value in data.items()
            if (fault := _label_fault(name, value))
        ]
        if bad:
            raise InvalidField(*bad)
        if fault := size_fault(data):
            raise invalid(fault)
        return dict(data)


def _label_fault(name: str, value: Any) -> str | None:
    if fault := name_fault(name):
        return f"the name {fault}"
    return value_fault(value) if isinstance(value, str) else "must be a string"


class MetricUnit(OneOf):
    """A unit of a measured value. Units that no metric uses are known and fit no metric."""

    def __init__(self, **options: Any) -> None:
        super().__init__([unit.value for unit in MEASURED_UNITS], **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        return data if isinstance(data, str) and data in list(Unit) else super().run_validation(data)


class Port(Whole):
    """A TCP port."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=65_535, **options)
