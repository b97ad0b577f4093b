"""The events of teams: organizations record members, projects record roles."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from accesslist.models import Team, User
from events.choices import DiffType
from events.diffs import diff
from events.facts import EventFacts
from events.services import NewEvent, event_record, events_record
from events.types import EventType
from opsapi.api.principal import Actor
from opsapi.roles import Grant

Facts = Mapping[str, Any]


def team_changed(
    *, team: Team, old: Facts | None = None, new: Facts | None = None, actor: Actor, now: datetime
) -> None:
    """Record that the team was created (no `old`), changed or deleted (no `new`), if anything changed."""
    events_record(events=_changes(team, old, new), actor=actor, now=now, org_id=team.org_id)


def teams_deleted(*, deleted: Iterable[tuple[Team, Facts]], org_id: str, actor: Actor, now: datetime) -> None:
    """Record the deletion of teams, each with its last facts, in an event for each."""
    events = [event for team, facts in deleted for event in _changes(team, facts, None)]
    events_record(events=events, actor=actor, now=now, org_id=org_id)


def team_left(*, team: Team, user: User, actor: Actor, now: datetime) -> None:
    """Record that the user left the team."""
    events_record(events=[member_removed(team, user)], actor=actor, now=now, org_id=team.org_id)


def member_added(team: Team, user: User) -> NewEvent:
    """Return the event of a user who joined the team."""
    return _membership(EventType.USER_ADDED_TO_TEAM, team, user, {"new": {"username": user.username}})


def member_removed(team: Team, user: User) -> NewEvent:
    """Return the event of a user who left the team."""
    left = EventType.USER_REMOVED_FROM_TEAM_AUDIT
    return _membership(left, team, user, {"old": {"username": user.username}})


def team_roles_changed(
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


def _membership(event_type: EventType, team: Team, user: User, sides: Mapping[str, Facts]) -> NewEvent:
    return NewEvent(
        event_type=event_type,
        facts=EventFacts(team_id=team.id, target_username=user.username),
        diffs=diff(DiffType.USERS, user.id, **sides),
    )


def _roles(grants: Collection[Grant]) -> Facts | None:
    return {"roleNames": [grant.role.value for grant in grants]} if grants else None
