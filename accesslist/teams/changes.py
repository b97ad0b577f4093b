"""Teams of an organization, their members, and their roles in projects.

The order of locks is: users who leave, the organization, the team, users who join. It rules out deadlocks.
Organizations record members, projects record roles.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from accesslist.changes import RecordedAct, Tracked, acting, changing
from accesslist.hooks import team_deleting
from accesslist.locks import scope_lock_shared
from accesslist.references import refuse_unknown_and_repeated
from accesslist.roles.changes import (
    grants_create,
    grants_of,
    grants_replace,
    members_of,
    role_changes,
    users_revoke,
)
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import refuse_roles_not_held
from accesslist.teams.models import Team
from accesslist.teams.resource import MOST_JOINING, MOST_MEMBERS, AskedMember, AskedTeam, TeamDocument
from accesslist.teams.store import teams_of
from accesslist.users.models import User
from accesslist.users.rules import username_key
from accesslist.users.store import Membership, VisibleUsers, visible_users
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.log.changes import NewEvent, events_record
from events.types import EventType
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, BadField, get_or_404
from opsapi.api.principal import Actor, Group
from opsapi.roles import Grant, Role, Scope


def _locked(here: Scope, team_id: str) -> Team:
    team = Team.objects.select_for_update().filter(id=team_id, org_id=here.org_id).first()
    return get_or_404(team, ErrorCode.TEAM_NOT_FOUND, team_id)


def _facts(team: Team) -> EventFacts:
    return EventFacts(team_id=team.id)


TEAM = Tracked(
    diff_type=DiffType.USERS,
    stored=TeamDocument.stored,
    added=EventType.TEAM_CREATED,
    changed=EventType.TEAM_CHANGED_AUDIT,
    deleted=EventType.TEAM_DELETED,
    locks=(scope_lock_shared,),
    find=_locked,
    facts=_facts,
)


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
    with changing(TEAM, actor, now, here=Scope(org_id=org_id), ends=()) as change:
        users = _joining(members, _users(members, seen_in))
        team = Team.objects.create(org_id=org_id, created=now, **values)
        team.members.set(users)
        change.record_added(team)
        _joined(change, team, users)
        return team


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
    ends = () if members is None else members_of(team_id)
    with changing(TEAM, actor, now, here=Scope(org_id=org_id), row_id=team_id, ends=ends) as change:
        team = change.row
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
        change.record_changed()
        members_left(change, team, left)
        _joined(change, team, joining)


def team_delete(*, team_id: str, org_id: str, actor: Actor, now: datetime) -> None:
    """Delete the team and its roles in projects; its members stay in the organization.

    Raises:
        ApiError: TEAM_NOT_FOUND.
    """
    here, ends = Scope(org_id=org_id), members_of(team_id)
    with changing(TEAM, actor, now, here=here, row_id=team_id, ends=ends) as change:
        team, members = change.row, list(members_of(team_id))
        grants = grants_of(team)
        team_deleting.send(sender=Team, team=team, actor=actor, now=now)
        for scope in dict.fromkeys(grant.scope for grant in grants if grant.group_id):
            held = [grant for grant in grants if grant.scope == scope]
            change.record(*_role_changes(team, old=held, new=()), here=scope)
        change.record_deleted()
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
    events = [TEAM.event(team, old=facts[team.id]) for team in teams]
    events_record(events=events, actor=actor, now=now, org_id=org_id)
    teams.delete()


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
    with acting(actor, now, here=Scope(org_id=org_id), ends=()) as act:
        team = _locked(act.here, team_id)
        added = _joining(members, _users(members, seen_in), set(team.members.all()))
        team.members.add(*added)
        _joined(act, team, added)


def team_user_remove(*, team_id: str, org_id: str, user_id: str, actor: Actor, now: datetime) -> None:
    """Remove a user from the team; the user stays in the organization.

    Raises:
        ApiError: TEAM_NOT_FOUND, USER_NOT_FOUND.
    """
    with acting(actor, now, here=Scope(org_id=org_id), ends=[user_id]) as act:
        team = _locked(act.here, team_id)
        user = get_or_404(team.members.filter(id=user_id).first(), ErrorCode.USER_NOT_FOUND, user_id)
        team.members.remove(user)
        users_revoke(ids=[user_id], actor=actor, now=now)
        members_left(act, team, [user])


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


def _joined(act: RecordedAct, team: Team, users: Sequence[User]) -> None:
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
    act.record(*events)


def group_teams_add(
    *, group: Group, asked: Sequence[AskedTeam], by: Sequence[Grant], actor: Actor, now: datetime
) -> None:
    """Give teams of the project's organization these roles, in place of the roles they have in the project.

    `by`: the caller's grants.

    Raises:
        ApiError: GROUP_NOT_FOUND, ROLE_NOT_HELD, INVALID_ATTRIBUTE for teams the organization does not
            have or that are named twice.
    """
    ids = [request.team_id for request in asked]
    with acting(actor, now, here=Scope(group_id=group.id), ends=members_of(*ids)) as act:
        teams = _locked_in(group, ids)
        held = {team.id: grants_of(team, act.here) for team in teams.values()}
        for request in asked:
            _refuse(_grants(group, request.roles), held.get(request.team_id, []), group, by)
        named = [(request.path, teams.get(request.team_id)) for request in asked]
        refuse_unknown_and_repeated(named, unknown="is not a team of the organization")
        for request in asked:
            team, wanted = teams[request.team_id], _grants(group, request.roles)
            _replace(act, team, held=held[team.id], wanted=wanted)


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
    with acting(actor, now, here=Scope(group_id=group.id), ends=members_of(team_id)) as act:
        team = _locked_in(group, [team_id]).get(team_id)
        held = grants_of(team, act.here) if team else []
        if team is None or not held:
            raise ApiError(ErrorCode.TEAM_NOT_FOUND, team_id)
        wanted = _grants(group, roles)
        _refuse(wanted, held, group, by)
        _replace(act, team, held=held, wanted=wanted)


def _locked_in(group: Group, ids: Sequence[str]) -> dict[str, Team]:
    """Lock and return the teams that belong to the project's organization, by ID."""
    rows = Team.objects.select_for_update().filter(org_id=group.org_id, id__in=ids)
    return {team.id: team for team in rows.order_by("id")}


