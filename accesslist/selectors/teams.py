"""The teams of organizations and projects."""

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet

from accesslist.models import RoleGrant, Team


def teams_of(org_id: str) -> QuerySet[Team]:
    """The organization's teams in the order they were made."""
    return Team.objects.filter(org_id=org_id).order_by("created", "id")


def teams_in(group_id: str) -> QuerySet[Team]:
    """Teams that hold roles in the project, in the order they were made; `role_names`, the oldest first."""
    held = RoleGrant.objects.filter(project_id=group_id)
    roles = held.filter(team_id=OuterRef("id")).order_by("id").values("role")
    teams = Team.objects.filter(id__in=held.filter(team__isnull=False).values("team_id"))
    return teams.order_by("created", "id").annotate(role_names=ArraySubquery(roles))
