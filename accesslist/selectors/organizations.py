"""Organizations, and which of them a caller can see."""

from collections.abc import Iterable
from typing import Any

from django.db.models import QuerySet

from accesslist.models import Organization
from accesslist.selectors.names import first_named
from opsapi.roles import IMPLIED, Grant, Role

OrganizationRow = dict[str, Any]


def organization_rows() -> QuerySet[Organization, Any]:
    """Organizations in the order they were made."""
    return Organization.objects.order_by("created", "id").values("id", "name")


def organization_row(org_id: str) -> OrganizationRow | None:
    """One organization; None when there is none."""
    return organization_rows().filter(id=org_id).first()


def visible_organization_rows(grants: Iterable[Grant]) -> QuerySet[Organization, Any]:
    """Those of which the grants make a member: each of them can also be read alone."""
    member = [grant for grant in grants if Role.ORG_MEMBER in IMPLIED[grant.role]]
    if any(grant.role.is_global for grant in member):
        return organization_rows()
    return organization_rows().filter(id__in=[grant.org_id for grant in member])


def visible_organization_by_name(name: str, grants: Iterable[Grant]) -> OrganizationRow | None:
    """The oldest visible one of that name; None when there is none."""
    return first_named(visible_organization_rows(grants), name=name)


def organization_facts(row: OrganizationRow) -> dict[str, Any]:
    """An organization without its links: what a diff compares."""
    return {"id": row["id"], "name": row["name"]}
