"""Roles, the roles that they imply, and whether grants satisfy a role. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """All roles, with their wire values."""

    GLOBAL_OWNER = "GLOBAL_OWNER"
    GLOBAL_READ_ONLY = "GLOBAL_READ_ONLY"
    GLOBAL_MONITORING_ADMIN = "GLOBAL_MONITORING_ADMIN"
    GLOBAL_USER_ADMIN = "GLOBAL_USER_ADMIN"
    GLOBAL_BACKUP_ADMIN = "GLOBAL_BACKUP_ADMIN"
    GLOBAL_AUTOMATION_ADMIN = "GLOBAL_AUTOMATION_ADMIN"
    ORG_OWNER = "ORG_OWNER"
    ORG_GROUP_CREATOR = "ORG_GROUP_CREATOR"
    ORG_READ_ONLY = "ORG_READ_ONLY"
    ORG_MEMBER = "ORG_MEMBER"
    GROUP_OWNER = "GROUP_OWNER"
    GROUP_READ_ONLY = "GROUP_READ_ONLY"
    GROUP_MONITORING_ADMIN = "GROUP_MONITORING_ADMIN"
    GROUP_USER_ADMIN = "GROUP_USER_ADMIN"
    GROUP_BACKUP_ADMIN = "GROUP_BACKUP_ADMIN"
    GROUP_AUTOMATION_ADMIN = "GROUP_AUTOMATION_ADMIN"
    GROUP_DATA_ACCESS_ADMIN = "GROUP_DATA_ACCESS_ADMIN"
    GROUP_DATA_ACCESS_READ_WRITE = "GROUP_DATA_ACCESS_READ_WRITE"
    GROUP_DATA_ACCESS_READ_ONLY = "GROUP_DATA_ACCESS_READ_ONLY"
    GROUP_AGENT = "GROUP_AGENT"

    @property
    def is_global(self) -> bool:
        """Whether the role is granted in the whole installation."""
        return self.startswith("GLOBAL_")

    @property
    def is_org(self) -> bool:
        """Whether the role is granted in an organization."""
        return self.startswith("ORG_")

    @property
    def is_group(self) -> bool:
        """Whether the role is granted in a project."""
        return self.startswith("GROUP_")


@dataclass(frozen=True, slots=True)
class RoleWords:
    """A role for people: its `name`, and what it `allows`, in one line."""

    name: str
    allows: str


ROLE_WORDS: Mapping[Role, RoleWords] = {
    Role.GLOBAL_OWNER: RoleWords("Global owner", "everything, in all organizations and projects"),
    Role.GLOBAL_READ_ONLY: RoleWords("Global reader", "read everything"),
    Role.GLOBAL_MONITORING_ADMIN: RoleWords(
        "Global operator",
        "acknowledge alerts, mute them, and change alert configurations, hosts and agents in all projects; "
        "change global alert configurations",
    ),
    Role.GLOBAL_USER_ADMIN: RoleWords(
        "Global user administrator", "create users, invite people and give roles everywhere; read everything"
    ),
    Role.GLOBAL_BACKUP_ADMIN: RoleWords(
        "Global backup administrator", "read everything; for backup tools that check the role"
    ),
    Role.GLOBAL_AUTOMATION_ADMIN: RoleWords(
        "Global automation administrator",
        "change hosts and publish automation configurations in all projects",
    ),
    Role.ORG_OWNER: RoleWords(
        "Organization owner", "everything in the organization and all its projects, including invitations"
    ),
    Role.ORG_GROUP_CREATOR: RoleWords(
        "Project creator", "create projects in the organization, and own these projects"
    ),
    Role.ORG_READ_ONLY: RoleWords("Organization reader", "read the organization and all its projects"),
    Role.ORG_MEMBER: RoleWords(
        "Organization member", "see the organization, its teams and members, but none of its projects"
    ),
    Role.GROUP_OWNER: RoleWords("Project owner", "everything in the project, including invitations"),
    Role.GROUP_READ_ONLY: RoleWords("Reader", "read the project"),
    Role.GROUP_MONITORING_ADMIN: RoleWords(
        "Operator", "acknowledge alerts, mute them, and change alert configurations, hosts and agents"
    ),
    Role.GROUP_USER_ADMIN: RoleWords(
        "User administrator", "invite people, change API keys and the roles of users and teams"
    ),
    Role.GROUP_BACKUP_ADMIN: RoleWords(
        "Backup administrator", "read the project; for backup tools that check the role"
    ),
    Role.GROUP_AUTOMATION_ADMIN: RoleWords(
        "Automation administrator", "change hosts and publish the automation configuration, with its secrets"
    ),
    Role.GROUP_DATA_ACCESS_ADMIN: RoleWords(
        "Data administrator", "read the project; for data tools that check the role"
    ),
    Role.GROUP_DATA_ACCESS_READ_WRITE: RoleWords(
        "Data writer", "read the project; for data tools that check the role"
    ),
    Role.GROUP_DATA_ACCESS_READ_ONLY: RoleWords(
        "Data reader", "read the project; for data tools that check the role"
    ),
    Role.GROUP_AGENT: RoleWords(
        "Agent", "send reports and read the settings of agents, nothing else; for the keys of agents"
    ),
}
"""Role → its words. The only place that describes roles to people; pages show the wire value next to them."""


def role_names(roles: Iterable[Role], *, conjunction: str = "or") -> str:
    """Return the names of the roles in a sentence: `Project owner, Reader or Operator`."""
    *others, last = [ROLE_WORDS[role].name for role in roles]
    return f"{', '.join(others)} {conjunction} {last}" if others else last


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a required role: a project (with its organization), an organization, or everywhere."""

    org_id: str | None = None
    group_id: str | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A role and its scope; both IDs are None for a global role."""

    role: Role
    org_id: str | None = None
    group_id: str | None = None

    @property
    def scope(self) -> Scope:
        """The scope of the grant; a project without its organization."""
        return Scope(org_id=self.org_id, group_id=self.group_id)


INSTALLATION = Scope()

_GROUP_ROLES = frozenset(role for role in Role if role.is_group)
_ORG_ROLES = frozenset(role for role in Role if role.is_org)


def _directly_implied(role: Role) -> frozenset[Role]:
    if role is Role.GLOBAL_OWNER:
        return frozenset(Role)
    if role is Role.ORG_OWNER:
        return _ORG_ROLES | _GROUP_ROLES
    if role is Role.GROUP_OWNER:
        return _GROUP_ROLES
    implied: set[Role] = set()
    if role.is_global:
        suffix = role.removeprefix("GLOBAL_")
        implied.add(Role.GLOBAL_READ_ONLY)
        implied |= {other for other in _GROUP_ROLES | _ORG_ROLES if other.split("_", 1)[1] == suffix}
    elif role.is_org:
        implied.add(Role.ORG_MEMBER)
        if role is Role.ORG_READ_ONLY:
            implied.add(Role.GROUP_READ_ONLY)
    elif role is not Role.GROUP_AGENT:
        implied.add(Role.GROUP_READ_ONLY)
    return frozenset(implied)


def _closure(role: Role) -> frozenset[Role]:
    closure, open_roles = {role}, [role]
    while open_roles:
        fresh = _directly_implied(open_roles.pop()) - closure
        closure |= fresh
        open_roles.extend(fresh)
    return frozenset(closure)


IMPLIED: Mapping[Role, frozenset[Role]] = {role: _closure(role) for role in Role}
"""Role → all roles that it implies, in its own scope and below, including itself."""


READING = frozenset({Role.GROUP_READ_ONLY, Role.ORG_MEMBER})
"""Users with any of these roles, directly or implied, can read something."""


def _reaches(grant: Grant, scope: Scope) -> bool:
    if grant.group_id is not None:
        return grant.group_id == scope.group_id
    if grant.org_id is not None:
        return grant.org_id == scope.org_id
    return grant.role.is_global


def satisfies(grants: Iterable[Grant], wanted: Role, scope: Scope) -> bool:
    """Whether a grant is, or implies, the wanted role in the scope."""
    return satisfies_any(grants, [wanted], scope)


def satisfies_any(grants: Iterable[Grant], wanted: Iterable[Role], scope: Scope) -> bool:
    """Whether a grant is, or implies, any of the wanted roles in the scope."""
    roles = frozenset(wanted)
    return any(_reaches(grant, scope) and not roles.isdisjoint(IMPLIED[grant.role]) for grant in grants)


def holds_somewhere(grants: Iterable[Grant], wanted: Iterable[Role]) -> bool:
    """Whether a grant is, or implies, any of the wanted roles, whatever its scope is."""
    roles = frozenset(wanted)
    return any(not roles.isdisjoint(IMPLIED[grant.role]) for grant in grants)


def reaches_group(grants: Iterable[Grant], scope: Scope) -> bool:
    """Whether a grant applies to the project: a role in it, or a role that implies a role in it."""
    return any(_reaches(grant, scope) and IMPLIED[grant.role] & _GROUP_ROLES for grant in grants)
