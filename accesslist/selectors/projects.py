"""Which projects a caller can see."""

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from accesslist.models import Project
from opsapi.roles import IMPLIED, Grant, Role


def visible_projects(grants: Iterable[Grant]) -> QuerySet[Project]:
    """Return the projects that the grants allow reading, oldest first."""
    reading = [grant for grant in grants if Role.GROUP_READ_ONLY in IMPLIED[grant.role]]
    projects = Project.objects.order_by("created", "id")
    if any(grant.role.is_global for grant in reading):
        return projects
    orgs = [grant.org_id for grant in reading if grant.org_id]
    groups = [grant.group_id for grant in reading if grant.group_id]
    return projects.filter(Q(org_id__in=orgs) | Q(id__in=groups))


def project_of(group_id: str) -> QuerySet[Project]:
    """Return a queryset of the project with this ID."""
    return Project.objects.filter(id=group_id)
