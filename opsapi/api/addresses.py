"""The address of the client, also behind proxies."""

import re
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from django.conf import settings
from django.http import HttpRequest

Address = IPv4Address | IPv6Address

_WITH_PORT = re.compile(r"(?:([0-9.]+)|\[([0-9A-Fa-f:.]+)\]):([0-9]{1,5})")
_LAST_PORT = 65_535
_COUNTED_PREFIX = 64
_PROXY_HEADERS = ("x-forwarded-", "forwarded", "x-real-ip", "via")


def peer_address(request: HttpRequest) -> Address | None:
    """Return the address of the other end of the connection; None for a Unix socket."""
    return address_of(request.META.get("REMOTE_ADDR", ""))


def client_address(request: HttpRequest) -> Address | None:
    """Return the caller's address: the peer, or the last X-Forwarded-For hop that is no trusted proxy.

    IPv4-mapped IPv6 is IPv4. A hop can have a port: `192.0.2.7:1234`, `[2001:db8::1]:1234`. A hop that is not
    an address ends the search, because earlier hops cannot be trusted.
    """
    return _way_back(request)[-1]


def remote_address(request: HttpRequest) -> str | None:
    """Return the text of `client_address`."""
    address = client_address(request)
    return str(address) if address else None


def forwarded_address(peer: Address | None, forwarded_for: str) -> Address | None:
    """Return what `client_address` returns, from the peer and the value of X-Forwarded-For."""
    return _hops(peer, forwarded_for)[-1]


def forwarded_value(request: HttpRequest, header: str) -> str:
    """Return the value that the outermost trusted proxy wrote into a header; empty without such a proxy.

    A proxy replaces the header or appends its own value. With n trusted proxies, only the last n values are
    trusted, and the first of them describes the client's request.
    """
    proxies = sum(is_trusted_proxy(address) for address in _way_back(request))
    values = [value.strip() for value in request.headers.get(header, "").split(",")]
    return values[-min(proxies, len(values))] if proxies else ""


@lru_cache(maxsize=256)
def address_of(text: str) -> Address | None:
    """Return the address in the text; None if it is not an address. IPv4-mapped IPv6 is IPv4."""
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.scope_id:
        return None  # A zone is valid on a single machine only, and PostgreSQL does not support it.
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def counted_range(address: Address | None) -> str:
    """Return what a caller is counted by: the IPv4 address, or the IPv6 /64, which has one owner."""
    if address is None:
        return "unknown"
    if isinstance(address, IPv4Address):
        return str(address)
    return str(ip_network((address, _COUNTED_PREFIX), strict=False))


def is_forwarded(request: HttpRequest) -> bool:
    return any(name.lower().startswith(_PROXY_HEADERS) for name in request.headers)


def is_exempt(address: Address | str | None) -> bool:
    """Whether requests from the address are exempt from access lists (OPSAPI_ACCESS_LIST_EXEMPT)."""
    exempt = settings.OPSAPI_ACCESS_LIST_EXEMPT
    return address is not None and any(ip_address(address) in network for network in exempt)


def is_trusted_proxy(address: Address | None) -> bool:
    return address is not None and any(address in network for network in settings.OPSAPI_TRUSTED_PROXIES)


def _way_back(request: HttpRequest) -> list[Address | None]:
    """Return the peer and the hops before it, each as a trusted proxy wrote it, the peer first."""
    return _hops(peer_address(request), request.headers.get("X-Forwarded-For", ""))


def _hops(peer: Address | None, forwarded_for: str) -> list[Address | None]:
    way = [peer]
    hops = forwarded_for.split(",")
    while is_trusted_proxy(way[-1]) and hops:
        hop = _hop(hops.pop().strip())
        if hop is None:
            break
        way.append(hop)
    return way


def _hop(text: str) -> Address | None:
    """Return the address of a hop of X-Forwarded-For, with or without its port."""
    match = _WITH_PORT.fullmatch(text)
    if match is None:
        return address_of(text)
    ipv4, ipv6, port = match.groups()
    is_odd = int(port) > _LAST_PORT or (ipv6 and ":" not in ipv6)
    return None if is_odd else address_of(ipv4 or ipv6)
