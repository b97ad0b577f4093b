"""Everything authentication has to know of a request, read in one statement.

The key, its roles, whether its own and the global access list have entries and cover the caller,
the project the path names, and since when used nonces are remembered (earlier ones are stale).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import InterfaceError, OperationalError, connection

from opsapi.api.principal import Group
from opsapi.roles import Grant, Role

_STATEMENT = """
SELECT (SELECT started FROM accesslist_digestepoch),
       key.id, key.ha1,
       (SELECT coalesce(json_agg(json_build_array(role, org_id, project_id)), '[]'::json)
          FROM accesslist_rolegrant WHERE api_key_id = key.id),
       EXISTS (SELECT 1 FROM accesslist_accesslistentry WHERE api_key_id = key.id),
       EXISTS (SELECT 1 FROM accesslist_accesslistentry
                WHERE api_key_id = key.id AND cidr_block >>= caller.address),
       EXISTS (SELECT 1 FROM accesslist_accesslistentry WHERE api_key_id IS NULL),
       EXISTS (SELECT 1 FROM accesslist_accesslistentry
                WHERE api_key_id IS NULL AND cidr_block >>= caller.address),
       project.id, project.name, project.org_id
  FROM (SELECT %s::inet AS address) AS caller
  LEFT JOIN accesslist_apikey AS key ON key.public_key = %s
  LEFT JOIN accesslist_project AS project ON project.id = %s AND project.deleted IS NULL
"""

_USE = """
INSERT INTO accesslist_digestuse (nonce, nc, used) VALUES (%s, %s, %s) ON CONFLICT (nonce, nc) DO NOTHING
"""

_BEGIN = "INSERT INTO accesslist_digestepoch (id, started) VALUES (1, %s) ON CONFLICT (id) DO NOTHING"


@dataclass(frozen=True, slots=True)
class CallerRecord:
    """What the statement found; `key_id` None when no such key exists."""

    remembered_since: datetime | None
    key_id: str | None
    sealed_ha1: str | None
    grants: tuple[Grant, ...]
    has_own_list: bool
    own_list_covers: bool
    has_global_list: bool
    global_list_covers: bool
    group: Group | None


def read_caller(*, public_key: str, address: str | None, group_id: str | None) -> CallerRecord:
    """Read it; a connection that died since the last request is replaced once.

    Nothing was written yet when this runs, so the second try is safe; it spares a health check
    of the connection before every request.
    """
    parameters = (address, public_key, group_id)
    try:
        row = _fetch(parameters)
    except (OperationalError, InterfaceError):
        connection.close()
        row = _fetch(parameters)
    grants = tuple(Grant(Role(role), org_id, project_id) for role, org_id, project_id in row[3])
    group = Group(*row[8:11]) if row[8] else None
    return CallerRecord(row[0], row[1], row[2], grants, row[4], row[5], row[6], row[7], group)


def begin_remembering(now: datetime) -> None:
    """Note that used nonces are remembered from now on, unless they are already."""
    with connection.cursor() as cursor:
        cursor.execute(_BEGIN, (now,))


def use_nonce(nonce: str, nc: str, now: datetime) -> bool:
    """Mark (nonce, nc) as used; False when it was already, in whichever process.

    Commits by itself: requests run without an outer transaction.
    """
    with connection.cursor() as cursor:
        cursor.execute(_USE, (nonce, nc.lower(), now))
        return bool(cursor.rowcount)


def _fetch(parameters: tuple[Any, ...]) -> tuple[Any, ...]:
    with connection.cursor() as cursor:
        cursor.execute(_STATEMENT, parameters)
        row: tuple[Any, ...] = cursor.fetchone()
        return row
