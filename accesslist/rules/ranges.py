"""Ranges of addresses as people write them, read into canonical CIDR. Pure."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network

MAX_LENGTH = 50
"""The maximum number of characters of a range."""

_FORM = re.compile(r"[0-9A-Fa-f:.]+(/\d{1,3})?", re.ASCII)
_FAULT = "must be an address or a range in CIDR notation"
_MAPPED_BITS = 96


def read_range(text: str) -> str:
    """Return the canonical form of a range in CIDR notation, or of an address as a range.

    IPv4-mapped IPv6 ranges become IPv4 ranges, as the addresses of callers do.

    Raises:
        ValueError: with the reason.
    """
    if len(text) > MAX_LENGTH or not _FORM.fullmatch(text):
        raise ValueError(_FAULT)
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise ValueError(_FAULT) from None
    if ip_interface(text).ip != network.network_address:
        raise ValueError(f"must have no host bits set: {network} is the range around it")
    return str(_unmapped(network))


def read_address(text: str) -> str:
    """Return the canonical form of an address, as `read_range`.

    Raises:
        ValueError: with the reason.
    """
    address = None if "/" in text else only_address(read_range(text))
    if address is None:
        raise ValueError("must be an address, without a prefix length")
    return address


def is_within(block: str, wider: str) -> bool:
    """Whether the canonical range `block` is completely within `wider`."""
    inner, outer = ip_network(block), ip_network(wider)
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def covers(blocks: Iterable[str], address: str | None) -> bool:
    """Whether the address is in any of the canonical ranges; an unknown address (None) is not."""
    return address is not None and any(ip_address(address) in ip_network(block) for block in blocks)


def only_address(cidr_block: str) -> str | None:
    """Return the address of a range that contains only one; None for a wider range."""
    network = ip_network(cidr_block)
    return str(network.network_address) if network.num_addresses == 1 else None


def _unmapped(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen < _MAPPED_BITS:
        return network
    return IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))
