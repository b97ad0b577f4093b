"""Where a request comes from (decisions 3 "enforcement")."""

from ipaddress import IPv4Address, IPv6Address, ip_address

from django.conf import settings
from django.http import HttpRequest

Address = IPv4Address | IPv6Address

_PROXY_HEADERS = ("x-forwarded-", "forwarded", "x-real-ip", "via")


def peer_address(request: HttpRequest) -> Address | None:
    """The address of the other end of the connection; None when there is none (a Unix socket)."""
    return _address(request.META.get("REMOTE_ADDR", ""))


def client_address(request: HttpRequest) -> Address | None:
    """Who calls: the peer, or from X-Forwarded-For the last hop that is not a trusted proxy (decisions 3).

    IPv4-mapped IPv6 is IPv4. A hop that is no address ends the walk: what stands before it is not known.
    """
    address = peer_address(request)
    hops = request.headers.get("X-Forwarded-For", "").split(",")
    while is_trusted_proxy(address) and hops:
        hop = _address(hops.pop().strip())
        if hop is None:
            break
        address = hop
    return address


def is_forwarded(request: HttpRequest) -> bool:
    """Whether the request says that it came through a proxy."""
    return any(name.lower().startswith(_PROXY_HEADERS) for name in request.headers)


def is_exempt(address: Address | str | None) -> bool:
    """Whether no list applies there, to requests that come without a proxy (OPSAPI_ACCESS_LIST_EXEMPT)."""
    exempt = settings.OPSAPI_ACCESS_LIST_EXEMPT
    return address is not None and any(ip_address(address) in network for network in exempt)


def is_trusted_proxy(address: Address | None) -> bool:
    """Whether the address is in OPSAPI_TRUSTED_PROXIES."""
    return address is not None and any(address in network for network in settings.OPSAPI_TRUSTED_PROXIES)


def _address(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.scope_id:
        return None  # a zone means something on one machine only, and PostgreSQL knows none
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
