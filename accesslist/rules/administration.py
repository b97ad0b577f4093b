"""Whose roles may be changed, and by whom: by owners and user admins of a scope, within it. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from accesslist.rules.role_requests import scope_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.roles import IMPLIED, Grant, Role, satisfies

ADMINISTRATORS = (
    Role.GLOBAL_OWNER,
    Role.GLOBAL_USER_ADMIN,
    Role.ORG_OWNER,
    Role.GROUP_OWNER,
    Role.GROUP_USER_ADMIN,
)
"""Who administers users somewhere."""

GROUP_WRITERS = (Role.GROUP_OWNER, Role.GROUP_USER_ADMIN)
"""Who writes the keys of a project, their access lists and the roles of teams there."""
ORG_WRITERS = (Role.ORG_OWNER,)
"""Who writes the keys of an organization and their access lists."""
GLOBAL_WRITERS = (Role.GLOBAL_OWNER,)
"""Who writes every key, its access list and the global one."""


def administrators_of(grant: Grant) -> tuple[Role, ...]:
    """The roles that allow giving and taking roles where this one holds: any of them does."""
    if grant.role.is_global:
        return (Role.GLOBAL_OWNER,)
    if grant.role.is_org:
        return (Role.GLOBAL_USER_ADMIN, Role.ORG_OWNER)
    return (Role.GLOBAL_USER_ADMIN, Role.ORG_OWNER, Role.GROUP_OWNER, Role.GROUP_USER_ADMIN)


def resetter_of(held: Iterable[Grant]) -> Role:
    """The role that allows setting another password for whoever holds these, or taking their second factor.

    Whoever can do that can log in as them: a user admin only where that gives them nothing they do not hold.
    """
    within = IMPLIED[Role.GLOBAL_USER_ADMIN]
    is_within = all(grant.role in within and not grant.role.is_global for grant in held)
    return Role.GLOBAL_USER_ADMIN if is_within else Role.GLOBAL_OWNER


def administers_somewhere(by: Iterable[Grant]) -> bool:
    """Whether the grants allow changing anybody's roles anywhere."""
    return any(IMPLIED[grant.role] & frozenset(ADMINISTRATORS) for grant in by)


def administers(by: Sequence[Grant], grant: Grant, orgs_of_groups: Mapping[str, str]) -> bool:
    """Whether the grants `by` allow giving and taking roles where `grant` holds."""
    scope = scope_of(grant, orgs_of_groups)
    return any(satisfies(by, role, scope) for role in administrators_of(grant))


def refuse_elsewhere(
    wanted: Iterable[Grant],
    *,
    shown: Collection[Grant],
    by: Sequence[Grant],
    orgs_of_groups: Mapping[str, str],
) -> None:
    """Where the caller administers nothing, only roles they were `shown` may be named: those stay.

    Raises:
        ApiError: CANNOT_ADD_GLOBAL_ROLE, USER_UNAUTHORIZED with the roles that would do.
    """
    for grant in wanted:
        if grant in shown or administers(by, grant, orgs_of_groups):
            continue
        if grant.role.is_global:
            raise ApiError(ErrorCode.CANNOT_ADD_GLOBAL_ROLE, grant.role.value)
        raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(administrators_of(grant)))
