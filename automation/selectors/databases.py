"""Reading the databases of a host."""

from typing import Any

from django.db.models import QuerySet

from automation.models import (
    Database,
)

DatabaseRow = dict[str, Any]


def database_rows(host_id: str) -> QuerySet[Database, Any]:
    """The databases of a host, by name."""
    return Database.objects.filter(host_id=host_id).order_by("name").values("name")


def database_row(name: str, *, host_id: str) -> DatabaseRow | None:
    """One database of a host; None when there is none."""
    # PostgreSQL refuses a NUL, and no name holds one.
    return None if "\0" in name else database_rows(host_id).filter(name=name).first()
