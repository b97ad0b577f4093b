"""Addresses that the platform can connect to: public ones, and OPSAPI_OUTBOUND_ALLOW; resolves names."""

import socket
import threading
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NAT64 = IPv6Network("64:ff9b::/96")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Not public, even if the tables of the interpreter say so.
_SPECIAL: Sequence[Network] = (
    IPv4Network("192.0.0.0/24"),  # Protocol assignments (RFC 6890), also a cloud's metadata service.
    IPv4Network("192.88.99.0/24"),  # 6to4 relays, deprecated (RFC 7526).
    IPv4Network("168.63.129.16/32"),  # The metadata service of a cloud, under a public address.
    IPv6Network("2001::/23"),  # Protocol assignments (RFC 2928), such as Teredo and ORCHID.
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


def resolve(host: str, port: int, timeout: float) -> list[Address]:
    """Return the addresses of a name or of an IP address, without duplicates, in the order of the resolver.

    Raises: socket.gaierror: the name is invalid or has no address. TimeoutError: the resolver did not answer
    within `timeout` seconds.
    """
    addresses: Future[list[Address]] = Future()
    # A separate thread: a resolver that hangs blocks only this look-up.
    threading.Thread(target=_look_up, args=(host, port, addresses), daemon=True).start()
    return addresses.result(timeout)


def _look_up(host: str, port: int, addresses: Future[list[Address]]) -> None:
    try:
        addresses.set_result(_addresses(host, port))
    except OSError as error:
        addresses.set_exception(error)
    except UnicodeError:
        addresses.set_exception(socket.gaierror(socket.EAI_NONAME, "not a host name"))


def _addresses(host: str, port: int) -> list[Address]:
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(sockaddr[0]) for *_, sockaddr in answers))
