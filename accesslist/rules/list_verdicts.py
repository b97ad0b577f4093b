"""Which access list refuses a caller, now or after a change of that list. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from accesslist.rules.ranges import covers


class ListVerdict(StrEnum):
    """Whether lists let a caller in; the value is how it is told."""

    ADMITTED = "no access list blocks it"
    EXEMPT = "no access list applies to this address"
    GLOBAL_LIST = "the global access list"
    OWN_LIST = "the access list of the API key"

    @property
    def refuses(self) -> bool:
        """Whether one of the lists keeps them out."""
        return self in {ListVerdict.GLOBAL_LIST, ListVerdict.OWN_LIST}


@dataclass(frozen=True, slots=True)
class SeenCaller:
    """A key that called from an address, and when it last did."""

    public_key: str
    address: str
    seen: datetime


def verdict(*, is_exempt: bool, is_global: bool, global_refuses: bool, own_refuses: bool) -> ListVerdict:
    """What becomes of a key's call: a global role is held to the global list, any key to its own."""
    if is_exempt:
        return ListVerdict.EXEMPT
    if is_global and global_refuses:
        return ListVerdict.GLOBAL_LIST
    return ListVerdict.OWN_LIST if own_refuses else ListVerdict.ADMITTED


def keeps_out(blocks: Collection[str], address: str | None) -> bool:
    """Whether a list of these canonical ranges keeps the address out; an empty one keeps nobody out."""
    return bool(blocks) and not covers(blocks, address)


def newly_refused(
    callers: Iterable[SeenCaller], *, before: Collection[str], after: Collection[str]
) -> list[SeenCaller]:
    """Those that the list lets in as it is and would keep out as it is to be."""
    return [one for one in callers if keeps_out(after, one.address) and not keeps_out(before, one.address)]
