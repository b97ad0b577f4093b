"""Which organizations a caller can see."""

from collections.abc import Iterable

from django.db.models import QuerySet

from accesslist.models import Organization
from opsapi.roles import IMPLIED, Grant, Role


def visible_organizations(grants: Iterable[Grant]) -> QuerySet[Organization]:
    """Return the organizations in which a grant implies ORG_MEMBER, oldest first; all for a global role."""
    member = [grant for grant in grants if Role.ORG_MEMBER in IMPLIED[grant.role]]
    organizations = Organization.objects.order_by("created", "id")
    if any(grant.role.is_global for grant in member):
        return organizations
    return organizations.filter(id__in=[grant.org_id for grant in member])


def organization_of(org_id: str) -> QuerySet[Organization]:
    """Return a queryset of the organization with this ID."""
    return Organization.objects.filter(id=org_id)
