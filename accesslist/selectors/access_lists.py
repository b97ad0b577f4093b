"""Entries of access lists, and the keys that have lists of their own."""

from dataclasses import dataclass

from django.db.models import QuerySet

from accesslist.models import AccessListEntry, ApiKey
from opsapi.roles import Grant, Scope


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key with its grants; the scope of a grant in a project includes the organization."""

    id: str
    public_key: str
    grants: tuple[tuple[Grant, Scope], ...]

    def is_within(self, place: Scope) -> bool:
        """Whether the key holds a role in the project, or in the organization or one of its projects."""
        if place.group_id is not None:
            return any(scope.group_id == place.group_id for _, scope in self.grants)
        return place.org_id is None or any(scope.org_id == place.org_id for _, scope in self.grants)


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
