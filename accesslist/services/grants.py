"""Grants and revokes roles of users, keys and teams, and keeps the last Global Owner.

`accesslist.rules.role_requests` decides whether the caller may grant a role.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from accesslist.models import ApiKey, RoleGrant, Team, User
from accesslist.rules.role_requests import (
    ExistingScopes,
    RoleRequest,
    refuse_roles_not_held,
    refuse_unknown_scopes,
)
from accesslist.selectors.keys import within
from accesslist.services.locks import scopes_lock_shared
from accesslist.services.revocations import keys_revoke, member_ids, users_revoke
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor
from opsapi.roles import INSTALLATION, Grant, Role, Scope

Holder = ApiKey | User | Team


def grants_create(grants: Sequence[Grant], *, holder: Holder) -> None:
    """Grant the roles to a new holder in the caller's transaction, which keeps their scopes from deletion.

    Raises:
        ApiError: GROUP_NOT_FOUND, ORG_NOT_FOUND, if a scope was deleted in the meantime.
    """
    column, places = _column(holder), _scopes_lock_shared(grants)
    for grant in grants:
        if grant.group_id is not None and grant.group_id not in places.orgs_of_groups:
            raise ApiError(ErrorCode.GROUP_NOT_FOUND, grant.group_id)
        if grant.org_id is not None and grant.org_id not in places.orgs:
            raise ApiError(ErrorCode.ORG_NOT_FOUND, grant.org_id)
    RoleGrant.objects.bulk_create(
        RoleGrant(role=grant.role.value, org_id=grant.org_id, project_id=grant.group_id, **{column: holder})
        for grant in dict.fromkeys(grants)
    )


def grants_of(holder: Holder, here: Scope = INSTALLATION) -> list[Grant]:
    """Return the roles in the scope, oldest first. To replace them, lock the holder first."""
    rows = RoleGrant.objects.filter(within(here), **{_column(holder): holder}).order_by("id")
    return [row.grant for row in rows]


def grants_admit(request: RoleRequest, *, added: Collection[Grant]) -> None:
    """Refuse the requested roles if the caller may not grant the `added` roles, in the caller's transaction.

    Raises:
        ApiError: CANNOT_ADD_GLOBAL_ROLE, ROLE_NOT_HELD, INVALID_ATTRIBUTE.
    """
    places = _scopes_lock_shared(request.grants())
    refuse_roles_not_held(added, by=request.by, orgs_of_groups=places.orgs_of_groups)
    refuse_unknown_scopes(request.asked, places=places, here=request.here)


def grants_replace(
    *,
    holder: Holder,
    current: Collection[Grant],
    wanted: Collection[Grant],
    actor: Actor,
    now: datetime,
) -> None:
    """Replace the holder's `current` roles by the `wanted` roles; all other roles stay.

    First call `actor_lock_in_turn`, then `identities_lock_exclusive` for the key, the user or the members.

    Raises:
        ApiError: CANNOT_DEMOTE_LAST_OWNER.
    """
    held, asked = frozenset(current), frozenset(wanted)
    if held - asked:
        _keep_an_owner(holder, held - asked)
        _delete(holder, held - asked)
        _revoke(holder, actor, now)
    grants_create([grant for grant in wanted if grant not in held], holder=holder)


def _scopes_lock_shared(grants: Collection[Grant]) -> ExistingScopes:
    """As `accesslist.services.locks.scopes_lock_shared`, for the scopes of the grants."""
    groups = {grant.group_id for grant in grants if grant.group_id}
    orgs = {grant.org_id for grant in grants if grant.org_id}
    return scopes_lock_shared(groups=groups, orgs=orgs)


def _delete(holder: Holder, removed: Collection[Grant]) -> None:
    rows = RoleGrant.objects.filter(**{_column(holder): holder})
    gone = [row.pk for row in rows if row.grant in removed]
    rows.filter(id__in=gone).delete()


def _revoke(holder: Holder, actor: Actor, now: datetime) -> None:
    if isinstance(holder, ApiKey):
        keys_revoke(ids=[holder.id], actor=actor)
    elif isinstance(holder, User):
        users_revoke(ids=[holder.id], actor=actor, now=now)
    else:
        users_revoke(ids=member_ids(holder.id), actor=actor, now=now)


def _keep_an_owner(holder: Holder, removed: Collection[Grant]) -> None:
    """Refuse to revoke GLOBAL_OWNER of the last user, or the last key, that has it."""
    if Grant(Role.GLOBAL_OWNER) not in removed:
        return
    column = _column(holder)
    owners = RoleGrant.objects.filter(role=Role.GLOBAL_OWNER.value, **{f"{column}__isnull": False})
    if not owners.exclude(**{column: holder}).exists():
        raise ApiError(ErrorCode.CANNOT_DEMOTE_LAST_OWNER)


def _column(holder: Holder) -> str:
    if isinstance(holder, ApiKey):
        return "api_key"
    return "user" if isinstance(holder, User) else "team"
