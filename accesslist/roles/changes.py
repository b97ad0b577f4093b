"""Roles of keys, users and teams: granted, replaced, revoked, and what a revocation ends.

`accesslist.roles.rules` decides whether the caller may grant a role.
"""

from collections.abc import Collection, Sequence
from datetime import datetime

from django.db.models import Exists, F, OuterRef, QuerySet

from accesslist.changes import acting
from accesslist.keys.models import ApiKey
from accesslist.locks import scopes_lock_shared
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import (
    ExistingScopes,
    RoleRequest,
    administers,
    refuse_elsewhere,
    refuse_roles_not_held,
    refuse_unknown_scopes,
    scope_of,
)
from accesslist.roles.store import orgs_of_groups, wire_roles, within
from accesslist.teams.models import Team
from accesslist.users.models import User
from accesslist.users.store import Membership, VisibleUsers
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import NewEvent, events_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import IMPLIED, INSTALLATION, READING, Grant, Role, Scope

_ENTERING = [role.value for role in Role if not IMPLIED[role].isdisjoint(READING)]


def keys_revoke(*, ids: Collection[str], actor: Actor) -> None:
    """Refuse writes of these keys that were authenticated with the old roles and the old access list.

    The acting key continues: it may write to many projects at once.
    """
    ApiKey.objects.filter(id__in=ids).exclude(id=actor.id).update(revocations=F("revocations") + 1)


def users_revoke(*, ids: Collection[str], actor: Actor, now: datetime) -> None:
    """Refuse writes of these users that were authenticated with the old roles.

    Sessions of users without a role end, and stay ended when the user gets a role again. Writes of the acting
    user go on, because an action on many rows may also revoke roles of the user's own teams.
    """
    users = User.objects.filter(id__in=ids)
    users.exclude(id=actor.id).update(revocations=F("revocations") + 1)
    own = RoleGrant.objects.filter(user_id=OuterRef("id"), role__in=_ENTERING)
    by_team = Membership.objects.filter(user_id=OuterRef("id"), team__grants__role__in=_ENTERING)
    users.filter(~Exists(own), ~Exists(by_team)).update(sessions_ended=now)


def members_of(*team_ids: str) -> QuerySet[User, str]:
    """The IDs of the members of the teams."""
    return User.objects.filter(teams__in=team_ids).distinct().values_list("id", flat=True)


Holder = ApiKey | User | Team


def grants_create(grants: Sequence[Grant], *, holder: Holder) -> None:
    """Grant the roles to a new holder in the caller's transaction, which keeps their scopes from deletion.

    Raises:
        ApiError: GROUP_NOT_FOUND, ORG_NOT_FOUND, if a scope was deleted in the meantime.
    """
    column, existing = _column(holder), _scopes_lock_shared(grants)
    for grant in grants:
        if grant.group_id is not None and grant.group_id not in existing.orgs_of_groups:
            raise ApiError(ErrorCode.GROUP_NOT_FOUND, grant.group_id)
        if grant.org_id is not None and grant.org_id not in existing.orgs:
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
    existing = _scopes_lock_shared(request.grants())
    refuse_roles_not_held(added, by=request.by, orgs_of_groups=existing.orgs_of_groups)
    refuse_unknown_scopes(request.asked, existing=existing, here=request.here)


def grants_replace(
    *,
    holder: Holder,
    current: Collection[Grant],
    wanted: Collection[Grant],
    actor: Actor,
    now: datetime,
) -> None:
    """Replace the holder's `current` roles by the `wanted` roles; all other roles stay.

    Call it in an act that `ends` the key, the user or the members.

    Raises:
        ApiError: CANNOT_DEMOTE_LAST_OWNER.
    """
    held, asked = frozenset(current), frozenset(wanted)
    if held - asked:
        _keep_an_owner(holder, held - asked)
        _delete(holder, held - asked)
        _end_access(holder, actor, now)
    grants_create([grant for grant in wanted if grant not in held], holder=holder)


def _scopes_lock_shared(grants: Collection[Grant]) -> ExistingScopes:
    """As `accesslist.locks.scopes_lock_shared`, for the scopes of the grants."""
    groups = {grant.group_id for grant in grants if grant.group_id}
    orgs = {grant.org_id for grant in grants if grant.org_id}
    return scopes_lock_shared(groups=groups, orgs=orgs)


def _delete(holder: Holder, removed: Collection[Grant]) -> None:
    rows = RoleGrant.objects.filter(**{_column(holder): holder})
    gone = [row.pk for row in rows if row.grant in removed]
    rows.filter(id__in=gone).delete()


def _end_access(holder: Holder, actor: Actor, now: datetime) -> None:
    if isinstance(holder, ApiKey):
        keys_revoke(ids=[holder.id], actor=actor)
    elif isinstance(holder, User):
        users_revoke(ids=[holder.id], actor=actor, now=now)
    else:
        users_revoke(ids=list(members_of(holder.id)), actor=actor, now=now)


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


