"""Entries of access lists, and the keys that have lists of their own."""

from dataclasses import dataclass
from typing import Any

from django.db.models import F, OuterRef, QuerySet

from accesslist.models import AccessListEntry, ApiKey, RoleGrant
from opsapi.fields import JsonRows, WireTime
from opsapi.roles import Grant, Role, Scope

EntryRow = dict[str, Any]


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


def entry_rows(key_id: str | None) -> QuerySet[AccessListEntry, Any]:
    """The key's entries, or without one the global ones, in the order they were added."""
    entries = AccessListEntry.objects.filter(api_key_id=key_id).order_by("created", "id")
    return entries.values(
        "id",
        "cidr_block",
        "description",
        wire_created=WireTime("created"),
        wire_updated=WireTime("updated"),
        wire_last_used=WireTime("last_used"),
    )


def entry_row(entry_id: str, *, key_id: str | None) -> EntryRow | None:
    """One entry of that list; None when it has none."""
    return entry_rows(key_id).filter(id=entry_id).first()


def blocks_of(key_id: str | None) -> list[str]:
    """The ranges of the key's list, or without one of the global list."""
    entries = AccessListEntry.objects.filter(api_key_id=key_id).order_by("created", "id")
    return list(entries.values_list("cidr_block", flat=True))


def listed_key(key_id: str) -> ListedKey | None:
    """The key; None when there is none."""
    grants = RoleGrant.objects.filter(api_key_id=OuterRef("id")).order_by("id")
    held = JsonRows(grants.values("role", "org_id", "project_id", org_of_project=F("project__org_id")))
    row = ApiKey.objects.filter(id=key_id).values("id", "public_key", held=held).first()
    return row and ListedKey(row["id"], row["public_key"], tuple(_placed(one) for one in row["held"]))


def placed(row: RoleGrant) -> tuple[Grant, Scope]:
    """A grant with where it holds, the project's organization too."""
    org_of_project = row.project.org_id if row.project else None
    grant = Grant(Role(row.role), row.org_id, row.project_id)
    return grant, Scope(row.org_id or org_of_project, row.project_id)


def _placed(held: dict[str, Any]) -> tuple[Grant, Scope]:
    grant = Grant(Role(held["role"]), held["org_id"], held["project_id"])
    return grant, Scope(held["org_id"] or held["org_of_project"], held["project_id"])
