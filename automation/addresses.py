"""Host addresses, parsed strictly into a single form. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from opsapi.hostnames import canonical_hostname, host_and_port

_PORT = re.compile(r"[1-9][0-9]{0,4}")
_HIGHEST_PORT = 65_535


@dataclass(frozen=True)
class Address:
    """hostname:port; host names are case-insensitive."""

    hostname: str
    port: int

    @property
    def key(self) -> tuple[str, int]:
        """The identity of an address."""
        return self.hostname.lower(), self.port

    def __str__(self) -> str:
        """`hostname:port`, IPv6 in brackets."""
        return host_and_port(self.hostname, self.port)


def read_address(text: str) -> Address | None:
    """Parse `host:port`, with or without brackets around IPv6; None if the text is not an address."""
    name, _, port = text.rpartition(":")
    if name.startswith("[") and name.endswith("]") and ":" in name:
        name = name[1:-1]
    hostname = canonical_hostname(name)
    if hostname is None or not _PORT.fullmatch(port) or int(port) > _HIGHEST_PORT:
        return None
    return Address(hostname, int(port))
