"""API keys with their roles."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import OuterRef, Q, QuerySet

from accesslist.models import ApiKey, RoleGrant
from opsapi.fields import JsonRows
from opsapi.roles import INSTALLATION, Grant, Scope


def within(here: Scope) -> Q:
    """Return a filter of grants by scope: the project, or the organization with its projects, or all."""
    if here.group_id is not None:
        return Q(project_id=here.group_id)
    if here.org_id is not None:
        return Q(org_id=here.org_id) | Q(project__org_id=here.org_id)
    return Q()


def roles_of(*where: Q, **holder: Any) -> JsonRows:
    """Return a subquery of the outer row's roles as `{role, org_id, project_id}`, oldest first."""
    grants = RoleGrant.objects.filter(*where, **holder).order_by("id")
    return JsonRows(grants.values("role", "org_id", "project_id"))


def keys_in(here: Scope = INSTALLATION) -> QuerySet[ApiKey]:
    """Return the keys with a role in the scope, oldest first, annotated with their `roles` in it."""
    keys = ApiKey.objects.order_by("created", "id")
    if here != INSTALLATION:
        keys = keys.filter(id__in=RoleGrant.objects.filter(within(here)).values("api_key_id"))
    return keys.annotate(roles=roles_of(within(here), api_key_id=OuterRef("id")))


def present_grants(grants: Iterable[Grant]) -> list[dict[str, str]]:
    """As `present_roles`, from grants."""
    return present_roles(
        {"role": grant.role.value, "org_id": grant.org_id, "project_id": grant.group_id} for grant in grants
    )


def present_roles(roles: Iterable[Mapping[str, str | None]]) -> list[dict[str, str]]:
    """Return `[{roleName, groupId or orgId}]` from the `roles` of a selector."""
    shown = []
    for role in roles:
        named = {"roleName": role["role"], "groupId": role["project_id"], "orgId": role["org_id"]}
        shown.append({name: value for name, value in named.items() if value})
    return shown
