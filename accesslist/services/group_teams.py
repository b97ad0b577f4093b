"""The roles that teams hold in projects."""

from collections.abc import Sequence
from datetime import datetime

from django.db import transaction

from accesslist.models import Team
from accesslist.rules.references import refuse_unknown_and_repeated
from accesslist.rules.role_requests import refuse_roles_not_held
from accesslist.serializers.teams import AskedTeam
from accesslist.services.grants import grants_of, grants_replace
from accesslist.services.locks import actor_lock_in_turn, project_lock_shared
from accesslist.services.revocations import members_lock_exclusive
from accesslist.services.team_events import team_roles_changed
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.principal import Actor, Group
from opsapi.roles import Grant, Role, Scope


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
    by: Sequence[Grant],
    actor: Actor,
    now: datetime,
) -> None:
    """Replace the team's roles in the project.

    Raises:
        ApiError: GROUP_NOT_FOUND, TEAM_NOT_FOUND, ROLE_NOT_HELD.
    """
    actor_lock_in_turn(actor)
    team, held = _in_project(group, team_id)
    wanted = _grants(group, roles)
    _refuse(wanted, held, group, by)
    _replace(team=team, group=group, held=held, wanted=wanted, actor=actor, now=now)


@transaction.atomic
def group_team_remove(*, group: Group, team_id: str, actor: Actor, now: datetime) -> None:
    """Revoke the team's roles in the project.

    Raises:
        ApiError: GROUP_NOT_FOUND, TEAM_NOT_FOUND.
    """
    actor_lock_in_turn(actor)
    team, held = _in_project(group, team_id)
    _replace(team=team, group=group, held=held, wanted=(), actor=actor, now=now)


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
    team_roles_changed(team=team, group_id=group.id, old=held, new=wanted, actor=actor, now=now)
