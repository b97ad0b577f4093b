"""The name with which the platform introduces itself to a mail server (EHLO, RFC 5321 4.1.1.1)."""

from email.utils import parseaddr
from ipaddress import IPv6Address, ip_address
from urllib.parse import urlsplit

from django.conf import settings

from opsapi.hostnames import ascii_name, canonical_hostname

LAST_RESORT = "localhost"


def helo_name() -> str:
    """OPSAPI_EMAIL_HELO, else the host of OPSAPI_PUBLIC_URL, else the domain of the sender."""
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1].partition("@")[2]
    candidates = (settings.OPSAPI_EMAIL_HELO, urlsplit(settings.OPSAPI_PUBLIC_URL).hostname or "", sender)
    return next((name for text in candidates if (name := helo_form(text))), LAST_RESORT)


def helo_form(text: str) -> str | None:
    """The text as an argument of EHLO: a host name in ASCII, or an address literal; None if it is neither."""
    bare = text.removeprefix("[").removesuffix("]")
    bare = bare[5:] if bare.lower().startswith("ipv6:") else bare
    try:
        address = ip_address(bare)
    except ValueError:
        return canonical_hostname(ascii_name(text)) if text else None
    if isinstance(address, IPv6Address):
        return None if address.scope_id else f"[IPv6:{address}]"
    return f"[{address}]"
