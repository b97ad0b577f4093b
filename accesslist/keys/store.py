"""API keys with their roles, who created them and when they were last used."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Max, OuterRef, QuerySet
from django.db.models.lookups import Exact

from accesslist.access_lists.store import entries_of
from accesslist.keys.models import ApiKey
from accesslist.roles.models import RoleGrant
from accesslist.roles.rules import is_within_scope
from accesslist.roles.store import held_by, roles_of, within
from events.models import WHO, Event
from events.types import EventType
from events.wording import acting
from opsapi.roles import INSTALLATION, Grant, Scope


def keys_in(here: Scope = INSTALLATION) -> QuerySet[ApiKey]:
    """Return the keys with a role in the scope, oldest first, annotated with their `roles` in it."""
    keys = ApiKey.objects.order_by("created", "id")
    if here != INSTALLATION:
        keys = keys.filter(id__in=RoleGrant.objects.filter(within(here)).values("api_key_id"))
    return keys.annotate(roles=roles_of(within(here), api_key_id=OuterRef("id")))


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key with its grants; the scope of a grant in a project includes the organization."""

    id: str
    public_key: str
    grants: tuple[tuple[Grant, Scope], ...]

    def is_within(self, outer: Scope) -> bool:
        """Whether the key holds a role in the project, or in the organization or one of its projects."""
        return outer == INSTALLATION or any(is_within_scope(scope, outer) for _, scope in self.grants)


def listed_key(key_id: str) -> ListedKey | None:
    """Return the key; None if it does not exist."""
    key = ApiKey.objects.filter(id=key_id).first()
    return None if key is None else ListedKey(key.id, key.public_key, tuple(held_by(key)))


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
