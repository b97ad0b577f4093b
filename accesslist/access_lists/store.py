"""The entries of access lists, who may write them, and the addresses that keys recently called from."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from django.db.models import QuerySet

from accesslist.access_lists.models import AccessListEntry
from accesslist.access_lists.rules import GLOBAL_LIST, AccessList, SeenCaller, refuse_keys_beyond
from accesslist.keys.models import ApiKey
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import GLOBAL_WRITERS, require_manageable_scopes
from accesslist.roles.store import held_by
from events.log.store import EventFilter, event_rows
from opsapi.api.principal import Operator
from opsapi.clock import parse_time
from opsapi.roles import INSTALLATION, Scope


def list_of(key: ApiKey | None, operator: Operator) -> AccessList:
    """The list of the key, or the global list without a key, for an operator who may write it.

    Raises:
        ApiError: USER_UNAUTHORIZED.
    """
    if key is None:
        operator.authorise(GLOBAL_WRITERS)
        return GLOBAL_LIST
    held = held_by(key)
    require_manageable_scopes(held, by=operator.grants)
    refuse_keys_beyond(held, by=operator.grants)
    return AccessList(key.id, key.public_key, _scope_of_log(scope for _, scope in held))


def _scope_of_log(scopes: Iterable[Scope]) -> Scope:
    """The scope whose log records the change: the key's only project, otherwise its only organization."""
    different = set(scopes)
    groups, orgs = {scope.group_id for scope in different}, {scope.org_id for scope in different}
    if len(groups) == 1 and None not in groups:
        return Scope(group_id=groups.pop())
    if len(orgs) == 1:
        return Scope(org_id=orgs.pop())
    return INSTALLATION


RECENT = timedelta(days=30)
_MOST_EVENTS = 2000


def entries_of(key_id: str | None) -> QuerySet[AccessListEntry]:
    """Return the entries of the key's list, or of the global list if None, oldest first."""
    return AccessListEntry.objects.filter(api_key_id=key_id).order_by("created", "id")


def blocks_of(key_id: str | None) -> list[str]:
    """Return the ranges of the key's list, or of the global list if None."""
    return list(entries_of(key_id).values_list("cidr_block", flat=True))


def recent_callers(key_id: str | None, *, now: datetime) -> list[SeenCaller]:
    """Return the latest call of each key from each address, newest first.

    `key_id` selects a key; None selects all keys with a global role. Only the newest 2,000 events of the last
    30 days are read, so the cost does not depend on the length of the log.
    """
    keys = [key_id] if key_id else _keys_with_global_roles()
    callers: dict[tuple[str, str], SeenCaller] = {}
    for row in event_rows(EventFilter(min_date=now - RECENT))[:_MOST_EVENTS]:
        details = row["details"]
        address = details.get("remoteAddress")
        if address and details.get("apiKeyId") in keys:
            caller = SeenCaller(details["publicKey"], address, parse_time(row["wire_created"]))
            callers.setdefault((caller.public_key, address), caller)
    return list(callers.values())


def _keys_with_global_roles() -> Collection[str | None]:
    grants = RoleGrant.objects.filter(api_key__isnull=False, org=None, project=None)
    return set(grants.values_list("api_key_id", flat=True))
