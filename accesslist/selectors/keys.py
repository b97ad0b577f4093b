"""API keys, their roles and access lists, and the addresses that they recently called from.."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Max, OuterRef, Q, QuerySet
from django.db.models.lookups import Exact

from accesslist.models import AccessListEntry, ApiKey, RoleGrant
from accesslist.rules.access_lists import SeenCaller
from accesslist.rules.administration import is_within_scope
from events.models import WHO, Event
from events.selectors import EventFilter, event_rows
from events.types import EventType
from events.wording import acting
from opsapi.clock import parse_time
from opsapi.fields import JsonRows
from opsapi.roles import INSTALLATION, Grant, Scope
from opsapi.wire_json import JsonObject, without_nulls


def within(here: Scope) -> Q:
    """Return a filter of grants by scope: the project, or the organization with its projects, or all."""
    if here.group_id is not None:
        return Q(project_id=here.group_id)
    if here.org_id is not None:
        return Q(org_id=here.org_id) | Q(project__org_id=here.org_id)
    return Q()


def roles_of(*where: Q, **holder: Any) -> JsonRows:
    """Return a column of the outer row's roles as in its document, oldest first."""
    grants = RoleGrant.objects.filter(*where, **holder).order_by("id")
    return JsonRows(grants, roleName="role", groupId="project_id", orgId="org_id")


def keys_in(here: Scope = INSTALLATION) -> QuerySet[ApiKey]:
    """Return the keys with a role in the scope, oldest first, annotated with their `roles` in it."""
    keys = ApiKey.objects.order_by("created", "id")
    if here != INSTALLATION:
        keys = keys.filter(id__in=RoleGrant.objects.filter(within(here)).values("api_key_id"))
    return keys.annotate(roles=roles_of(within(here), api_key_id=OuterRef("id")))


def wire_roles(grants: Iterable[Grant]) -> list[JsonObject]:
    """Return roles as in documents: `[{roleName, groupId or orgId}]`."""
    named = ((grant.role.value, grant.group_id, grant.org_id) for grant in grants)
    return [without_nulls(zip(("roleName", "groupId", "orgId"), role, strict=True)) for role in named]


RECENT = timedelta(days=30)
_MOST_EVENTS = 2000


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key with its grants; the scope of a grant in a project includes the organization."""

    id: str
    public_key: str
    grants: tuple[tuple[Grant, Scope], ...]

    def is_within(self, outer: Scope) -> bool:
        """Whether the key holds a role in the project, or in the organization or one of its projects."""
        return outer == INSTALLATION or any(is_within_scope(scope, outer) for _, scope in self.grants)


def entries_of(key_id: str | None) -> QuerySet[AccessListEntry]:
    """Return the entries of the key's list, or of the global list if None, oldest first."""
    return AccessListEntry.objects.filter(api_key_id=key_id).order_by("created", "id")


def blocks_of(key_id: str | None) -> list[str]:
    """Return the ranges of the key's list, or of the global list if None."""
    return list(entries_of(key_id).values_list("cidr_block", flat=True))


def listed_key(key_id: str) -> ListedKey | None:
    """Return the key; None if it does not exist."""
    key = ApiKey.objects.filter(id=key_id).first()
    return None if key is None else ListedKey(key.id, key.public_key, tuple(held_by(key)))


def held_by(key: ApiKey) -> list[tuple[Grant, Scope]]:
    """Return the key's grants with their scopes, oldest first."""
    return [(row.grant, row.scope) for row in key.grants.select_related("project").order_by("id")]


def recent_callers(key_id: str | None, *, now: datetime) -> list[SeenCaller]:
    """Return the latest call of each key from each address, newest first.

    `key_id` selects a key; None selects all keys with a global role. Only the newest 2,000 events of the last
    30 days are read, so the cost does not depend on the length of the log.
    """
    keys = [key_id] if key_id else _keys_with_global_roles()
    found: dict[tuple[str, str], SeenCaller] = {}
    for row in event_rows(EventFilter(min_date=now - RECENT))[:_MOST_EVENTS]:
        details = row["details"]
        address = details.get("remoteAddress")
        if address and details.get("apiKeyId") in keys:
            caller = SeenCaller(details["publicKey"], address, parse_time(row["wire_created"]))
            found.setdefault((caller.public_key, address), caller)
    return list(found.values())


def _keys_with_global_roles() -> Collection[str | None]:
    grants = RoleGrant.objects.filter(api_key__isnull=False, org=None, project=None)
    return set(grants.values_list("api_key_id", flat=True))


def key_creator(key: ApiKey) -> str | None:
    """Return the user or key that created the key; None if its event is not stored or has no author."""
    recorded = Event.objects.filter(
        event_type=EventType.API_KEY_CREATED_AUDIT.value,
        created=key.created.replace(microsecond=0),  # Events have whole seconds.
        details__targetPublicKey=key.public_key,
    )
    event = recorded.only("details").first()
    return acting(event.details) if event else None


def last_recorded_use(key: ApiKey) -> datetime | None:
    """Return the time of the key's newest event, or of its newest call from an address on its list."""
    by_key = Event.objects.filter(Exact(WHO, key.public_key)).order_by("-created", "-id")
    changed = by_key.values_list("created", flat=True).first()
    called = entries_of(key.id).aggregate(newest=Max("last_used"))["newest"]
    return max((moment for moment in (changed, called) if moment), default=None)
