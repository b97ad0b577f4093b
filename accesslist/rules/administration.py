"""Which callers may change roles and keys: owners and user admins of a scope, within that scope. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from accesslist.rules.role_requests import scope_of
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, needs_role
from opsapi.roles import IMPLIED, INSTALLATION, Grant, Role, Scope, satisfies_any

ADMINISTRATORS = (
    Role.GLOBAL_OWNER,
    Role.GLOBAL_USER_ADMIN,
    Role.ORG_OWNER,
    Role.GROUP_OWNER,
    Role.GROUP_USER_ADMIN,
)
"""Roles that administer users in some scope."""

INVITERS = ADMINISTRATORS
"""Roles that can invite people in some scope."""

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


def administers(by: Sequence[Grant], grant: Grant, orgs_of_groups: Mapping[str, str]) -> bool:
    """Whether the grants `by` allow granting and revoking roles in the scope of `grant`."""
    return satisfies_any(by, administrators_of(grant), scope_of(grant, orgs_of_groups))


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
        raise needs_role(administrators_of(grant))


def manageable_scopes(held: Iterable[tuple[Grant, Scope]], *, by: Sequence[Grant]) -> list[Scope]:
    """Return the widest scopes in which the caller may change a key; each role is in at most one of them.

    `held`: the key's grants, each with its scope; the scope of a project names its organization too. `by`:
    the caller's grants.
    """
    if satisfies_any(by, GLOBAL_WRITERS, INSTALLATION):
        return [INSTALLATION]
    scopes = list(dict.fromkeys(scope for _, scope in held))
    orgs = dict.fromkeys(scope.org_id for scope in scopes if scope.org_id)
    owned = [org_id for org_id in orgs if satisfies_any(by, ORG_WRITERS, Scope(org_id=org_id))]
    projects = [scope for scope in scopes if scope.group_id and scope.org_id not in owned]
    managed = [project for project in projects if satisfies_any(by, GROUP_WRITERS, project)]
    return [
        *[Scope(org_id=org_id) for org_id in owned],
        *[Scope(group_id=project.group_id) for project in managed],
    ]


def require_manageable_scopes(held: Iterable[tuple[Grant, Scope]], *, by: Sequence[Grant]) -> list[Scope]:
    """As `manageable_scopes`.

    Raises:
        ApiError: USER_UNAUTHORIZED, when there is none.
    """
    found = manageable_scopes(held, by=by)
    if not found:
        raise needs_role((*GLOBAL_WRITERS, *ORG_WRITERS, *GROUP_WRITERS))
    return found


def is_within_scope(scope: Scope, managed: Scope) -> bool:
    """Whether a role in `scope`, a project with its organization, belongs to the managed scope."""
    if managed.group_id is not None:
        return scope.group_id == managed.group_id
    return managed.org_id is None or scope.org_id == managed.org_id
