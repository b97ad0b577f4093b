"""Finding rows by name."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def names_beginning(rows: QuerySet[M, Any], *, name: str | None) -> QuerySet[M, Any]:
    """Those of the rows whose name begins so, without regard to case; all of them when none is given."""
    return rows if name is None else rows.filter(name__istartswith=name)


def first_named(rows: QuerySet[M, Any], *, name: str, column: str = "name") -> dict[str, Any] | None:
    """The first of these rows with that name in the column; None when there is none."""
    # PostgreSQL refuses a NUL, and no name holds one.
    return None if "\0" in name else rows.filter(**{column: name}).first()
