"""Teams of an organization, their members, and their roles in projects.

The order of locks is: users who leave, the organization, the team, users who join. It rules out deadlocks.
Organizations record members, projects record roles.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from accesslist.hooks import team_deleting
from accesslist.models import RoleGrant, Team, User
from accesslist.rules.references import refuse_unknown_and_repeated
from accesslist.rules.role_requests import refuse_roles_not_held
from accesslist.rules.usernames import username_key
from accesslist.selectors.organizations import teams_of
from accesslist.selectors.users import Membership, VisibleUsers, visible_users
from accesslist.serializers.organizations import (
    MOST_JOINING,
    MOST_MEMBERS,
    AskedMember,
    AskedTeam,
    TeamDocument,
)
from accesslist.services.grants import (
    grants_create,
    grants_of,
    grants_replace,
    member_ids,
    members_lock_exclusive,
    role_changes,
    users_revoke,
)
from accesslist.services.locks import (
    actor_lock_in_turn,
    identities_lock_exclusive,
    organization_lock_shared,
    project_lock_shared,
)
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import NewEvent, event_record, events_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, get_or_404
from opsapi.api.principal import Actor, Group
from opsapi.roles import Grant, Role, Scope


@transaction.atomic
def team_create(
    *,
    org_id: str,
    values: Mapping[str, Any],
    members: Sequence[AskedMember],
    seen_in: VisibleUsers,
    actor: Actor,
    now: datetime,
) -> Team:
    """Create a team; users without a role in the organization become ORG_MEMBER.

    `values`: the columns. Names need not be unique. `seen_in`: the users that the caller sees; others, who
    belong only to other organizations, are unknown to the caller.

    Raises:
        ApiError: ORG_NOT_FOUND, INVALID_ATTRIBUTE for users that the caller does not know, that are
            named twice, or that are too many.
    """
    actor_lock_in_turn(actor)
    organization_lock_shared(org_id=org_id)
    users = _joining(members, _users(members, seen_in))
    team = Team.objects.create(org_id=org_id, created=now, **values)
    team.members.set(users)
    _record_change(team=team, new=TeamDocument.stored(team), actor=actor, now=now)
    _joined(team, users, actor, now)
    return team


@transaction.atomic
def team_update(
    *,
    team_id: str,
    org_id: str,
    changes: Mapping[str, Any],
    members: Sequence[AskedMember] | None = None,
    seen_in: VisibleUsers,
    actor: Actor,
    now: datetime,
) -> None:
    """Change the columns in `changes`, or replace the members; None keeps them.

    Raises:
        ApiError: TEAM_NOT_FOUND, and the errors of `team_create`.
    """
    actor_lock_in_turn(actor)
    if members is not None:
        members_lock_exclusive(team_id)
    team = _lock(team_id=team_id, org_id=org_id)
    before = TeamDocument.stored(team)
    current = list(team.members.order_by("username_key"))
    wanted = current if members is None else _users(members, seen_in)
    staying = set(current) & set(wanted)
    joining = [] if members is None else _joining(members, wanted, staying)
    for name, value in changes.items():
        setattr(team, name, value)
    team.save(update_fields=list(changes))
    team.members.set(wanted)
    left = [user for user in current if user not in staying]
    users_revoke(ids=[user.id for user in left], actor=actor, now=now)
    after = TeamDocument.stored(team)
    _record_change(team=team, old=before, new=after, actor=actor, now=now)
    members_left(team, left, actor, now)
    _joined(team, joining, actor, now)


@transaction.atomic
def team_delete(*, team_id: str, org_id: str, actor: Actor, now: datetime) -> None:
    """Delete the team and its roles in projects; its members stay in the organization.

    Raises:
        ApiError: TEAM_NOT_FOUND.
    """
    actor_lock_in_turn(actor)
    members_lock_exclusive(team_id)
    team = _lock(team_id=team_id, org_id=org_id)
    members = member_ids(team_id)
    facts, grants = TeamDocument.stored(team), grants_of(team)
    team_deleting.send(sender=Team, team=team, actor=actor, now=now)
    for group_id in dict.fromkeys(grant.group_id for grant in grants if grant.group_id):
        held = [grant for grant in grants if grant.group_id == group_id]
        _record_roles(team=team, group_id=group_id, old=held, new=(), actor=actor, now=now)
    _record_change(team=team, old=facts, actor=actor, now=now)
    team.delete()
    users_revoke(ids=members, actor=actor, now=now)


@transaction.atomic
def teams_delete(*, org_id: str, actor: Actor, now: datetime) -> None:
    """Delete all teams of an organization that is locked and has no projects, so that no team has a role.

    As `team_delete`, but the number of statements does not depend on the number of teams.
    """
    facts = {row["id"]: row for row in map(TeamDocument.facts, TeamDocument.rows(teams_of(org_id)))}
    teams = Team.objects.select_for_update().filter(org_id=org_id).order_by("id")
    for team in teams:
        team_deleting.send(sender=Team, team=team, actor=actor, now=now)
    events = [event for team in teams for event in _changes(team, facts[team.id], None)]
    events_record(events=events, actor=actor, now=now, org_id=org_id)
    teams.delete()


@transaction.atomic
def team_users_add(
    *,
    team_id: str,
    org_id: str,
    members: Sequence[AskedMember],
    seen_in: VisibleUsers,
    actor: Actor,
    now: datetime,
) -> None:
    """Add these users to the team; users who are members already stay members.

    Raises:
        ApiError: TEAM_NOT_FOUND, and the errors of `team_create`.
    """
    actor_lock_in_turn(actor)
    team = _lock(team_id=team_id, org_id=org_id)
    added = _joining(members, _users(members, seen_in), set(team.members.all()))
    team.members.add(*added)
    _joined(team, added, actor, now)


@transaction.atomic
def team_user_remove(*, team_id: str, org_id: str, user_id: str, actor: Actor, now: datetime) -> None:
    """Remove a user from the team; the user stays in the organization.

    Raises:
        ApiError: TEAM_NOT_FOUND, USER_NOT_FOUND.
    """
    actor_lock_in_turn(actor)
    identities_lock_exclusive([user_id])
    team = _lock(team_id=team_id, org_id=org_id)
    user = get_or_404(team.members.filter(id=user_id).first(), ErrorCode.USER_NOT_FOUND, user_id)
    team.members.remove(user)
    users_revoke(ids=[user_id], actor=actor, now=now)
    members_left(team, [user], actor, now)


def _lock(*, team_id: str, org_id: str) -> Team:
    """Lock the organization's team until the transaction ends, and return it.

    Raises:
        ApiError: ORG_NOT_FOUND, TEAM_NOT_FOUND.
    """
    organization_lock_shared(org_id=org_id)
    team = Team.objects.select_for_update().filter(id=team_id, org_id=org_id).first()
    return get_or_404(team, ErrorCode.TEAM_NOT_FOUND, team_id)


def _users(asked: Sequence[AskedMember], seen_in: VisibleUsers) -> list[User]:
    """Lock the named users until the transaction ends, and return them in the given order."""
    keys = [username_key(member.username) for member in asked if member.username is not None]
    ids = [member.user_id for member in asked if member.user_id is not None]
    # The weaker lock does not block the users' own requests.
    rows = User.objects.select_for_update(no_key=True).filter(Q(username_key__in=keys) | Q(id__in=ids))
    users = _known(list(rows.order_by("id")), seen_in)
    by_id, by_key = {user.id: user for user in users}, {user.username_key: user for user in users}
    named = [
        by_id.get(member.user_id or "")
        if member.username is None
        else by_key.get(username_key(member.username))
        for member in asked
    ]
    paths = [member.path for member in asked]
    refuse_unknown_and_repeated(zip(paths, named, strict=True), unknown="names no user")
    return [user for user in named if user is not None]


def _known(users: Sequence[User], seen_in: VisibleUsers) -> Sequence[User]:
    """The users who share an organization with the caller, and users without any role and team.

    Call it after the users are locked, so that only one of two organizations can add a new user.
    """
    if seen_in.everything:
        return users
    shared = Q(id__in=visible_users(seen_in).values("id"))
    roles, teams = (model.objects.filter(user_id=OuterRef("id")) for model in (RoleGrant, Membership))
    rows = User.objects.filter(id__in=[user.id for user in users])
    known = set(rows.filter(shared | ~(Exists(roles) | Exists(teams))))
    return [user for user in users if user in known]


def _joining(
    asked: Sequence[AskedMember], users: Sequence[User], staying: Collection[User] = frozenset()
) -> list[User]:
    """The requested users who are not members yet; refuses users beyond the limits."""
    joining = [(member, user) for member, user in zip(asked, users, strict=True) if user not in staying]
    room = max(0, min(MOST_JOINING, MOST_MEMBERS - len(staying)))
    if joining[room:]:
        message = (
            f"exceeds a limit: a request adds at most {MOST_JOINING} users, a team has at most {MOST_MEMBERS}"
        )
        bad = [BadField(member.path, ErrorCode.INVALID_ATTRIBUTE, message) for member, _ in joining[room:]]
        raise ApiError.of_fields(bad)
    return [user for _, user in joining]


def _joined(team: Team, users: Sequence[User], actor: Actor, now: datetime) -> None:
    """Record each user who joined; users who are not members of the organization yet become members."""
    held = RoleGrant.objects.filter(org_id=team.org_id, user__in=users)
    members = set(held.values_list("user_id", flat=True))
    member = Grant(Role.ORG_MEMBER, org_id=team.org_id)
    events: list[NewEvent] = []
    for user in users:
        if user.id not in members:
            grants_create([member], holder=user)
            events += role_changes(user, member.scope, old=(), new=[member])
        events.append(_membership(EventType.USER_ADDED_TO_TEAM, team, user, new=user.username))
    events_record(events=events, actor=actor, now=now, org_id=team.org_id)


@transaction.atomic
def group_teams_add(
    *, group: Group, asked: Sequence[AskedTeam], by: Sequence[Grant], actor: Actor, now: datetime
) -> None:
    """Give teams of the project's organization these roles, in place of the roles they have in the project.

    `by`: the caller's grants.

    Raises:
        ApiError: GROUP_NOT_FOUND, ROLE_NOT_HELD, INVALID_ATTRIBUTE for teams the organization does not
            have or that are named twice.
    """
    actor_lock_in_turn(actor)
    members_lock_exclusive(*(request.team_id for request in asked))
    project_lock_shared(group_id=group.id)
    teams = _locked(group, [request.team_id for request in asked])
    held = {team.id: grants_of(team, Scope(group_id=group.id)) for team in teams.values()}
    for request in asked:
        _refuse(_grants(group, request.roles), held.get(request.team_id, []), group, by)
    named = [(request.path, teams.get(request.team_id)) for request in asked]
    refuse_unknown_and_repeated(named, unknown="is not a team of the organization")
    for request in asked:
        team, wanted = teams[request.team_id], _grants(group, request.roles)
        _replace(team=team, group=group, held=held[team.id], wanted=wanted, actor=actor, now=now)


@transaction.atomic
def group_team_update(
    *,
    group: Group,
    team_id: str,
    roles: Sequence[Role],
    by: Sequence[Grant] = (),
    actor: Actor,
    now: datetime,
) -> None:
    """Replace the team's roles in the project; without `roles`, revoke all of them.

    Raises:
        ApiError: GROUP_NOT_FOUND, TEAM_NOT_FOUND, ROLE_NOT_HELD.
    """
    actor_lock_in_turn(actor)
    team, held = _in_project(group, team_id)
    wanted = _grants(group, roles)
    _refuse(wanted, held, group, by)
    _replace(team=team, group=group, held=held, wanted=wanted, actor=actor, now=now)


def _in_project(group: Group, team_id: str) -> tuple[Team, list[Grant]]:
    """Lock the team and return it with its roles in the project."""
    members_lock_exclusive(team_id)
    project_lock_shared(group_id=group.id)
    team = _locked(group, [team_id]).get(team_id)
    held = grants_of(team, Scope(group_id=group.id)) if team else []
    if team is None or not held:
        raise ApiError(ErrorCode.TEAM_NOT_FOUND, team_id)
    return team, held


def _locked(group: Group, ids: Sequence[str]) -> dict[str, Team]:
    """Lock and return the teams that belong to the project's organization, by ID."""
    rows = Team.objects.select_for_update().filter(org_id=group.org_id, id__in=ids)
    return {team.id: team for team in rows.order_by("id")}


