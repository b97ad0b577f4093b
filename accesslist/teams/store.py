"""Teams of an organization, and teams with roles in a project."""

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet

from accesslist.roles.models import RoleGrant
from accesslist.teams.models import Team


def teams_of(org_id: str) -> QuerySet[Team]:
    """Return the teams of the organization, oldest first."""
    return Team.objects.filter(org_id=org_id).order_by("created", "id")


def teams_in(group_id: str) -> QuerySet[Team]:
    """Return the teams with roles in the project, oldest first, annotated with `role_names`, oldest first."""
    held = RoleGrant.objects.filter(project_id=group_id)
    roles = held.filter(team_id=OuterRef("id")).order_by("id").values("role")
    teams = Team.objects.filter(id__in=held.filter(team__isnull=False).values("team_id"))
    return teams.order_by("created", "id").annotate(role_names=ArraySubquery(roles))