def _grants(group: Group, roles: Sequence[Role]) -> list[Grant]:
    return [Grant(role, group_id=group.id) for role in dict.fromkeys(roles)]


def _refuse(wanted: Sequence[Grant], held: Sequence[Grant], group: Group, by: Sequence[Grant]) -> None:
    added = [grant for grant in wanted if grant not in held]
    refuse_roles_not_held(added, by=by, orgs_of_groups={group.id: group.org_id})


def _replace(act: RecordedAct, team: Team, *, held: Sequence[Grant], wanted: Sequence[Grant]) -> None:
    grants_replace(holder=team, current=held, wanted=wanted, actor=act.actor, now=act.now)
    act.record(*_role_changes(team, old=held, new=wanted))


def members_left(act: RecordedAct, team: Team, users: Iterable[User]) -> None:
    """Record in the organization that the users left the team."""
    gone = EventType.USER_REMOVED_FROM_TEAM_AUDIT
    events = [_membership(gone, team, user, old=user.username) for user in users]
    act.record(*events, here=Scope(org_id=team.org_id))


def _role_changes(team: Team, *, old: Collection[Grant], new: Collection[Grant]) -> list[NewEvent]:
    """Return the event of roles in a project that were granted, changed or revoked, if they changed."""
    if set(old) == set(new):
        return []
    event_type = EventType.TEAM_ROLES_CHANGED_AUDIT if old else EventType.TEAM_ADDED_TO_GROUP
    event = NewEvent(
        event_type=event_type if new else EventType.TEAM_REMOVED_FROM_GROUP,
        facts=_facts(team),
        diffs=diff(DiffType.ROLES, team.id, old=_roles(old), new=_roles(new)),
    )
    return [event]


def _membership(event_type: EventType, team: Team, user: User, **sides: str) -> NewEvent:
    """The event of a user who joined (`new`: the username) or left (`old`)."""
    return NewEvent(
        event_type=event_type,
        facts=EventFacts(team_id=team.id, target_username=user.username),
        diffs=diff(DiffType.USERS, user.id, **{side: {"username": name} for side, name in sides.items()}),
    )


def _roles(grants: Collection[Grant]) -> Mapping[str, Any] | None:
    return {"roleNames": [grant.role.value for grant in grants]} if grants else None
