"""Access lists: the global list and those of keys, what an entry is, who may change which list. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from accesslist.rules.administration import GLOBAL_WRITERS, GROUP_WRITERS, ORG_WRITERS
from accesslist.rules.ranges import read_range
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import INSTALLATION, Grant, Role, Scope, satisfies


@dataclass(frozen=True, slots=True)
class AccessList:
    """One list: a key's own, without `key_id` the global one.

    `public_key` is the key that events name, `place` where a change is made and told of.
    """

    key_id: str | None = None
    public_key: str | None = None
    place: Scope = INSTALLATION


GLOBAL_LIST = AccessList()


@dataclass(frozen=True, slots=True)
class NewEntry:
    """What makes an entry; the range is canonical."""

    cidr_block: str
    description: str | None = None


@dataclass(frozen=True, slots=True)
class ListWriter:
    """Who changes a list; `is_exempt`: no list applies where they are."""

    actor: Actor
    is_exempt: bool = False

    def owns(self, of: AccessList) -> bool:
        """Whether the list is that of the key that writes it."""
        return self.actor.kind is ActorKind.KEY and of.key_id == self.actor.id

    def is_held_by(self, of: AccessList) -> bool:
        """Whether the list holds for them: only keys are held, and whoever writes the global list by it."""
        is_theirs = of.key_id is None or of.key_id == self.actor.id
        return not self.is_exempt and self.actor.kind is ActorKind.KEY and is_theirs


def read_asked_range(text: str) -> str:
    """The canonical form of a range that is asked for in a query, where several may stand.

    Raises:
        ValueError: which one, and the reason.
    """
    try:
        return read_range(text)
    except ValueError as error:
        raise ValueError(f"{text[:50]!r} {error}") from None


def read_asked_ranges(values: Iterable[str]) -> list[str]:
    """The canonical forms of all that are asked for.

    Raises:
        ApiError: INVALID_QUERY_PARAMETER, with every one that is no range in `badFields`.
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
    """A list opens the key everywhere: who changes it has to be a writer wherever the key holds a role.

    `held` are the key's grants with where they hold, `by` those of the one who writes.

    Raises:
        ApiError: USER_UNAUTHORIZED, naming the roles that would do.
    """
    caller = tuple(by)
    for grant, scope in held:
        writers = _writers(grant.role)
        if not any(satisfies(caller, role, scope) for role in writers):
            raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(role.value for role in writers))


def _writers(role: Role) -> tuple[Role, ...]:
    if role.is_group:
        return GROUP_WRITERS
    return ORG_WRITERS if role.is_org else GLOBAL_WRITERS
