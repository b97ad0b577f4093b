"""Host addresses, parsed strictly into a single form. Pure."""

import re

from automation.reports import Address
from opsapi.hostnames import canonical_hostname

_PORT = re.compile(r"[1-9][0-9]{0,4}")
_HIGHEST_PORT = 65_535


def read_address(text: str) -> Address | None:
    """Parse `host:port`, with or without brackets around IPv6; None if the text is not an address."""
    name, _, port = text.rpartition(":")
    if name.startswith("[") and name.endswith("]") and ":" in name:
        name = name[1:-1]
    hostname = canonical_hostname(name)
    if hostname is None or not _PORT.fullmatch(port) or int(port) > _HIGHEST_PORT:
        return None
    return Address(hostname, int(port))
