"""Which roles a request asks for, and who may give them and administer their holders. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, needs_role
from opsapi.roles import IMPLIED, INSTALLATION, Grant, Role, Scope, satisfies, satisfies_any


@dataclass(frozen=True, slots=True)
class AskedRole:
    """A role in a request body; `path` is the path of its field."""

    path: str
    role: Role
    org_id: str | None
    group_id: str | None


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """Requested roles, with the scope of the path (`here`) and the grants of the caller (`by`)."""

    asked: Sequence[AskedRole]
    here: Scope
    by: Sequence[Grant]

    def grants(self) -> list[Grant]:
        """See `grants_asked`."""
        return grants_asked(self.asked, here=self.here)


@dataclass(frozen=True, slots=True)
class ExistingScopes:
    """The existing scopes among the scopes that roles name; each project has its organization."""

    orgs_of_groups: Mapping[str, str]
    orgs: Collection[str]


def asked_roles(values: Sequence[Mapping[str, Any]]) -> list[AskedRole]:
    """Return the roles of a checked `roles` of a body: `[{roleName, groupId?, orgId?}]`."""
    return [
        AskedRole(f"roles[{position}]", Role(value["roleName"]), value.get("orgId"), value.get("groupId"))
        for position, value in enumerate(values)
    ]


def grants_asked(asked: Iterable[AskedRole], *, here: Scope = INSTALLATION) -> list[Grant]:
    """Return the requested grants, each once; `here` is the project or organization of the path, if any.

    The path of a project grants only roles in that project. The path of an organization grants roles in it
    and, with `groupId`, in its projects. Elsewhere, each role names its scope.

    Raises:
        ApiError: ROLE_NEEDS_GROUP_ID, ROLE_NEEDS_ORG_ID, ROLE_NEEDS_NO_GROUP_ID, INVALID_ATTRIBUTE,
            with every wrong role in `badFields`.
    """
    placed = [_grant(request, here) for request in asked]
    bad = [result for result in placed if isinstance(result, BadField)]
    if bad:
        raise ApiError.of_fields(bad)
    return list(dict.fromkeys(result for result in placed if isinstance(result, Grant)))


def scope_faults(asked: Iterable[AskedRole]) -> list[BadField]:
    """Return what `grants_asked` refuses without a scope in the path, to report it with other faults."""
    return [fault for request in asked if isinstance(fault := _grant(request, INSTALLATION), BadField)]


def refuse_roles_not_held(
    added: Iterable[Grant], *, by: Sequence[Grant], orgs_of_groups: Mapping[str, str]
) -> None:
    """Refuse roles that the caller does not hold; only a Global owner grants global roles.

    `by`: the caller's grants. `orgs_of_groups`: the organization of each named project.

    Raises:
        ApiError: CANNOT_ADD_GLOBAL_ROLE, ROLE_NOT_HELD.
    """
    for grant in added:
        if grant.role.is_global:
            if not satisfies(by, Role.GLOBAL_OWNER, INSTALLATION):
                raise ApiError(ErrorCode.CANNOT_ADD_GLOBAL_ROLE, grant.role.value)
        elif not satisfies(by, grant.role, scope_of(grant, orgs_of_groups)):
            raise ApiError(ErrorCode.ROLE_NOT_HELD, grant.role.value)


def refuse_unknown_scopes(
    asked: Iterable[AskedRole], *, existing: ExistingScopes, here: Scope = INSTALLATION
) -> None:
    """Refuse unknown projects and organizations, and projects outside of the organization of the path.

    Call it after `refuse_roles_not_held`, so that callers do not learn which other scopes exist.

    Raises:
        ApiError: INVALID_ATTRIBUTE, with every wrong role in `badFields`.
    """
    bad = [fault for request in asked if (fault := _scope_fault(request, existing, here))]
    if bad:
        raise ApiError.of_fields(bad)


def scope_of(grant: Grant, orgs_of_groups: Mapping[str, str]) -> Scope:
    """Return the scope of a grant, with the organization of its project."""
    if grant.group_id is not None:
        return Scope(org_id=orgs_of_groups.get(grant.group_id), group_id=grant.group_id)
    return grant.scope


def _scope_fault(asked: AskedRole, existing: ExistingScopes, here: Scope) -> BadField | None:
    if asked.org_id is not None and asked.org_id not in existing.orgs:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, "names no organization", "orgId")
    if asked.group_id is None:
        return None
    org_id = existing.orgs_of_groups.get(asked.group_id)
    if org_id is None:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, "names no project", "groupId")
    if here.org_id is not None and here.org_id != org_id:
        message = "is not a project of the organization in the path"
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, message, "groupId")
    return None


def _grant(asked: AskedRole, here: Scope) -> Grant | BadField:
    """Return the grant, or the fault of the role."""
    if here.group_id is not None:
        return _in_project(asked, here.group_id)
    if asked.role.is_group:
        return _named_project(asked)
    if asked.group_id is not None:
        return _refused(asked, ErrorCode.ROLE_NEEDS_NO_GROUP_ID, "is not a role in a project", "groupId")
    return _in_org(asked, here.org_id) if asked.role.is_org else _everywhere(asked, here.org_id)


def _in_project(asked: AskedRole, group_id: str) -> Grant | BadField:
    if not asked.role.is_group:
        allowed = [role.value for role in Role if role.is_group]
        message = "is not a role in a project"
        return _refused(asked, ErrorCode.ROLE_NEEDS_NO_GROUP_ID, message, "roleName", allowed)
    if asked.group_id is not None and asked.group_id != group_id:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, "is not the project of the path", "groupId")
    if asked.org_id is not None:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, "is not a role in an organization", "orgId")
    return Grant(asked.role, group_id=group_id)


def _named_project(asked: AskedRole) -> Grant | BadField:
    if asked.group_id is None:
        return _refused(
            asked, ErrorCode.ROLE_NEEDS_GROUP_ID, "is required for a role in a project", "groupId"
        )
    if asked.org_id is not None:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, "is not a role in an organization", "orgId")
    return Grant(asked.role, group_id=asked.group_id)


def _in_org(asked: AskedRole, org_id: str | None) -> Grant | BadField:
    wanted = asked.org_id or org_id
    if wanted is None:
        message = "is required for a role in an organization"
        return _refused(asked, ErrorCode.ROLE_NEEDS_ORG_ID, message, "orgId")
    if org_id is not None and wanted != org_id:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, "is not the organization of the path", "orgId")
    return Grant(asked.role, org_id=wanted)


def _everywhere(asked: AskedRole, org_id: str | None) -> Grant | BadField:
    message = "is not a role in an organization"
    if org_id is not None:
        allowed = [role.value for role in Role if not role.is_global]
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, message, "roleName", allowed)
    if asked.org_id is not None:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, message, "orgId")
    return Grant(asked.role)


def _refused(
    asked: AskedRole, code: ErrorCode, message: str, name: str, allowed: Sequence[str] = ()
) -> BadField:
    return BadField(f"{asked.path}.{name}", code, message, allowed)


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
    visible_grants: Collection[Grant],
    by: Sequence[Grant],
    orgs_of_groups: Mapping[str, str],
) -> None:
    """Refuse new roles in scopes that the caller does not administer; `visible_grants` stay.

    Raises:
        ApiError: CANNOT_ADD_GLOBAL_ROLE, USER_UNAUTHORIZED with the roles that are sufficient.
    """
    for grant in wanted:
        if grant in visible_grants or administers(by, grant, orgs_of_groups):
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
    scopes = manageable_scopes(held, by=by)
    if not scopes:
        raise needs_role((*GLOBAL_WRITERS, *ORG_WRITERS, *GROUP_WRITERS))
    return scopes


def is_within_scope(scope: Scope, managed: Scope) -> bool:
    """Whether a role in `scope`, a project with its organization, belongs to the managed scope."""
    if managed.group_id is not None:
        return scope.group_id == managed.group_id
    return managed.org_id is None or scope.org_id == managed.org_id
