"""Reads everything that authentication needs about a request in a single statement.

The key, its roles, the state of its own and the global access list for the caller's address, the project in
the path, and the start of the memory of used nonces (older nonces are stale).
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from accesslist.digest.rules import NONCE_SKEW
from opsapi.api.principal import Group
from opsapi.roles import Grant, Role
from opsapi.sql import first_row, writes_row

USE_NOTED = timedelta(minutes=1)
"""`lastUsed` of an access list entry is updated if it is older than this."""

# For each list: whether it has entries; then NULL if no entry covers the caller, otherwise whether the
# lastUsed of a matching entry needs an update.
_STATEMENT = """
SELECT (SELECT started FROM accesslist_digestepoch),
       key.id, key.ha1,
       (SELECT coalesce(json_agg(json_build_array(role, org_id, project_id)), '[]'::json)
          FROM accesslist_rolegrant WHERE api_key_id = key.id),
       EXISTS (SELECT 1 FROM accesslist_accesslistentry WHERE api_key_id = key.id),
       (SELECT bool_or(last_used IS NULL OR last_used <= %(due)s) FROM accesslist_accesslistentry
         WHERE api_key_id = key.id AND cidr_block >>= caller.address),
       EXISTS (SELECT 1 FROM accesslist_accesslistentry WHERE api_key_id IS NULL),
       (SELECT bool_or(last_used IS NULL OR last_used <= %(due)s) FROM accesslist_accesslistentry
         WHERE api_key_id IS NULL AND cidr_block >>= caller.address),
       project.id, project.name, project.org_id, key.revocations,
       key.hostnames
  FROM (SELECT %(address)s::inet AS address) AS caller
  LEFT JOIN accesslist_apikey AS key ON key.public_key = %(public_key)s
  LEFT JOIN accesslist_project AS project ON project.id = %(group_id)s AND project.deleted IS NULL
"""

# Rows that another request is writing are skipped, so nobody waits.
_NOTE_USE = """
UPDATE accesslist_accesslistentry SET last_used = %(now)s
 WHERE id IN (SELECT id FROM accesslist_accesslistentry
               WHERE (api_key_id = %(key_id)s OR (%(global)s AND api_key_id IS NULL))
                 AND cidr_block >>= %(address)s::inet
                 AND (last_used IS NULL OR last_used <= %(due)s)
                 FOR NO KEY UPDATE SKIP LOCKED)
"""

_USE = """
INSERT INTO accesslist_digestuse (nonce, nc, used) VALUES (%s, %s, %s) ON CONFLICT (nonce, nc) DO NOTHING
"""

_MOVE = "UPDATE accesslist_digestepoch SET started = %(now)s WHERE started > %(latest)s"

_BEGIN = "INSERT INTO accesslist_digestepoch (id, started) VALUES (1, %s) ON CONFLICT (id) DO NOTHING"


@dataclass(frozen=True, slots=True)
class AccessListState:
    """The state of an access list for the caller. `use_due`: a matching entry has an old lastUsed."""

    has_entries: bool
    covers: bool
    use_due: bool

    @property
    def refuses(self) -> bool:
        """Whether the list blocks the caller, if it applies to them."""
        return self.has_entries and not self.covers


@dataclass(frozen=True, slots=True)
class CallerRecord:
    """The result of the statement. `key_id` is None if the key does not exist."""

    nonces_since: datetime | None
    key_id: str | None
    encrypted_ha1: str | None
    grants: tuple[Grant, ...]
    own_list: AccessListState
    global_list: AccessListState
    group: Group | None
    revocations: int | None
    hostnames: frozenset[str]
    """See `Actor`."""


def read_caller(*, public_key: str, address: str | None, group_id: str | None, now: datetime) -> CallerRecord:
    """Run the statement."""
    parameters = {"public_key": public_key, "address": address, "group_id": group_id, "due": now - USE_NOTED}
    row = first_row(_STATEMENT, parameters)
    grants = tuple(Grant(Role(role), org_id, project_id) for role, org_id, project_id in row[3])
    group = Group(*row[8:11]) if row[8] else None
    hostnames = frozenset(row[12] or ())
    own_list, global_list = _standing(*row[4:6]), _standing(*row[6:8])
    return CallerRecord(row[0], row[1], row[2], grants, own_list, global_list, group, row[11], hostnames)


def note_use(*, key_id: str, address: str, in_global_list: bool, now: datetime) -> None:
    """Update lastUsed of the entries that cover the caller, at most once per USE_NOTED.

    Commits on its own, as `use_nonce` does.
    """
    parameters: dict[str, str | bool | datetime] = {
        "key_id": key_id,
        "address": address,
        "global": in_global_list,
        "now": now,
        "due": now - USE_NOTED,
    }
    writes_row(_NOTE_USE, parameters)


def begin_remembering(now: datetime) -> datetime:
    """Start of the memory of used nonces; starts it now if it has not started."""
    if writes_row(_BEGIN, (now,)):
        return now
    started: datetime = first_row("SELECT started FROM accesslist_digestepoch", ())[0]
    return started


def remember_from(now: datetime) -> datetime:
    """Start of the memory of used nonces after the clock stepped back: a start in the future becomes `now`.

    Otherwise every new nonce would be older than the memory until the clock is there again. Used nonces
    stay remembered, except nonces from before a crash of PostgreSQL: of these, a nonce from the time that the
    clock passes twice can be used once more.
    """
    writes_row(_MOVE, {"now": now, "latest": now + NONCE_SKEW})
    return begin_remembering(now)


def use_nonce(nonce: str, nc: str, now: datetime) -> bool:
    """Mark (nonce, nc) as used; return False if any process has already used it.

    Commits on its own: requests run without an outer transaction.
    """
    return writes_row(_USE, (nonce, nc.lower(), now))


def _standing(has_entries: bool, use_due: bool | None) -> AccessListState:
    return AccessListState(has_entries, covers=use_due is not None, use_due=bool(use_due))
