"""Keys and users as principals of a request (opsapi.api.principal), with their granted roles."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence

from django.utils.functional import cached_property

from accesslist.digest.store import CallerRecord
from accesslist.projects.models import Organization, Project
from accesslist.projects.store import visible_projects
from accesslist.users.models import User
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, needs_role
from opsapi.api.principal import Actor, ActorKind, Group, VisibleScope
from opsapi.fields import Among
from opsapi.ids import is_id
from opsapi.roles import (
    INSTALLATION,
    Grant,
    Role,
    Scope,
    holds_somewhere,
    reaches_group,
    satisfies,
    satisfies_any,
)
from opsapi.time_zones import UTC_NAME

_FIRST_GROUPS = 200


class GrantsPrincipal(ABC):
    """A caller with the roles at the time of the request."""

    def __init__(
        self,
        grants: Sequence[Grant],
        *,
        kind: ActorKind,
        id: str,
        name: str,
        address: str | None,
        revocations: int | None,
        hostnames: frozenset[str] = frozenset(),
    ):
        self.grants = tuple(grants)
        self._actor = Actor(
            kind=kind,
            id=id,
            name=name,
            is_global_admin=self.holds(Role.GLOBAL_OWNER, INSTALLATION),
            remote_address=address,
            revocations=revocations,
            hostnames=hostnames,
        )

    def actor(self) -> Actor:
        """The key or the user."""
        return self._actor

    def holds(self, role: Role, scope: Scope) -> bool:
        """Whether the caller has the role in the scope, directly or implied."""
        return satisfies(self.grants, role, scope)

    def holds_somewhere(self, roles: Collection[Role]) -> bool:
        """See `opsapi.api.principal.Operator`."""
        return holds_somewhere(self.grants, roles)

    @property
    def is_global(self) -> bool:
        """Whether the caller has any global role."""
        return any(grant.role.is_global for grant in self.grants)

    def visible_scope(self) -> VisibleScope:
        """See `opsapi.api.principal.Operator`."""
        return self._visible_scope

    @cached_property
    def _visible_scope(self) -> VisibleScope:
        if self.is_global:
            return VisibleScope(everything=True)
        orgs = frozenset(grant.org_id for grant in self.grants if grant.org_id)
        groups = visible_projects(self.grants).values_list("id", flat=True)
        return VisibleScope(org_ids=orgs, group_ids=frozenset(groups))

    def authorise(self, roles: Sequence[Role]) -> None:
        """See `opsapi.api.principal.Principal`."""
        self._require(roles, INSTALLATION)

    def authorise_group(self, roles: Sequence[Role], group_id: str) -> Group:
        """See `opsapi.api.principal.Principal`."""
        if not is_id(group_id):
            raise ApiError(ErrorCode.INVALID_GROUP_ID, group_id)
        group = self._group(group_id)
        scope = Scope(org_id=group.org_id if group else None, group_id=group_id)
        if not self.is_global and (group is None or not reaches_group(self.grants, scope)):
            raise ApiError(ErrorCode.NOT_IN_GROUP, group_id)
        self._require(roles, scope)
        if group is None:
            raise ApiError(ErrorCode.GROUP_NOT_FOUND, group_id)
        return group

    def authorise_org(self, roles: Sequence[Role], org_id: str) -> None:
        """See `opsapi.api.principal.Principal`."""
        if not is_id(org_id):
            raise ApiError(ErrorCode.INVALID_ORG_ID, org_id)
        self._require(roles, Scope(org_id=org_id))
        if not Organization.objects.filter(id=org_id).exists():
            raise ApiError(ErrorCode.ORG_NOT_FOUND, org_id)

    def authorise_at(self, roles: Sequence[Role], scope: Scope) -> None:
        """See `opsapi.api.principal.Operator`."""
        if scope.group_id is not None:
            self.authorise_group(roles, scope.group_id)
        elif scope.org_id is not None:
            self.authorise_org(roles, scope.org_id)
        else:
            self.authorise(roles)

    def _require(self, roles: Sequence[Role], scope: Scope) -> None:
        if not satisfies_any(self.grants, roles, scope):
            raise needs_role(roles)

    @abstractmethod
    def _group(self, group_id: str) -> Group | None:
        """Return the project; None if it does not exist."""


class KeyPrincipal(GrantsPrincipal):
    """An authenticated API key. The project in the path was read with it."""

    def __init__(
        self, record: CallerRecord, public_key: str, remote_address: str | None, *, is_exempt: bool
    ) -> None:
        super().__init__(
            record.grants,
            kind=ActorKind.KEY,
            id=record.key_id or "",
            name=public_key,
            address=remote_address,
            revocations=record.revocations,
            hostnames=record.hostnames,
        )
        self.is_exempt = is_exempt
        """Whether the caller's address is exempt from access lists (OPSAPI_ACCESS_LIST_EXEMPT)."""
        self._group_of_path = record.group

    def _group(self, group_id: str) -> Group | None:
        return self._group_of_path


class UserPrincipal(GrantsPrincipal):
    """A user logged in to the console, with their own roles and the roles of their teams."""

    def __init__(self, user: User, remote_address: str | None, *, time_zone: str = UTC_NAME) -> None:
        # The user was read before the roles, so a role revoked in between counts as revoked.
        super().__init__(
            user.grants_held,
            kind=ActorKind.USER,
            id=user.id,
            name=user.username,
            address=remote_address,
            revocations=user.revocations,
        )
        self.time_zone = time_zone
        self._groups: dict[str, Group | None] = {}

    def groups(self, *, ids: Collection[str] | None = None, name: str | None = None) -> list[Group]:
        """See `opsapi.api.principal.Operator`."""
        rows = visible_projects(self.grants).order_by("name").values_list("id", "name", "org_id")
        if name is not None:
            rows = rows.filter(name=name)
        if ids is not None:
            return [Group(*row) for row in rows.filter(Among("id", ids))]
        return [Group(*row) for row in rows[:_FIRST_GROUPS]]

    def _group(self, group_id: str) -> Group | None:
        if group_id not in self._groups:
            row = Project.objects.filter(id=group_id).values_list("id", "name", "org_id").first()
            self._groups[group_id] = Group(*row) if row else None
        return self._groups[group_id]
