"""The roles of holders, and their scopes."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Q

from accesslist.keys.models import ApiKey
from accesslist.projects.models import Project
from accesslist.roles.models import RoleGrant
from opsapi.fields import JsonRows
from opsapi.roles import Grant, Scope
from opsapi.wire_json import JsonObject, without_nulls


def within(here: Scope) -> Q:
    """Return a filter of grants by scope: the project, or the organization with its projects, or all."""
    if here.group_id is not None:
        return Q(project_id=here.group_id)
    if here.org_id is not None:
        return Q(org_id=here.org_id) | Q(project__org_id=here.org_id)
    return Q()


def roles_of(*where: Q, **holder: Any) -> JsonRows:
    """Return a column of the outer row's roles as in its document, oldest first."""
    grants = RoleGrant.objects.filter(*where, **holder).order_by("id")
    return JsonRows(grants, roleName="role", groupId="project_id", orgId="org_id")


def wire_roles(grants: Iterable[Grant]) -> list[JsonObject]:
    """Return roles as in documents: `[{roleName, groupId or orgId}]`."""
    named = ((grant.role.value, grant.group_id, grant.org_id) for grant in grants)
    return [without_nulls(zip(("roleName", "groupId", "orgId"), role, strict=True)) for role in named]


def held_by(key: ApiKey) -> list[tuple[Grant, Scope]]:
    """Return the key's grants with their scopes, oldest first."""
    return [(row.grant, row.scope) for row in key.grants.select_related("project").order_by("id")]


def orgs_of_groups(grants: Iterable[Grant]) -> dict[str, str]:
    """Return the organization of each project in the grants, without deleted projects."""
    groups = {grant.group_id for grant in grants if grant.group_id}
    if not groups:
        return {}
    rows = Project.objects.filter(id__in=groups).values_list("id", "org_id")
    return {group_id: org_id for group_id, org_id in rows if org_id}
