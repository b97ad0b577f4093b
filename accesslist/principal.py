"""A key as the principal of a request (opsapi.api.principal)."""

from collections.abc import Sequence

from accesslist.credentials import CallerRecord
from accesslist.models import Organization
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, ActorKind, Group
from opsapi.ids import is_id
from opsapi.roles import INSTALLATION, Grant, Role, Scope, reaches_group, satisfies


class KeyPrincipal:
    """An API key that has proved to know its private part; roles as they were when the request came."""

    def __init__(
        self, record: CallerRecord, public_key: str, remote_address: str | None, *, is_exempt: bool
    ) -> None:
        self.grants: tuple[Grant, ...] = record.grants
        self.is_exempt = is_exempt
        """Whether no access list applies where the caller is (OPSAPI_ACCESS_LIST_EXEMPT)."""
        self._group = record.group
        self._actor = Actor(
            kind=ActorKind.KEY,
            id=record.key_id,
            name=public_key,
            is_global_admin=self.holds(Role.GLOBAL_OWNER, INSTALLATION),
            remote_address=remote_address,
        )

    def actor(self) -> Actor:
        """The key."""
        return self._actor

    def holds(self, role: Role, scope: Scope) -> bool:
        """Whether the role is held there, directly or implied."""
        return satisfies(self.grants, role, scope)

    @property
    def is_global(self) -> bool:
        """Whether any global role is held."""
        return any(grant.role.is_global for grant in self.grants)

    def authorise(self, roles: Sequence[Role]) -> None:
        """See `opsapi.api.principal.Principal`."""
        self._require(roles, INSTALLATION)

    def authorise_group(self, roles: Sequence[Role], group_id: str) -> Group:
        """See `opsapi.api.principal.Principal`."""
        if not is_id(group_id):
            raise ApiError(ErrorCode.INVALID_GROUP_ID, group_id)
        group = self._group
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

    def _require(self, roles: Sequence[Role], scope: Scope) -> None:
        if not any(self.holds(role, scope) for role in roles):
            raise ApiError(ErrorCode.USER_UNAUTHORIZED, " or ".join(role.value for role in roles))
