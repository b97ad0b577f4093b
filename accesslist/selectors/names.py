"""Finding rows by name."""

from typing import TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def names_beginning(rows: QuerySet[M], *, name: str | None) -> QuerySet[M]:
    """Those of the rows whose name begins so, without regard to case; all of them when none is given."""
    return rows if name is None else rows.filter(name__istartswith=name)


def named(rows: QuerySet[M], *, name: str, column: str = "name") -> QuerySet[M]:
    """Those of the rows with that name in the column."""
    # PostgreSQL refuses a NUL, and no name holds one.
    return rows.none() if "\0" in name else rows.filter(**{column: name})
