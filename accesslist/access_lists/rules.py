"""Access lists: ranges of addresses, entries, and which callers may change which list. Pure."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network

from accesslist.roles.rules import writers_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, needs_role
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import INSTALLATION, Grant, Scope, satisfies_any

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


@dataclass(frozen=True, slots=True)
class AccessList:
    """The access list of a key, or the global list if `key_id` is None.

    Events name `public_key`. `scope` is the scope of a change and of its event.
    """

    key_id: str | None = None
    public_key: str | None = None
    scope: Scope = INSTALLATION


GLOBAL_LIST = AccessList()


@dataclass(frozen=True, slots=True)
class ListWriter:
    """The actor that changes a list. `is_exempt`: no list applies to the actor's address."""

    actor: Actor
    is_exempt: bool = False

    def owns(self, of: AccessList) -> bool:
        """Whether the actor is the key of the list."""
        return self.actor.kind is ActorKind.KEY and of.key_id == self.actor.id

    def is_held_by(self, of: AccessList) -> bool:
        """Whether the list applies to the actor: a key that writes its own list or the global list."""
        is_theirs = of.key_id is None or of.key_id == self.actor.id
        return not self.is_exempt and self.actor.kind is ActorKind.KEY and is_theirs


def read_asked_range(text: str) -> str:
    """Return the canonical form of a range in a query, which may contain several.

    Raises:
        ValueError: with the range and the reason.
    """
    try:
        return read_range(text)
    except ValueError as error:
        raise ValueError(f"{text[:50]!r} {error}") from None


def read_asked_ranges(values: Iterable[str]) -> list[str]:
    """Return the canonical forms of all ranges in a query.

    Raises:
        ApiError: INVALID_QUERY_PARAMETER, with every invalid range in `badFields`.
    """
    ranges: list[str] = []
    bad: list[BadField] = []
    for value in values:
        try:
            ranges.append(read_asked_range(value))
        except ValueError as error:
            bad.append(BadField("accessList", ErrorCode.INVALID_QUERY_PARAMETER, str(error)))
    if bad:
        raise ApiError.of_fields(bad)
    return ranges


def refuse_keys_beyond(held: Iterable[tuple[Grant, Scope]], *, by: Iterable[Grant]) -> None:
    """Refuse callers who are not writers in every scope of the key, because a change affects all of them.

    `held`: the key's grants with their scopes. `by`: the caller's grants.

    Raises:
        ApiError: USER_UNAUTHORIZED with the roles that are sufficient.
    """
    caller = tuple(by)
    for grant, scope in held:
        writers = writers_of(grant.role)
        if not satisfies_any(caller, writers, scope):
            raise needs_role(writers)


class ListVerdict(StrEnum):
    """Whether lists admit a caller; the values are texts for people."""

    ADMITTED = "no access list blocks it"
    EXEMPT = "no access list applies to this address"
    GLOBAL_LIST = "the global access list"
    OWN_LIST = "the access list of the API key"

    @property
    def refuses(self) -> bool:
        """Whether a list blocks the caller."""
        return self in {ListVerdict.GLOBAL_LIST, ListVerdict.OWN_LIST}


@dataclass(frozen=True, slots=True)
class SeenCaller:
    """A key, an address it called from, and the time of the last call."""

    public_key: str
    address: str
    seen: datetime


def verdict(*, is_exempt: bool, is_global: bool, global_refuses: bool, own_refuses: bool) -> ListVerdict:
    """Return the verdict on a key's call: the global list applies to keys with a global role."""
    if is_exempt:
        return ListVerdict.EXEMPT
    if is_global and global_refuses:
        return ListVerdict.GLOBAL_LIST
    return ListVerdict.OWN_LIST if own_refuses else ListVerdict.ADMITTED


def keeps_out(blocks: Collection[str], address: str | None) -> bool:
    """Whether a list of these canonical ranges blocks the address; an empty list blocks no address."""
    return bool(blocks) and not covers(blocks, address)


def newly_refused(
    callers: Iterable[SeenCaller], *, before: Collection[str], after: Collection[str]
) -> list[SeenCaller]:
    """Return the callers that the list admits before the change and blocks after it."""
    return [
        caller
        for caller in callers
        if keeps_out(after, caller.address) and not keeps_out(before, caller.address)
    ]
