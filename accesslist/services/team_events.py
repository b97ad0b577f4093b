"""What the event log tells of teams: organizations of members, projects of roles (decisions 4)."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from accesslist.models import Team, User
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import event_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.roles import Grant

Facts = Mapping[str, Any]


def team_changed(
    *, team: Team, old: Facts | None = None, new: Facts | None = None, actor: Actor, now: datetime
) -> None:
    """The team was made (no `old`), changed or deleted (no `new`); nothing when both say the same."""
    event_type = EventType.TEAM_CHANGED_AUDIT if old and new else EventType.TEAM_CREATED
    changes = diff(DiffType.USERS, team.id, old=old, new=new)
    if changes:
        event_record(
            event_type=event_type if new else EventType.TEAM_DELETED,
            actor=actor,
            now=now,
            org_id=team.org_id,
            facts=EventFacts(team_id=team.id),
            diffs=changes,
        )


def team_joined(*, team: Team, user: User, actor: Actor, now: datetime) -> None:
    """The user is a member now."""
    _membership(EventType.USER_ADDED_TO_TEAM, team, user, actor, now)


def team_left(*, team: Team, user: User, actor: Actor, now: datetime) -> None:
    """The user is no member any longer."""
    _membership(EventType.USER_REMOVED_FROM_TEAM_AUDIT, team, user, actor, now)


def team_roles_changed(
    *, team: Team, group_id: str, old: Collection[Grant], new: Collection[Grant], actor: Actor, now: datetime
) -> None:
    """The team came to the project, holds other roles there, or left it; nothing when none changed."""
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


def _membership(event_type: EventType, team: Team, user: User, actor: Actor, now: datetime) -> None:
    facts = {"username": user.username}
    is_new = event_type is EventType.USER_ADDED_TO_TEAM
    event_record(
        event_type=event_type,
        actor=actor,
        now=now,
        org_id=team.org_id,
        facts=EventFacts(team_id=team.id, target_username=user.username),
        diffs=diff(DiffType.USERS, user.id, new=facts)
        if is_new
        else diff(DiffType.USERS, user.id, old=facts),
    )


def _roles(grants: Collection[Grant]) -> Facts | None:
    return {"roleNames": [grant.role.value for grant in grants]} if grants else None
