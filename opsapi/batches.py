"""Reads and writes many rows in batches."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from django.db.models import QuerySet

T = TypeVar("T")

ROWS_AT_ONCE = 5_000
"""Rows of a statement. PostgreSQL accepts 65,535 parameters."""


def batches(items: Iterable[T], size: int = ROWS_AT_ONCE) -> Iterator[list[T]]:
    """Yield the items in their order, in lists of at most `size`."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def delete_batch(rows: QuerySet[Any, Any], limit: int, *, first: Sequence[str] = ()) -> int:
    """Delete at most `limit` rows, ordered by the columns `first`. Return the number of deleted rows."""
    chosen = list(rows.order_by(*first).values_list("pk", flat=True)[:limit])
    if chosen:
        rows.model._base_manager.filter(pk__in=chosen).delete()
    return len(chosen)
