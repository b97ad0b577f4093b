"""Entries of access lists, and the keys that have lists of their own."""

from dataclasses import dataclass

from django.db.models import QuerySet

from accesslist.models import AccessListEntry, ApiKey
from opsapi.roles import Grant, Scope


@dataclass(frozen=True, slots=True)
class ListedKey:
    """A key as its access list needs it; each grant with where it holds, the project's organization too."""

    id: str
    public_key: str
    grants: tuple[tuple[Grant, Scope], ...]

    def is_within(self, place: Scope) -> bool:
        """Whether it holds a role in the project, or in the organization or one of its projects."""
        if place.group_id is not None:
            return any(scope.group_id == place.group_id for _, scope in self.grants)
        return place.org_id is None or any(scope.org_id == place.org_id for _, scope in self.grants)


def entries_of(key_id: str | None) -> QuerySet[AccessListEntry]:
    """The key's entries, or without one the global ones, in the order they were added."""
    return AccessListEntry.objects.filter(api_key_id=key_id).order_by("created", "id")


def blocks_of(key_id: str | None) -> list[str]:
    """The ranges of the key's list, or without one of the global list."""
    return list(entries_of(key_id).values_list("cidr_block", flat=True))


def listed_key(key_id: str) -> ListedKey | None:
    """The key; None when there is none."""
    key = ApiKey.objects.filter(id=key_id).first()
    return None if key is None else ListedKey(key.id, key.public_key, tuple(held_by(key)))


def held_by(key: ApiKey) -> list[tuple[Grant, Scope]]:
    """The key's grants with where they hold."""
    return [(row.grant, row.scope) for row in key.grants.select_related("project").order_by("id")]
