"""Deletes the roles in a deleted project or organization, and keys that have no other roles."""

from datetime import datetime

from django.db.models import Q, QuerySet

from accesslist.models import ApiKey, RoleGrant
from accesslist.services.grants import grants_of
from accesslist.services.keys import api_key_roles_revoked
from accesslist.services.locks import identities_lock_exclusive
from accesslist.services.revocations import keys_revoke, member_ids, users_revoke
from opsapi.api.principal import Actor
from opsapi.roles import Scope


def keys_lock(*, here: Scope) -> None:
    """Lock the keys with roles in the scope, before any other lock: they may be writing to it."""
    identities_lock_exclusive(_keys(here).values_list("id", flat=True))
    list(_keys(here).select_for_update().values_list("id"))


def scope_roles_delete(*, here: Scope, actor: Actor, now: datetime) -> None:
    """Revoke every role in the scope; keys without other roles are deleted, users and teams stay.

    Call it in a transaction.
    """
    before = {key: grants_of(key) for key in _keys(here)}
    rows = RoleGrant.objects.filter(_held(here))
    teams = rows.filter(team__isnull=False).values_list("team_id", flat=True)
    users = {*rows.filter(user__isnull=False).values_list("user_id", flat=True), *member_ids(*teams)}
    rows.delete()
    keys_revoke(ids=[key.id for key in before], actor=actor)
    users_revoke(ids=users, actor=actor, now=now)
    for key, grants in before.items():
        api_key_roles_revoked(key=key, before=grants, actor=actor, now=now)


def _keys(here: Scope) -> QuerySet[ApiKey]:
    holders = RoleGrant.objects.filter(_held(here)).values("api_key_id")
    return ApiKey.objects.filter(id__in=holders).order_by("id")


def _held(here: Scope) -> Q:
    """Roles in the project; without a project, roles in the organization itself."""
    return Q(project_id=here.group_id) if here.group_id else Q(org_id=here.org_id)
