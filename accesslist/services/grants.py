"""Giving and taking roles, whoever holds them (decisions 2; decisions 3 "keys", "users, teams").

Whether the one who acts may do so is `accesslist.rules.granting`; here the rows change, and the last
Global Owner is kept.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models import Q

from accesslist.models import ApiKey, RoleGrant, Team, User
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.roles import Grant, Role

Holder = ApiKey | User | Team

_OWNERS_LOCK = 0x6F70736F776E6572  # "opsowner": one advisory lock for the whole installation


@dataclass(frozen=True, slots=True)
class GrantChange:
    """What was given and what was taken."""

    added: tuple[Grant, ...]
    removed: tuple[Grant, ...]

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(self.added or self.removed)


def grants_create(grants: Sequence[Grant], *, holder: Holder) -> None:
    """Give the roles to a new holder, in the caller's transaction."""
    column = _column(holder)
    RoleGrant.objects.bulk_create(
        RoleGrant(role=grant.role.value, org_id=grant.org_id, project_id=grant.group_id, **{column: holder})
        for grant in dict.fromkeys(grants)
    )


def grants_of(holder: Holder) -> list[Grant]:
    """The roles held, oldest first; who goes on to replace them has locked the holder's row before."""
    rows = RoleGrant.objects.filter(**{_column(holder): holder}).order_by("id")
    return [Grant(Role(role), org, group) for role, org, group in rows.values_list("role", "org", "project")]


def grants_replace(*, holder: Holder, current: Collection[Grant], wanted: Collection[Grant]) -> GrantChange:
    """Make the holder's `current` roles the `wanted` ones; roles in neither are not touched.

    Raises:
        ApiError: CANNOT_DEMOTE_LAST_OWNER.
    """
    change = GrantChange(
        added=tuple(grant for grant in dict.fromkeys(wanted) if grant not in current),
        removed=tuple(grant for grant in current if grant not in wanted),
    )
    if change.removed:
        _keep_an_owner(holder, change.removed)
        RoleGrant.objects.filter(_any_of(change.removed), **{_column(holder): holder}).delete()
    grants_create(change.added, holder=holder)
    return change


def _keep_an_owner(holder: Holder, removed: Iterable[Grant]) -> None:
    """Refuse to take GLOBAL_OWNER from the last user, or the last key, that has it; races are in line."""
    if Grant(Role.GLOBAL_OWNER) not in removed:
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_OWNERS_LOCK])
    column = _column(holder)
    owners = RoleGrant.objects.filter(role=Role.GLOBAL_OWNER.value, **{f"{column}__isnull": False})
    if not owners.exclude(**{column: holder}).exists():
        raise ApiError(ErrorCode.CANNOT_DEMOTE_LAST_OWNER)


def _any_of(grants: Iterable[Grant]) -> Q:
    found = Q(pk__in=())
    for grant in grants:
        found |= Q(role=grant.role.value, org_id=grant.org_id, project_id=grant.group_id)
    return found


def _column(holder: Holder) -> str:
    if isinstance(holder, ApiKey):
        return "api_key"
    return "user" if isinstance(holder, User) else "team"
