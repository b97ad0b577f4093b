"""The outgoing HTTP proxy of the settings, and the receivers that are reached without it. Pure."""

from base64 import b64decode, b64encode
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from typing import Self
from urllib.parse import SplitResult, unquote, urlsplit

from opsapi.hostnames import canonical_hostname, host_and_port

_DEFAULT_PORTS = {"http": 80, "https": 443}
_FORM = "http://host:port or https://host:port, with user:password@ before the host if the proxy has a log-in"


@dataclass(frozen=True, slots=True)
class OutgoingProxy:
    """A proxy for requests to receivers. Its text has no credentials.

    `scheme` is that of the connection to the proxy. `authorization` is the value of Proxy-Authorization;
    empty without a log-in.
    """

    scheme: str
    host: str
    port: int
    authorization: str = field(default="", repr=False)

    def __str__(self) -> str:
        return f"{self.scheme}://{host_and_port(self.host, self.port)}"

    @property
    def secrets(self) -> Sequence[str]:
        """The log-in in the forms in which a text can show it; none without a log-in."""
        if not self.authorization:
            return []
        return [self.authorization.partition(" ")[2], *basic_secrets(self.authorization)]

    @classmethod
    def of_url(cls, url: str) -> Self:
        """Read the URL of a proxy. User and password can contain percent escapes.

        Raises: ValueError: the URL is not that of a proxy. The text shows no part of the URL, because it may
        contain a password.
        """
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise ValueError(f"not a URL of the form {_FORM}") from None
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname or port == 0:
            raise ValueError(f"not a URL of the form {_FORM}")
        if parts.path not in {"", "/"} or parts.query or parts.fragment or url.count("@") > 1:
            raise ValueError(
                "the URL of a proxy has no path, query or fragment. In a user or password, write "
                "%40 for @, %2F for /, %3F for ?, %23 for # and %25 for %"
            )
        host = canonical_hostname(parts.hostname)
        if host is None:
            raise ValueError("the host of the proxy is neither a host name nor an IP address")
        return cls(parts.scheme, host, port or _DEFAULT_PORTS[parts.scheme], _authorization(parts))


def basic_secrets(authorization: str) -> Sequence[str]:
    """Return the log-in and the password of a Basic `Authorization` (RFC 7617); nothing for other values."""
    scheme, _, sent = authorization.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        log_in = b64decode(sent.strip(), validate=True).decode()
    except ValueError:  # It is not base64, or not UTF-8.
        return []
    return [text for text in (log_in, log_in.partition(":")[2]) if text]


def _authorization(parts: SplitResult) -> str:
    if parts.username is None:
        return ""
    user, password = unquote(parts.username), unquote(parts.password or "")
    if ":" in user:
        raise ValueError("the user of the proxy must not contain a colon")  # RFC 7617 2
    if not user or not (user + password).isprintable():
        raise ValueError("the user of the proxy is empty, or user or password have control characters")
    return f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class Unproxied:
    """The receivers that are reached without the proxy: domains with their subdomains, and networks."""

    domains: Sequence[str] = ()
    networks: Sequence[IPv4Network | IPv6Network] = ()

    @classmethod
    def of_words(cls, words: Iterable[str]) -> Self:
        """Read host names, domains (`example.com`, `.example.com`, `*.example.com`) and networks.

        Raises: ValueError: a word is none of these.
        """
        domains: list[str] = []
        networks: list[IPv4Network | IPv6Network] = []
        for word in words:
            try:
                networks.append(ip_network(word.strip("[]")))
            except ValueError:
                domains.append(_domain(word))
        return cls(domains, networks)

    def covers(self, host: str, addresses: Sequence[IPv4Address | IPv6Address]) -> bool:
        """Whether a receiver is in a domain, or all of its addresses are in the networks."""
        name = host.lower().removesuffix(".")
        if any(name == domain or name.endswith(f".{domain}") for domain in self.domains):
            return True
        return bool(addresses) and all(
            any(address in network for network in self.networks) for address in addresses
        )


def _domain(word: str) -> str:
    name = canonical_hostname(word.removeprefix("*").removeprefix("."))
    if name is None:
        raise ValueError(f"{word!r} is not a host name, a domain or a network in CIDR form")
    return name.lower()
