"""SCRAPER: a scraper of metrics, what it authenticates with, and where exporters listen (decisions 7, 8).

Nothing is sent to it: `integrations.authentication` and `integrations.discovery` answer it.
"""

from typing import Any

from rest_framework import serializers

from automation.addresses import read_address
from integrations.choices import IntegrationType, SecretKind
from integrations.types.base import IntegrationField, IntegrationKind
from opsapi.api.documents import invalid
from opsapi.api.fields import Flag, OneOf, Text

SHORTEST_PASSWORD = 12
DEFAULT_LISTEN_ADDRESS = "0.0.0.0:9216"


class BasicUsername(Text):
    """A user name of HTTP Basic, which ends at the first colon (RFC 7617 2)."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The name."""
        name = super().run_validation(data)
        if ":" in name:
            raise invalid("must not hold a colon")
        return name


class ListenAddress(Text):
    """`address:port`, kept as it came."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        """The address."""
        text = super().run_validation(data)
        if read_address(text) is None:
            raise invalid(f"must be an address and a port, such as {DEFAULT_LISTEN_ADDRESS}")
        return text


def exporter_port(listen_address: str) -> int:
    """The port of a checked listenAddress."""
    return int(listen_address.rpartition(":")[2])


SCRAPER = IntegrationKind(
    type=IntegrationType.SCRAPER,
    fields=(
        IntegrationField("username", BasicUsername(max_length=254)),
        IntegrationField("password", Text(min_length=SHORTEST_PASSWORD), SecretKind.SECRET),
        IntegrationField("scheme", OneOf(["http", "https"], required=False, default="http")),
        IntegrationField("serviceDiscovery", OneOf(["http"], required=False, default="http")),
        IntegrationField("enabled", Flag(required=False, default=True)),
        IntegrationField(
            "listenAddress", ListenAddress(max_length=300, required=False, default=DEFAULT_LISTEN_ADDRESS)
        ),
    ),
    example={
        "username": "scraper",
        "password": "a long enough passphrase",
        "scheme": "http",
        "serviceDiscovery": "http",
        "enabled": True,
        "listenAddress": DEFAULT_LISTEN_ADDRESS,
    },
)
