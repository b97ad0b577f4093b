"""Host addresses, in the form that the platform stores. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from opsapi.hostnames import canonical_hostname, host_and_port

_PORT = re.compile(r"[0-9]{1,5}")
_HIGHEST_PORT = 65_535


class ServerAddress(NamedTuple):
    """A lower-case host name or IP address, and a port."""

    hostname: str
    port: int

    def __str__(self) -> str:
        """`hostname:port`, IPv6 in brackets."""
        return host_and_port(self.hostname, self.port)


def address_of(hostname: str, port: int) -> ServerAddress | None:
    """The address; None if the platform does not accept the name or port."""
    name = canonical_hostname(hostname)
    return ServerAddress(name.lower(), port) if name and 0 < port <= _HIGHEST_PORT else None


def read_address(text: str, default_port: int) -> ServerAddress | None:
    """Parse `host`, `host:port` or `[ipv6]:port`; None if the platform does not accept it."""
    if text.startswith("["):
        hostname, _, port = text[1:].partition("]:") if "]:" in text else (text[1:-1], "", "")
        if text.count("]") != 1 or (not port and not text.endswith("]")):
            return None
    elif text.count(":") > 1 and canonical_hostname(text):
        hostname, port = text, ""
    else:
        hostname, _, port = text.rpartition(":") if ":" in text else (text, "", "")
    if port and not _PORT.fullmatch(port):
        return None
    return address_of(hostname, int(port or default_port))
