"""Which access list refuses a caller, now or after a change of that list. Pure."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from accesslist.rules.ranges import covers


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
