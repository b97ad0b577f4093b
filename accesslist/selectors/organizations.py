"""Organizations, their projects and their teams."""

from collections.abc import Iterable
from typing import TypeVar

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import Model, OuterRef, Q, QuerySet

from accesslist.models import Organization, Project, RoleGrant, Team
from opsapi.roles import IMPLIED, Grant, Role

M = TypeVar("M", bound=Model)


def organizations() -> QuerySet[Organization]:
    """Return all organizations, oldest first."""
    return Organization.objects.order_by("created", "id")


def projects() -> QuerySet[Project]:
    """Return all projects, oldest first."""
    return Project.objects.order_by("created", "id")


def visible_organizations(grants: Iterable[Grant]) -> QuerySet[Organization]:
    """Return the organizations in which a grant implies ORG_MEMBER, oldest first; all for a global role."""
    member = [grant for grant in grants if Role.ORG_MEMBER in IMPLIED[grant.role]]
    if any(grant.role.is_global for grant in member):
        return organizations()
    return organizations().filter(id__in=[grant.org_id for grant in member])


def visible_projects(grants: Iterable[Grant]) -> QuerySet[Project]:
    """Return the projects that the grants allow reading, oldest first."""
    reading = [grant for grant in grants if Role.GROUP_READ_ONLY in IMPLIED[grant.role]]
    if any(grant.role.is_global for grant in reading):
        return projects()
    orgs = [grant.org_id for grant in reading if grant.org_id]
    groups = [grant.group_id for grant in reading if grant.group_id]
    return projects().filter(Q(org_id__in=orgs) | Q(id__in=groups))


def visible_projects_of(org_id: str, grants: Iterable[Grant]) -> QuerySet[Project]:
    """Return the projects of the organization that the grants allow reading, oldest first."""
    return visible_projects(grants).filter(org_id=org_id)


def teams_of(org_id: str) -> QuerySet[Team]:
    """Return the teams of the organization, oldest first."""
    return Team.objects.filter(org_id=org_id).order_by("created", "id")


def teams_in(group_id: str) -> QuerySet[Team]:
    """Return the teams with roles in the project, oldest first, annotated with `role_names`, oldest first."""
    held = RoleGrant.objects.filter(project_id=group_id)
    roles = held.filter(team_id=OuterRef("id")).order_by("id").values("role")
    teams = Team.objects.filter(id__in=held.filter(team__isnull=False).values("team_id"))
    return teams.order_by("created", "id").annotate(role_names=ArraySubquery(roles))


def with_id(rows: QuerySet[M], row_id: str) -> QuerySet[M]:
    """Return a queryset of the row with this ID."""
    return rows.filter(id=row_id)


def names_beginning(rows: QuerySet[M], *, name: str | None) -> QuerySet[M]:
    """Return the rows whose name starts with `name`, case-insensitive; all rows if `name` is None."""
    return rows if name is None else rows.filter(name__istartswith=name)


def named(rows: QuerySet[M], *, name: str, column: str = "name") -> QuerySet[M]:
    """Return the rows with this name in the column."""
    # No name contains a NUL, and PostgreSQL refuses it.
    return rows.none() if "\0" in name else rows.filter(**{column: name})
