"""Which roles may be granted, in which scope, and by whom: nobody grants a role they do not hold. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField
from opsapi.roles import INSTALLATION, Grant, Role, Scope, satisfies


@dataclass(frozen=True, slots=True)
class AskedRole:
    """A role as a body asks for it."""

    path: str
    role: Role
    org_id: str | None
    group_id: str | None


@dataclass(frozen=True, slots=True)
class RoleRequest:
    """Roles asked for: in the scope of which path, and what the one who gives them holds."""

    asked: Sequence[AskedRole]
    here: Scope
    by: Sequence[Grant]

    def grants(self) -> list[Grant]:
        """See `grants_asked`."""
        return grants_asked(self.asked, here=self.here)


@dataclass(frozen=True, slots=True)
class ExistingScopes:
    """What exists of the places that roles name: each project with its organization, and organizations."""

    orgs_of_groups: Mapping[str, str]
    orgs: Collection[str]


def asked_roles(values: Sequence[Mapping[str, Any]], field: str = "roles") -> list[AskedRole]:
    """The checked `[{roleName, groupId?, orgId?}]` of a body; `field` is where it stood."""
    return [
        AskedRole(f"{field}[{place}]", Role(value["roleName"]), value.get("orgId"), value.get("groupId"))
        for place, value in enumerate(values)
    ]


def grants_asked(asked: Iterable[AskedRole], *, here: Scope = INSTALLATION) -> list[Grant]:
    """The grants asked for, each once; `here` is the project or organization of the path, if any.

    In a project only its own roles are given; in an organization its own and those in projects,
    which `groupId` names; over the installation a role says itself where it holds.

    Raises:
        ApiError: ROLE_NEEDS_GROUP_ID, ROLE_NEEDS_ORG_ID, ROLE_NEEDS_NO_GROUP_ID, INVALID_ATTRIBUTE,
            with every wrong role in `badFields`.
    """
    placed = [_grant(one, here) for one in asked]
    bad = [one for one in placed if isinstance(one, BadField)]
    if bad:
        raise ApiError.of_fields(bad)
    return list(dict.fromkeys(one for one in placed if isinstance(one, Grant)))


def scope_faults(asked: Iterable[AskedRole]) -> list[BadField]:
    """What `grants_asked` refuses over the installation, for a body that has other faults to tell of too."""
    return [fault for one in asked if isinstance(fault := _grant(one, INSTALLATION), BadField)]


def refuse_roles_not_held(
    added: Iterable[Grant], *, by: Sequence[Grant], orgs_of_groups: Mapping[str, str]
) -> None:
    """Nobody grants a role they do not hold, and global ones only a Global Owner grants.

    `by` are the grants of the one who gives, `orgs_of_groups` the organization of each project named.

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
    asked: Iterable[AskedRole], *, places: ExistingScopes, here: Scope = INSTALLATION
) -> None:
    """A project or organization that a role names has to exist, and a project to be one of the path's.

    To be called after `refuse_roles_not_held`, so that nobody learns of places that are not theirs.

    Raises:
        ApiError: INVALID_ATTRIBUTE, with every such role in `badFields`.
    """
    bad = [fault for one in asked if (fault := _scope_fault(one, places, here))]
    if bad:
        raise ApiError.of_fields(bad)


def scope_of(grant: Grant, orgs_of_groups: Mapping[str, str]) -> Scope:
    """Where a grant holds, with the organization of its project."""
    if grant.group_id is not None:
        return Scope(org_id=orgs_of_groups.get(grant.group_id), group_id=grant.group_id)
    return grant.scope


def _scope_fault(asked: AskedRole, places: ExistingScopes, here: Scope) -> BadField | None:
    if asked.org_id is not None and asked.org_id not in places.orgs:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, "names no organization", "orgId")
    if asked.group_id is None:
        return None
    org_id = places.orgs_of_groups.get(asked.group_id)
    if org_id is None:
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, "names no project", "groupId")
    if here.org_id is not None and here.org_id != org_id:
        message = "is not a project of the organization of the path"
        return _refused(asked, ErrorCode.INVALID_ATTRIBUTE, message, "groupId")
    return None


def _grant(asked: AskedRole, here: Scope) -> Grant | BadField:
    """The grant, or what is wrong with the role."""
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
