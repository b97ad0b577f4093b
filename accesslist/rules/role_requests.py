"""Which roles a caller may grant in which scope: only roles that the caller holds. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.roles import INSTALLATION, Grant, Role, Scope, satisfies


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
