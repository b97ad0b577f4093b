"""Narrows any rows by id and name."""

from typing import TypeVar

from django.db.models import Model, QuerySet

M = TypeVar("M", bound=Model)


def with_id(rows: QuerySet[M], row_id: str) -> QuerySet[M]:
    """Return a queryset of the row with this ID."""
    return rows.filter(id=row_id)


def names_beginning(rows: QuerySet[M], *, name: str | None) -> QuerySet[M]:
    """Return the rows whose name starts with `name`, case-insensitive; all rows if `name` is None."""
    return rows if name is None else rows.filter(name__istartswith=name)


def named(rows: QuerySet[M], *, name: str, column: str = "name") -> QuerySet[M]:
    """Return the rows with this name in the column."""
    # No name contains a NUL, and PostgreSQL refuses it.
    return rows.none() if "\0" in name else rows.filter(**{column: name})
