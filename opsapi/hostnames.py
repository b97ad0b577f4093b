"""Host names, parsed strictly into a single form. Pure."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

LONGEST_NAME = 253
"""Maximum characters of a host name (RFC 1035 2.3.4)."""

_LABEL = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?")


def canonical_hostname(text: str) -> str | None:
    """The name of RFC 1123 or the IP address in the one form it is kept in; None when it is neither.

    IPv6 is written as RFC 5952 says, without a zone, and IPv4 in it as IPv4; a dot at the end of a
    name is left out. Dotted numbers are an IP address or nothing (RFC 1123 2.1).
    """
    try:
        address = ip_address(text)
    except ValueError:
        return _canonical_name(text)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


def _canonical_name(text: str) -> str | None:
    name = text.removesuffix(".")
    labels = name.split(".")
    is_name = len(name) <= LONGEST_NAME and all(_LABEL.fullmatch(label) for label in labels)
    is_numbers = len(labels) > 1 and all(label.isdigit() for label in labels)
    return name if is_name and not is_numbers else None
