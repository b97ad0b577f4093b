"""The types of integrations: channels that need credentials, and scrapers."""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from automation.addresses import read_address
from integrations.channels import CHANNELS
from integrations.choices import SecretKind
from integrations.fields import Field, FieldSet
from opsapi.api.documents import invalid
from opsapi.api.fields import Flag, OneOf, Text

SHORTEST_PASSWORD = 12
DEFAULT_LISTEN_ADDRESS = "0.0.0.0:9216"


class BasicUsername(Text):
    """A username for HTTP Basic, which ends at the first colon (RFC 7617 2)."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        name = super().run_validation(data)
        if ":" in name:
            raise invalid("must not contain a colon")
        return name


class ListenAddress(Text):
    """`address:port`, kept as sent."""

    def run_validation(self, data: Any = serializers.empty) -> str:
        text = super().run_validation(data)
        if read_address(text) is None:
            raise invalid(f"must be an address and a port, such as {DEFAULT_LISTEN_ADDRESS}")
        return text


def exporter_port(listen_address: str) -> int:
    return int(listen_address.rpartition(":")[2])


SCRAPER = FieldSet(
    "SCRAPER",
    "Prometheus",
    fields=(
        Field("username", "Username", BasicUsername(max_length=254), example="scraper"),
        Field(
            "password",
            "Password",
            Text(min_length=SHORTEST_PASSWORD),
            example="a long enough passphrase",
            secret=SecretKind.SECRET,
        ),
        Field("scheme", "Scheme", OneOf(["http", "https"], required=False, default="http"), example="http"),
        Field(
            "serviceDiscovery",
            "Service discovery",
            OneOf(["http"], required=False, default="http"),
            example="http",
        ),
        Field("enabled", "Enabled", Flag(required=False, default=True), example=True),
        Field(
            "listenAddress",
            "Listen address",
            ListenAddress(max_length=300, required=False, default=DEFAULT_LISTEN_ADDRESS),
            example=DEFAULT_LISTEN_ADDRESS,
        ),
    ),
)


INTEGRATION_TYPES: Mapping[str, FieldSet] = {
    service.type: service
    for service in (*(channel for channel in CHANNELS.values() if not channel.has_address), SCRAPER)
}