def _grants(group: Group, roles: Sequence[Role]) -> list[Grant]:
    return [Grant(role, group_id=group.id) for role in dict.fromkeys(roles)]


def _refuse(wanted: Sequence[Grant], held: Sequence[Grant], group: Group, by: Sequence[Grant]) -> None:
    added = [grant for grant in wanted if grant not in held]
    refuse_roles_not_held(added, by=by, orgs_of_groups={group.id: group.org_id})


def _replace(
    *, team: Team, group: Group, held: Sequence[Grant], wanted: Sequence[Grant], actor: Actor, now: datetime
) -> None:
    grants_replace(holder=team, current=held, wanted=wanted, actor=actor, now=now)
    _record_roles(team=team, group_id=group.id, old=held, new=wanted, actor=actor, now=now)


Facts = Mapping[str, Any]


def _record_change(
    *, team: Team, old: Facts | None = None, new: Facts | None = None, actor: Actor, now: datetime
) -> None:
    """Record that the team was created (no `old`), changed or deleted (no `new`), if anything changed."""
    events_record(events=_changes(team, old, new), actor=actor, now=now, org_id=team.org_id)


def members_left(team: Team, users: Iterable[User], actor: Actor, now: datetime) -> None:
    """Record that the users left the team."""
    events = [
        _membership(EventType.USER_REMOVED_FROM_TEAM_AUDIT, team, user, old=user.username) for user in users
    ]
    events_record(events=events, actor=actor, now=now, org_id=team.org_id)


