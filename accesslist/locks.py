"""Locks that last until the end of the transaction: on the actor, on scopes, and without a row.

The scope of a change (`changes`) locks in this order. `actor_lock_shared` comes first in every service that a
key or a user reaches, except services by which users change their own account (`own_user_lock`): a write
after a revocation is refused, and a revocation waits for the writes before it. In services that revoke
something, or lock keys or users, `actor_lock_in_turn` comes first instead, and `identities_lock_exclusive`
locks the holders of what they revoke.

A foreign key alone does not keep a project in place: a deleted project keeps its row until the worker has
emptied it. The weakest lock is enough, and foreign keys take it anyway: writers do not wait for each other,
only for the deletion, and the deletion waits for them.
"""

from collections.abc import Collection, Iterable, Mapping

from accesslist.roles.rules import ExistingScopes
from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError, unavailable
from opsapi.api.principal import Actor, ActorKind
from opsapi.postgresql.base import this_connection
from opsapi.roles import Scope
from opsapi.sql import execute, fetch_rows

# One advisory lock each for the whole installation.
FIRST_USER_LOCK = 0x6F70736669727374  # "opsfirst"
REVOCATIONS_LOCK = 0x6F70737265766F6B  # "opsrevok"

# Each key and user has one of so many locks: a team of thousands must not exhaust the server's table of them.
_IDENTITIES_CLASS = 0x6F68  # "oh": keeps them apart from other advisory locks
_IDENTITIES_LOCKS = 256

# Advisory locks are granted in the order they are asked for; with row locks a stream of writes could keep a
# revocation waiting for ever. The row is read by a second statement, whose snapshot is newer than the
# revocation that the first waits for.
_LOCK_IDENTITY_SHARED = "SELECT pg_advisory_xact_lock_shared(%s, %s)"
_LOCK_ACTOR_SHARED = "SELECT FROM {table} WHERE id = %s AND revocations = %s FOR KEY SHARE"
_ACTORS: Mapping[ActorKind, str] = {
    ActorKind.KEY: _LOCK_ACTOR_SHARED.format(table="accesslist_apikey"),
    ActorKind.USER: _LOCK_ACTOR_SHARED.format(table="accesslist_user"),
}
_MOST_REPEATS = 5
"""How often a request that meets a revocation is repeated: callers who change one list revoke each other."""

_LOCK_IDENTITIES_EXCLUSIVE = "SELECT pg_advisory_xact_lock(%s, held) FROM unnest(%s::int[]) AS held"

# After waiting for a deletion PostgreSQL looks at the row again, and does not find it.
_LOCK_PROJECTS_SHARED = """
SELECT id, org_id FROM accesslist_project WHERE id = ANY(%s) AND deleted IS NULL ORDER BY id FOR KEY SHARE
"""
_LOCK_PROJECT_EXCLUSIVE = "SELECT FROM accesslist_project WHERE id = %s AND deleted IS NULL FOR UPDATE"
_LOCK_PROJECT_IN_TURN = "SELECT FROM accesslist_project WHERE id = %s AND deleted IS NULL FOR NO KEY UPDATE"
_LOCK_ORGANIZATIONS_SHARED = """
SELECT id, id FROM accesslist_organization WHERE id = ANY(%s) ORDER BY id FOR KEY SHARE
"""


def advisory_lock(key: int) -> None:
    """Wait for the lock, and hold it until the transaction ends."""
    execute("SELECT pg_advisory_xact_lock(%s)", [key])


def actor_lock_shared(actor: Actor) -> None:
    """Keep the permissions that the actor had at authentication until the transaction ends.

    Call it before any other lock. An actor without `revocations` is not checked.

    Raises:
        ApiError: SERVICE_UNAVAILABLE, if a permission of the actor was revoked since. The request is
            repeated (`opsapi.api.middleware`), and admitted or refused by the permissions at that time.
    """
    statement = _ACTORS.get(actor.kind)
    if statement is None or actor.id is None or actor.revocations is None:
        return
    execute(_LOCK_IDENTITY_SHARED, [_IDENTITIES_CLASS, _lock_of(actor.id)])
    if execute(statement, [actor.id, actor.revocations]):
        return
    this_connection().repeats = _MOST_REPEATS
    raise unavailable("your permissions have just changed: send the request again")


def actor_lock_in_turn(actor: Actor) -> None:
    """As `actor_lock_shared`, for services that revoke something, or lock keys or users: one runs at a time.

    So these services never deadlock, and of two actors who revoke each other's roles exactly one succeeds.

    Raises:
        ApiError: as `actor_lock_shared`.
    """
    advisory_lock(REVOCATIONS_LOCK)
    actor_lock_shared(actor)


def identities_lock_exclusive(ids: Iterable[str]) -> None:
    """Wait for the transactions of these keys and users; new transactions wait until this one ends.

    Call it after `actor_lock_in_turn`, and before any lock that these transactions could wait for.
    """
    execute(_LOCK_IDENTITIES_EXCLUSIVE, [_IDENTITIES_CLASS, sorted({_lock_of(holder) for holder in ids})])


def _lock_of(holder_id: str) -> int:
    """The last digits of an id are random."""
    return int(holder_id, 16) % _IDENTITIES_LOCKS


def scopes_lock_shared(*, groups: Collection[str] = (), orgs: Collection[str] = ()) -> ExistingScopes:
    """Return which of these scopes exist, and keep them from deletion until the transaction ends."""
    return ExistingScopes(
        orgs_of_groups=_lock_shared(_LOCK_PROJECTS_SHARED, groups),
        orgs=_lock_shared(_LOCK_ORGANIZATIONS_SHARED, orgs).keys(),
    )


def scope_lock_shared(here: Scope) -> None:
    """Keep the project, or else the organization, from being deleted until the transaction ends.

    Raises:
        ApiError: GROUP_NOT_FOUND, ORG_NOT_FOUND, if it was deleted in the meantime.
    """
    if here.group_id is not None:
        if here.group_id not in scopes_lock_shared(groups=[here.group_id]).orgs_of_groups:
            raise ApiError(ErrorCode.GROUP_NOT_FOUND, here.group_id)
    elif here.org_id is not None and here.org_id not in scopes_lock_shared(orgs=[here.org_id]).orgs:
        raise ApiError(ErrorCode.ORG_NOT_FOUND, here.org_id)


def project_lock_in_turn(here: Scope) -> None:
    """Let one transaction at a time write what a project has once; reports and other writes continue.

    Raises:
        ApiError: GROUP_NOT_FOUND, if the project was deleted in the meantime.
    """
    if not execute(_LOCK_PROJECT_IN_TURN, [here.group_id]):
        raise ApiError(ErrorCode.GROUP_NOT_FOUND, here.group_id or "")


def project_lock_exclusive(*, group_id: str) -> None:
    """Wait until no transaction holds the project; others wait until this transaction ends.

    Raises:
        ApiError: GROUP_NOT_FOUND, if it was deleted in the meantime.
    """
    if not execute(_LOCK_PROJECT_EXCLUSIVE, [group_id]):
        raise ApiError(ErrorCode.GROUP_NOT_FOUND, group_id)


def _lock_shared(statement: str, ids: Collection[str]) -> dict[str, str]:
    if not ids:
        return {}
    return dict(fetch_rows(statement, [sorted(ids)]))
