"""API keys with their roles."""

from collections.abc import Sequence
from typing import Any

from django.db.models import OuterRef, QuerySet

from accesslist.models import ApiKey, RoleGrant
from opsapi.fields import JsonRows

KeyRow = dict[str, Any]


def roles_of(**holder: Any) -> JsonRows:
    """The roles of the outer row as `{role, org_id, project_id}`, oldest first."""
    grants = RoleGrant.objects.filter(**holder).order_by("id")
    return JsonRows(grants.values("role", "org_id", "project_id"))


def key_rows(*, group_id: str | None = None) -> QuerySet[ApiKey, Any]:
    """Keys in the order they were made; when a project is named, those with a role in it, and that role."""
    keys = ApiKey.objects.order_by("created", "id")
    shown = {"project_id": group_id} if group_id else {}
    if group_id is not None:
        keys = keys.filter(id__in=RoleGrant.objects.filter(project_id=group_id).values("api_key_id"))
    return keys.values(
        "id", "desc", "public_key", "private_last4", roles=roles_of(api_key_id=OuterRef("id"), **shown)
    )


def key_row(key_id: str, *, group_id: str | None = None) -> KeyRow | None:
    """One key; None when there is none (in that project)."""
    return key_rows(group_id=group_id).filter(id=key_id).first()


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
