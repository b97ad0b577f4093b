"""API keys with their roles."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import OuterRef, Q, QuerySet

from accesslist.models import ApiKey, RoleGrant
from opsapi.fields import JsonRows
from opsapi.roles import INSTALLATION, Grant, Scope

KeyRow = dict[str, Any]


def within(here: Scope) -> Q:
    """Grants in the project; without one, in the organization or its projects; without either, all."""
    if here.group_id is not None:
        return Q(project_id=here.group_id)
    if here.org_id is not None:
        return Q(org_id=here.org_id) | Q(project__org_id=here.org_id)
    return Q()


def roles_of(*where: Q, **holder: Any) -> JsonRows:
    """The roles of the outer row as `{role, org_id, project_id}`, oldest first."""
    grants = RoleGrant.objects.filter(*where, **holder).order_by("id")
    return JsonRows(grants.values("role", "org_id", "project_id"))


def key_rows(*, group_id: str | None = None, org_id: str | None = None) -> QuerySet[ApiKey, Any]:
    """Keys in the order they were made, with their roles.

    When a project is named, those with a role in it, and that role; when an organization is, those
    with a role in it or in one of its projects, and those roles.
    """
    here = Scope(org_id=org_id, group_id=group_id)
    keys = ApiKey.objects.order_by("created", "id")
    if here != INSTALLATION:
        keys = keys.filter(id__in=RoleGrant.objects.filter(within(here)).values("api_key_id"))
    roles = roles_of(within(here), api_key_id=OuterRef("id"))
    return keys.values("id", "desc", "public_key", "private_last4", roles=roles)


def key_row(key_id: str, *, group_id: str | None = None, org_id: str | None = None) -> KeyRow | None:
    """One key; None when there is none (in that project or organization)."""
    return key_rows(group_id=group_id, org_id=org_id).filter(id=key_id).first()


def present_grants(grants: Iterable[Grant]) -> list[dict[str, str]]:
    """As `present_roles`."""
    return present_roles(
        [{"role": one.role.value, "org_id": one.org_id, "project_id": one.group_id} for one in grants]
    )


def present_roles(roles: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    """`[{roleName, groupId or orgId}]` of what the selectors give."""
    shown = []
    for role in roles:
        one = {"roleName": role["role"]}
        if role["project_id"]:
            one["groupId"] = role["project_id"]
        if role["org_id"]:
            one["orgId"] = role["org_id"]
        shown.append(one)
    return shown