def _record_roles(
    *, team: Team, group_id: str, old: Collection[Grant], new: Collection[Grant], actor: Actor, now: datetime
) -> None:
    """Record that the team's roles in the project were granted, changed or revoked, if they changed."""
    if set(old) == set(new):
        return
    event_type = EventType.TEAM_ROLES_CHANGED_AUDIT if old else EventType.TEAM_ADDED_TO_GROUP
    event_record(
        event_type=event_type if new else EventType.TEAM_REMOVED_FROM_GROUP,
        actor=actor,
        now=now,
        group_id=group_id,
        facts=EventFacts(team_id=team.id),
        diffs=diff(DiffType.ROLES, team.id, old=_roles(old), new=_roles(new)),
    )


def _changes(team: Team, old: Facts | None, new: Facts | None) -> list[NewEvent]:
    event_type = EventType.TEAM_CHANGED_AUDIT if old and new else EventType.TEAM_CREATED
    changes = diff(DiffType.USERS, team.id, old=old, new=new)
    event_type = event_type if new else EventType.TEAM_DELETED
    changed = NewEvent(event_type=event_type, facts=EventFacts(team_id=team.id), diffs=changes)
    return [changed] if changes else []


def _membership(event_type: EventType, team: Team, user: User, **sides: str) -> NewEvent:
    """The event of a user who joined (`new`: the username) or left (`old`)."""
    return NewEvent(
        event_type=event_type,
        facts=EventFacts(team_id=team.id, target_username=user.username),
        diffs=diff(DiffType.USERS, user.id, **{side: {"username": name} for side, name in sides.items()}),
    )


def _roles(grants: Collection[Grant]) -> Facts | None:
    return {"roleNames": [grant.role.value for grant in grants]} if grants else None
