"""Fields of the fleet's documents; reports and the API take hosts by the same rules (decisions 8 "hosts")."""

from typing import Any

from rest_framework import serializers

from opsapi.api.documents import invalid
from opsapi.api.fields import Text, Whole
from opsapi.hostnames import LONGEST_NAME, canonical_hostname

# Browsers and most clients do so even where the dots are percent-encoded.
_DOT_SEGMENTS = frozenset({".", ".."})


class Hostname(Text):
    """A name of RFC 1123, or an IP address, in the form it is kept in."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=LONGEST_NAME, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The name."""
        name = canonical_hostname(super().run_validation(data))
        if name is None:
            raise invalid("must be a host name (RFC 1123) or an IP address")
        return name


class DatabaseName(Text):
    """What a database is called: anything but what clients take out of a path (RFC 3986, 5.2.4)."""

    def __init__(self, **options: Any) -> None:
        super().__init__(max_length=200, **options)

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The name."""
        name = super().run_validation(data)
        if name in _DOT_SEGMENTS:
            raise invalid('must not be "." or "..": no URL can name it')
        return name


class Port(Whole):
    """A port of TCP."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=1, max_value=65_535, **options)
