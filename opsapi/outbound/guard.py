"""Addresses that the platform can connect to: public addresses, and OPSAPI_OUTBOUND_ALLOW. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Not public, whatever the tables of the interpreter say.
_SPECIAL: Sequence[Network] = (
    IPv4Network("192.0.0.0/24"),  # protocol assignments (RFC 6890), a cloud's metadata among them
    IPv4Network("192.88.99.0/24"),  # relays into 6to4, given up (RFC 7526)
    IPv4Network("168.63.129.16/32"),  # a cloud's metadata under a public address
    IPv6Network("3fff::/20"),  # documentation (RFC 9637)
)


class AddressVerdict(StrEnum):
    """The verdict of the guard on an address."""

    PUBLIC = "public"
    ALLOWED = "allowed by the settings"
    MULTICAST = "multicast"
    NOT_PUBLIC = "not public"


_PASSES = frozenset({AddressVerdict.PUBLIC, AddressVerdict.ALLOWED})


def unwrap(address: Address) -> Address:
    """The IPv4 address in an IPv4-mapped, NAT64 (RFC 6052) or 6to4 (RFC 3056) form, otherwise the address."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def check_destination(address: Address, allow: Iterable[Network]) -> AddressVerdict:
    """Whether connections to the address are allowed: global unicast, or covered by `allow`."""
    inner = unwrap(address)
    if any(address in network or inner in network for network in allow):
        return AddressVerdict.ALLOWED
    if inner.is_multicast:
        return AddressVerdict.MULTICAST
    return AddressVerdict.PUBLIC if _is_public(inner) else AddressVerdict.NOT_PUBLIC


def refused(addresses: Iterable[Address], allow: Sequence[Network]) -> Mapping[Address, AddressVerdict]:
    """Forbidden addresses with reasons; a name with any of them is refused."""
    verdicts = {address: check_destination(address, allow) for address in addresses}
    return {address: verdict for address, verdict in verdicts.items() if verdict not in _PASSES}


def _is_public(address: Address) -> bool:
    if any(address in network for network in _SPECIAL):
        return False
    # `is_global` accepts site-local and IPv4-compatible addresses, but only 2000::/3 is assigned.
    return address.is_global and (isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST)
