"""Host names in their canonical form, and the notation of host and port. Pure."""

from __future__ import annotations

import re
from ipaddress import IPv6Address, ip_address

LONGEST_NAME = 253
"""Maximum characters of a host name (RFC 1035 2.3.4)."""

_LABEL = r"(?!-)[A-Za-z0-9-]{1,63}(?<!-)"
_NAME = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")

_WITH_PORT = re.compile(r"(?:\[([^\[\]]+)\]|([^:]+)):([0-9]{1,5})", re.ASCII)


def canonical_hostname(text: str) -> str | None:
    """Return the canonical form of a host name (RFC 1123) or an IP address; None if it is neither.

    IPv6 addresses have the form of RFC 5952 and no zone. IPv4-mapped addresses become IPv4. A dot at the end
    of a name is removed. Dotted numbers that are not an IP address are not a name (RFC 1123 2.1).
    """
    # No other text is an address, and `ip_address` takes longer to refuse a name.
    if ":" not in text and not text.replace(".", "").isdigit():
        return _canonical_name(text)
    try:
        address = ip_address(text)
    except ValueError:
        return _canonical_name(text)
    if isinstance(address, IPv6Address) and address.scope_id is not None:
        return None
    return str(getattr(address, "ipv4_mapped", None) or address)


def ascii_name(name: str) -> str:
    """Return the ASCII form of an internationalized name (IDNA), as in DNS; the same text if it has none."""
    try:
        return name.encode("idna").decode()
    except UnicodeError:
        return name


def _canonical_name(text: str) -> str | None:
    name = text.removesuffix(".")
    if len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        return None
    is_numbers = "." in name and name.replace(".", "").isdigit()
    return None if is_numbers else name


def name_and_port(text: str) -> tuple[str, int | None]:
    """Split `hostname:port`, with an IPv6 address in brackets; without a port, the whole text is the name."""
    match = _WITH_PORT.fullmatch(text)
    return (match[1] or match[2], int(match[3])) if match else (text, None)


def host_and_port(hostname: str, port: int | None = None) -> str:
    """Return `hostname:port`, with an IPv6 address in brackets (RFC 3986); without a port, only the name."""
    if port is None:
        return hostname
    return f"[{hostname}]:{port}" if ":" in hostname else f"{hostname}:{port}"


def is_unspecified(host: str) -> bool:
    """Whether the host is the address of all addresses of the machine: 0.0.0.0 or ::."""
    try:
        return ip_address(host).is_unspecified
    except ValueError:
        return False
