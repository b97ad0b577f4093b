"""Locks that hold until the transaction ends: on projects and organizations, and on what has no row.

A foreign key alone does not keep a project in place: a deleted one keeps its row until the worker has
emptied it. The weakest lock is enough and is what foreign keys take anyway, so that writers do not wait
for each other, only for the deletion, and it for them.
"""

from collections.abc import Collection

from django.db import connection

from accesslist.rules.granting import Places
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError

# One advisory lock each for the whole installation.
FIRST_USER_LOCK = 0x6F70736669727374  # "opsfirst"
GLOBAL_LIST_LOCK = 0x6F70736C69737473  # "opslists"
OWNERS_LOCK = 0x6F70736F776E6572  # "opsowner"

# After waiting for a deletion PostgreSQL looks at the row again, and does not find it.
_HOLD_PROJECTS = """
SELECT id, org_id FROM accesslist_project WHERE id = ANY(%s) AND deleted IS NULL ORDER BY id FOR KEY SHARE
"""
_HAVE_PROJECT = "SELECT FROM accesslist_project WHERE id = %s AND deleted IS NULL FOR UPDATE"
_HOLD_ORGANIZATIONS = """
SELECT id, id FROM accesslist_organization WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE
"""


def advisory_lock(key: int) -> None:
    """Wait until nobody else has the lock, and keep it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [key])


def places_hold(*, groups: Collection[str] = (), orgs: Collection[str] = ()) -> Places:
    """Which of these projects and organizations exist; they are not deleted before the transaction ends."""
    return Places(orgs_of_groups=_hold(_HOLD_PROJECTS, groups), orgs=_hold(_HOLD_ORGANIZATIONS, orgs).keys())


def project_hold(*, group_id: str) -> None:
    """Keep the project from being deleted until the transaction ends.

    Raises:
        ApiError: GROUP_NOT_FOUND, when it was deleted in the meantime.
    """
    if group_id not in places_hold(groups=[group_id]).orgs_of_groups:
        raise ApiError(ErrorCode.GROUP_NOT_FOUND, group_id)


def project_alone(*, group_id: str) -> None:
    """Wait until nobody holds the project, and keep everybody from it until the transaction ends.

    Raises:
        ApiError: GROUP_NOT_FOUND, when it was deleted in the meantime.
    """
    with connection.cursor() as cursor:
        cursor.execute(_HAVE_PROJECT, [group_id])
        if not cursor.rowcount:
            raise ApiError(ErrorCode.GROUP_NOT_FOUND, group_id)


def organization_hold(*, org_id: str) -> None:
    """Keep the organization from being deleted until the transaction ends.

    Raises:
        ApiError: ORG_NOT_FOUND, when it was deleted in the meantime.
    """
    if org_id not in places_hold(orgs=[org_id]).orgs:
        raise ApiError(ErrorCode.ORG_NOT_FOUND, org_id)


def _hold(statement: str, ids: Collection[str]) -> dict[str, str]:
    if not ids:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(statement, [sorted(ids)])
        return dict(cursor.fetchall())
