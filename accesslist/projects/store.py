"""Organizations and projects, and which of them a caller can see."""

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from accesslist.projects.models import Organization, Project
from opsapi.roles import IMPLIED, Grant, Role


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
