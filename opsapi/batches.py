"""Reads and writes many rows in batches."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from django.db.models import QuerySet

T = TypeVar("T")

ROWS_AT_ONCE = 5_000
"""Rows of a statement. PostgreSQL accepts 65,535 parameters."""
DELETED_AT_ONCE = 200
"""The maximum number of rows that a statement deletes. Its time depends on indexes and on referring rows."""
DELETE_SECONDS = 0.3
"""After this time `delete_batch` deletes no more rows."""


def batches(items: Iterable[T], size: int = ROWS_AT_ONCE) -> Iterator[list[T]]:
    """Yield the items in their order, in lists of at most `size`."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch


def delete_batch(
    rows: QuerySet[Any, Any],
    limit: int,
    *,
    first: Sequence[str] = (),
    clock: Callable[[], float] = time.monotonic,
) -> int:
    """Delete at most `limit` rows, ordered by the columns `first`. Return the number of deleted rows.

    A statement deletes DELETED_AT_ONCE rows. Statements follow until DELETE_SECONDS have passed, so each
    holds its locks for a short time. The result 0 means that there are no such rows.
    """
    end, deleted = clock() + DELETE_SECONDS, 0
    chosen = list(rows.order_by(*first).values_list("pk", flat=True)[:limit])
    for batch in batches(chosen, DELETED_AT_ONCE):
        rows.model._base_manager.filter(pk__in=batch).delete()
        deleted += len(batch)
        if clock() >= end:
            break
    return deleted
