"""Which callers may change roles: owners and user admins of a scope, within that scope. Pure."""

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
"""Roles that administer users in some scope."""

GROUP_WRITERS = (Role.GROUP_OWNER, Role.GROUP_USER_ADMIN)
"""Roles that write the keys of a project, their access lists, and the roles of teams in it."""
ORG_WRITERS = (Role.ORG_OWNER,)
"""Roles that write the keys of an organization and their access lists."""
GLOBAL_WRITERS = (Role.GLOBAL_OWNER,)
"""Roles that write every key, every access list, and the global access list."""


def writers_of(role: Role) -> tuple[Role, ...]:
    """Return the roles of which any allows writing a key with this role, and its access list."""
    if role.is_group:
        return GROUP_WRITERS
    return ORG_WRITERS if role.is_org else GLOBAL_WRITERS


def administrators_of(grant: Grant) -> tuple[Role, ...]:
    """Return the roles of which any allows granting and revoking roles in the scope of this grant."""
    if grant.role.is_global:
        return (Role.GLOBAL_OWNER,)
    if grant.role.is_org:
        return (Role.GLOBAL_USER_ADMIN, Role.ORG_OWNER)
    return (Role.GLOBAL_USER_ADMIN, Role.ORG_OWNER, Role.GROUP_OWNER, Role.GROUP_USER_ADMIN)


def resetter_of(held: Iterable[Grant]) -> Role:
    """Return the role needed to reset the password or second factor of a user with these grants.

    A caller who resets them can log in as the user. A user admin may do so only without gaining a role.
    """
    within = IMPLIED[Role.GLOBAL_USER_ADMIN]
    is_within = all(grant.role in within and not grant.role.is_global for grant in held)
    return Role.GLOBAL_USER_ADMIN if is_within else Role.GLOBAL_OWNER


def administers_somewhere(by: Iterable[Grant]) -> bool:
    """Whether the grants allow changing roles in any scope."""
    return any(IMPLIED[grant.role] & frozenset(ADMINISTRATORS) for grant in by)


def administers(by: Sequence[Grant], grant: Grant, orgs_of_groups: Mapping[str, str]) -> bool:
    """Whether the grants `by` allow granting and revoking roles in the scope of `grant`."""
    scope = scope_of(grant, orgs_of_groups)
    return any(satisfies(by, role, scope) for role in administrators_of(grant))


def refuse_elsewhere(
    wanted: Iterable[Grant],
    *,
    shown: Collection[Grant],
    by: Sequence[Grant],
    orgs_of_groups: Mapping[str, str],
) -> None:
    """Refuse new roles in scopes that the caller does not administer; roles that were `shown` stay.

    Raises:
        ApiError: CANNOT_ADD_GLOBAL_ROLE, USER_UNAUTHORIZED with the roles that are sufficient.
    """
    for grant in wanted:
        if grant in shown or administers(by, grant, orgs_of_groups):
            continue
        if grant.role.is_global:
            raise ApiError(ErrorCode.CANNOT_ADD_GLOBAL_ROLE, grant.role.value)
        raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(administrators_of(grant)))
