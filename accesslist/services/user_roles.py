"""The roles of users: administrators of a scope change them, and each scope records its own roles."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accesslist.models import User
from accesslist.rules.administration import administers, refuse_elsewhere
from accesslist.rules.role_requests import RoleRequest, scope_of
from accesslist.selectors.keys import present_grants
from accesslist.selectors.users import Sight, orgs_of_groups
from accesslist.services.grants import grants_admit, grants_of, grants_replace
from accesslist.services.locks import actor_lock_in_turn, identities_lock_exclusive
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import NewEvent, events_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, get_or_404
from opsapi.api.principal import Actor, ActorKind
from opsapi.roles import INSTALLATION, Grant, Scope


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


@transaction.atomic
def user_roles_replace(
    *, user_id: str, roles: RoleRequest, seen_in: Sight, actor: Actor, now: datetime
) -> None:
    """Replace the user's roles in the scopes that the caller administers; other roles stay.

    Wrong roles are refused before an unknown user, so that refusals do not reveal which IDs exist.
    `seen_in`: the caller's sight of users.

    Raises:
        ApiError: USER_NOT_FOUND, USER_UNAUTHORIZED, CANNOT_CHANGE_OWN_ROLES, CANNOT_DEMOTE_LAST_OWNER,
            and the errors of `accesslist.services.grants.grants_admit`.
    """
    actor_lock_in_turn(actor)
    identities_lock_exclusive([user_id])
    user, wanted = User.objects.select_for_update().filter(id=user_id).first(), roles.grants()
    current = grants_of(user) if user else []
    orgs = orgs_of_groups([*current, *wanted])
    shown = [grant for grant in current if seen_in.shows(scope_of(grant, orgs))]
    refuse_elsewhere(wanted, shown=shown, by=roles.by, orgs_of_groups=orgs)
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
    *, user: User, old: Sequence[Grant], new: Sequence[Grant], actor: Actor, now: datetime
) -> None:
    """Record the change in each project, each organization and the installation, with its own roles only."""
    for place in dict.fromkeys(grant.scope for grant in (*old, *new)):
        before, after = ([grant for grant in grants if grant.scope == place] for grants in (old, new))
        events = role_changes(user, place, old=before, new=after)
        events_record(events=events, actor=actor, now=now, group_id=place.group_id, org_id=place.org_id)


def role_changes(user: User, place: Scope, *, old: Sequence[Grant], new: Sequence[Grant]) -> list[NewEvent]:
    """Return the events of a scope in which the user's roles changed from `old` to `new`."""
    if set(old) == set(new):
        return []
    return [
        NewEvent(
            event_type=event_type,
            facts=EventFacts(target_username=user.username),
            diffs=diff(DiffType.ROLES, user.id, old=_roles(old), new=_roles(new)),
        )
        for event_type in _events_of(user, place, old, new)
    ]


def _events_of(user: User, place: Scope, before: Sequence[Grant], after: Sequence[Grant]) -> list[EventType]:
    """Return the events of a role change, with INVITED_TO_GROUP if the user has never logged in."""
    recorded = [EventType.USER_ROLES_CHANGED_AUDIT]
    if place != INSTALLATION and not (before and after):
        in_group = place.group_id is not None
        joined = EventType.JOINED_GROUP if in_group else EventType.JOINED_ORG
        left = EventType.REMOVED_FROM_GROUP if in_group else EventType.REMOVED_FROM_ORG_AUDIT
        recorded.append(left if before else joined)
        if in_group and not before and user.last_login is None:
            recorded.append(EventType.INVITED_TO_GROUP)
    return recorded


def _roles(grants: Sequence[Grant]) -> dict[str, object] | None:
    """The roles as in the document of a user; None without roles, so that a diff says NEW or REMOVED."""
    return {"roles": present_grants(grants)} if grants else None
