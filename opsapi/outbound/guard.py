"""Addresses that the platform can connect to: public addresses, and OPSAPI_OUTBOUND_ALLOW. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Not public, even if the tables of the interpreter say so.
_SPECIAL: Sequence[Network] = (
    IPv4Network("192.0.0.0/24"),  # Protocol assignments (RFC 6890), also a cloud's metadata service.
    IPv4Network("192.88.99.0/24"),  # 6to4 relays, deprecated (RFC 7526).
    IPv4Network("168.63.129.16/32"),  # The metadata service of a cloud, under a public address.
    IPv6Network("3fff::/20"),  # Documentation (RFC 9637).
)


class AddressVerdict(StrEnum):
    """The verdict of the guard on an address."""

    PUBLIC = "public"
    ALLOWED = "allowed by the settings"
    MULTICAST = "multicast"
    NOT_PUBLIC = "not public"


_PASSES = frozenset({AddressVerdict.PUBLIC, AddressVerdict.ALLOWED})


def unwrap(address: Address) -> Address:
    """Return the IPv4 address in an IPv4-mapped, NAT64 (RFC 6052) or 6to4 (RFC 3056) address; or itself."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def check_destination(address: Address, allow: Iterable[Network]) -> AddressVerdict:
    """Return whether the platform may connect to the address: global unicast, or in `allow`."""
    inner = unwrap(address)
    if any(address in network or inner in network for network in allow):
        return AddressVerdict.ALLOWED
    if inner.is_multicast:
        return AddressVerdict.MULTICAST
    return AddressVerdict.PUBLIC if _is_public(inner) else AddressVerdict.NOT_PUBLIC


def refused(addresses: Iterable[Address], allow: Sequence[Network]) -> Mapping[Address, AddressVerdict]:
    """Return the forbidden addresses with the reasons. A name with such an address is refused."""
    verdicts = {address: check_destination(address, allow) for address in addresses}
    return {address: verdict for address, verdict in verdicts.items() if verdict not in _PASSES}


def _is_public(address: Address) -> bool:
    if any(address in network for network in _SPECIAL):
        return False
    # `is_global` accepts site-local and IPv4-compatible addresses, but only 2000::/3 is assigned.
    return address.is_global and (isinstance(address, IPv4Address) or address in _GLOBAL_UNICAST)
