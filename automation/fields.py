"""Fields of hosts, with the same rules for reports and the API."""

from typing import Any

from rest_framework import serializers

from automation.metrics import MEASURED_UNITS
from automation.units import Unit
from opsapi.api.documents import invalid
from opsapi.api.fields import OneOf, Text, Whole, path_name
from opsapi.hostnames import LONGEST_NAME, canonical_hostname


class Hostname(Text):
    """A host name (RFC 1123) or an IP address, in the stored form."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST_NAME, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The name."""
        name = canonical_hostname(super().run_validation(data))
        if name is None:
            raise invalid("must be a host name (RFC 1123) or an IP address")
        return name


class DatabaseName(Text):
    """A database name: anything that fits in a URL path."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=200, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The name."""
        return path_name(super().run_validation(data))


class MetricUnit(OneOf):
    """A unit of a measured value. Units that no metric uses are known and fit no metric."""

    def __init__(self, **options: Any) -> None:
        super().__init__([unit.value for unit in MEASURED_UNITS], **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The unit."""
        return data if isinstance(data, str) and data in list(Unit) else super().run_validation(data)


class Port(Whole):
    """A TCP port."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=65_535, **options)
