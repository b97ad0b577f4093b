"""Teams with the names of their members, and their roles in a project."""

from typing import Any

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet

from accesslist.models import RoleGrant, Team, User
from accesslist.selectors.names import first_named

TeamRow = dict[str, Any]


def team_rows(org_id: str) -> QuerySet[Team, Any]:
    """The organization's teams in the order they were made; usernames in alphabetical order."""
    members = User.objects.filter(teams=OuterRef("id")).order_by("username_key").values("username")
    teams = Team.objects.filter(org_id=org_id).order_by("created", "id")
    return teams.values("id", "name", "org_id", usernames=ArraySubquery(members))


def team_row(team_id: str, org_id: str) -> TeamRow | None:
    """One team of the organization; None when it has no such team."""
    return team_rows(org_id).filter(id=team_id).first()


def team_row_named(name: str, org_id: str) -> TeamRow | None:
    """The organization's oldest team of that name; None when it has none."""
    return first_named(team_rows(org_id), name=name)


def team_facts(row: TeamRow) -> dict[str, Any]:
    """A team without its links: what a diff compares."""
    return {"id": row["id"], "name": row["name"], "usernames": row["usernames"]}


def group_team_rows(group_id: str) -> QuerySet[Team, Any]:
    """Teams that hold a role in the project, in the order they were made, and those roles, oldest first."""
    held = RoleGrant.objects.filter(project_id=group_id)
    roles = held.filter(team_id=OuterRef("id")).order_by("id").values("role")
    teams = Team.objects.filter(id__in=held.filter(team__isnull=False).values("team_id"))
    return teams.order_by("created", "id").values("id", roles=ArraySubquery(roles))


def group_team_row(team_id: str, group_id: str) -> TeamRow | None:
    """One team of the project; None when it holds no role there."""
    return group_team_rows(group_id).filter(id=team_id).first()
