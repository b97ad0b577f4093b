"""Projects, and which of them a caller can see."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q, QuerySet

from accesslist.models import Project
from accesslist.selectors.names import first_named
from opsapi.fields import WireTime
from opsapi.roles import IMPLIED, Grant, Role

ProjectRow = dict[str, Any]


def project_rows() -> QuerySet[Project, Any]:
    """Projects in the order they were made."""
    rows = Project.objects.order_by("created", "id")
    return rows.values("id", "name", "org_id", "tags", "host_count", wire_created=WireTime("created"))


def project_row(group_id: str) -> ProjectRow | None:
    """One project; None when there is none."""
    return project_rows().filter(id=group_id).first()


def visible_project_rows(grants: Iterable[Grant]) -> QuerySet[Project, Any]:
    """Those in which the grants allow reading."""
    reading = [grant for grant in grants if Role.GROUP_READ_ONLY in IMPLIED[grant.role]]
    if any(grant.role.is_global for grant in reading):
        return project_rows()
    orgs = [grant.org_id for grant in reading if grant.org_id]
    groups = [grant.group_id for grant in reading if grant.group_id]
    return project_rows().filter(Q(org_id__in=orgs) | Q(id__in=groups))


def visible_project_by_name(name: str, grants: Iterable[Grant]) -> ProjectRow | None:
    """The visible project of that name; None when there is none."""
    return first_named(visible_project_rows(grants), name=name)


def project_facts(row: ProjectRow) -> dict[str, Any]:
    """A project without its links: what a diff compares."""
    return {
        "id": row["id"],
        "name": row["name"],
        "orgId": row["org_id"],
        "tags": row["tags"],
        "created": row["wire_created"],
        "hostCount": row["host_count"],
    }
