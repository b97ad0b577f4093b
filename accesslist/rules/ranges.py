"""Ranges of addresses as people write them, read into canonical CIDR. Pure."""

import re
from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network

MAX_LENGTH = 50
"""No range needs more characters."""

_FORM = re.compile(r"[0-9A-Fa-f:.]+(/\d{1,3})?", re.ASCII)
_FAULT = "must be an address or a range in CIDR notation"
_MAPPED_BITS = 96


def read_range(text: str) -> str:
    """The canonical form of a range in CIDR notation; a bare address is a range of one.

    Callers' IPv4-mapped addresses are taken for IPv4, so a range of such stands for the IPv4 one.

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
    """The canonical form of an address, as `read_range`.

    Raises:
        ValueError: with the reason.
    """
    address = None if "/" in text else only_address(read_range(text))
    if address is None:
        raise ValueError("must be an address, without a prefix length")
    return address


def is_within(block: str, wider: str) -> bool:
    """Whether the one canonical range is all of it in the other."""
    inner, outer = ip_network(block), ip_network(wider)
    if isinstance(inner, IPv4Network):
        return isinstance(outer, IPv4Network) and inner.subnet_of(outer)
    return isinstance(outer, IPv6Network) and inner.subnet_of(outer)


def covers(blocks: Iterable[str], address: str | None) -> bool:
    """Whether the address is in one of the canonical ranges; one that is not known is in none."""
    return address is not None and any(ip_address(address) in ip_network(block) for block in blocks)


def only_address(cidr_block: str) -> str | None:
    """The address of a range of one; None of a wider one."""
    network = ip_network(cidr_block)
    return str(network.network_address) if network.num_addresses == 1 else None


def _unmapped(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    if mapped is None or network.prefixlen < _MAPPED_BITS:
        return network
    return IPv4Network((mapped, network.prefixlen - _MAPPED_BITS))