def user_lock(user_id: str) -> User:
    """Lock the user until the transaction ends, and return it.

    Raises:
        ApiError: USER_NOT_FOUND.
    """
    user = User.objects.select_for_update().filter(id=user_id).first()
    return get_or_404(user, ErrorCode.USER_NOT_FOUND, user_id)


def refuse_own_roles(user: User, actor: Actor) -> None:
    """Refuse a change of the caller's own roles.

    Raises:
        ApiError: CANNOT_CHANGE_OWN_ROLES.
    """
    if actor.kind is ActorKind.USER and actor.id == user.id:
        raise ApiError(ErrorCode.CANNOT_CHANGE_OWN_ROLES)


def user_roles_replace(
    *, user_id: str, roles: RoleRequest, seen_in: VisibleUsers, actor: Actor, now: datetime
) -> None:
    """Replace the user's roles in the scopes that the caller administers; other roles stay.

    Wrong roles are refused before an unknown user, so that refusals do not reveal which IDs exist.
    `seen_in`: the users that the caller sees.

    Raises:
        ApiError: USER_NOT_FOUND, USER_UNAUTHORIZED, CANNOT_CHANGE_OWN_ROLES, CANNOT_DEMOTE_LAST_OWNER,
            and the errors of `accesslist.roles.changes.grants_admit`.
    """
    with acting(actor, now, ends=[user_id]):
        user, wanted = User.objects.select_for_update().filter(id=user_id).first(), roles.grants()
        current = grants_of(user) if user else []
        orgs = orgs_of_groups([*current, *wanted])
        visible_grants = [grant for grant in current if seen_in.shows(scope_of(grant, orgs))]
        refuse_elsewhere(wanted, visible_grants=visible_grants, by=roles.by, orgs_of_groups=orgs)
        before, after = (
            [grant for grant in grants if administers(roles.by, grant, orgs)] for grants in (current, wanted)
        )
        if user and set(before) == set(after):
            return
        if user:
            refuse_own_roles(user, actor)
        grants_admit(roles, added=[grant for grant in after if grant not in current])
        user = get_or_404(user, ErrorCode.USER_NOT_FOUND, user_id)
        grants_replace(holder=user, current=before, wanted=after, actor=actor, now=now)
        role_changes_record(user=user, old=before, new=after, actor=actor, now=now)


def role_changes_record(
    *,
    user: User,
    old: Sequence[Grant],
    new: Sequence[Grant],
    actor: Actor,
    now: datetime,
    was_invited: bool = False,
    signals: bool = True,
) -> None:
    """Record the change in each project, each organization and the installation, with its own roles only.

    `was_invited`: an earlier event says that the user was invited. `signals`: whether the events notify.
    """
    for scope in dict.fromkeys(grant.scope for grant in (*old, *new)):
        before, after = ([grant for grant in grants if grant.scope == scope] for grants in (old, new))
        events = role_changes(user, scope, old=before, new=after, was_invited=was_invited, signals=signals)
        events_record(events=events, actor=actor, now=now, group_id=scope.group_id, org_id=scope.org_id)


def role_changes(
    user: User,
    scope: Scope,
    *,
    old: Sequence[Grant],
    new: Sequence[Grant],
    was_invited: bool = False,
    signals: bool = True,
) -> list[NewEvent]:
    """Return the events of a scope in which the user's roles changed from `old` to `new`.

    INVITED_TO_GROUP is among them if the user has never logged in, unless the user `was_invited` before.
    """
    if set(old) == set(new):
        return []
    return [
        NewEvent(
            event_type=event_type,
            facts=EventFacts(target_username=user.username),
            diffs=diff(DiffType.ROLES, user.id, old=_roles(old), new=_roles(new)),
            signals=signals,
        )
        for event_type in _events_of(scope, old, new, is_stranger=user.last_login is None and not was_invited)
    ]


def _events_of(
    scope: Scope, before: Sequence[Grant], after: Sequence[Grant], *, is_stranger: bool
) -> list[EventType]:
    recorded = [EventType.USER_ROLES_CHANGED_AUDIT]
    if scope != INSTALLATION and not (before and after):
        in_group = scope.group_id is not None
        joined = EventType.JOINED_GROUP if in_group else EventType.JOINED_ORG
        left = EventType.REMOVED_FROM_GROUP if in_group else EventType.REMOVED_FROM_ORG_AUDIT
        recorded.append(left if before else joined)
        if in_group and not before and is_stranger:
            recorded.append(EventType.INVITED_TO_GROUP)
    return recorded


def _roles(grants: Sequence[Grant]) -> dict[str, object] | None:
    """The roles as in the document of a user; None without roles, so that a diff says NEW or REMOVED."""
    return {"roles": wire_roles(grants)} if grants else None
