"""The first of many rows, and their number, for pages that are refreshed often."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

from opsapi.api.principal import VisibleScope
from opsapi.fields import Among

T = TypeVar("T", bound=Model)

MOST_SHOWN = 10
"""Number of rows read."""
MOST_COUNTED = 1000
"""Rows are not counted beyond this; with so many, the exact number does not matter."""

MOST_BETWEEN = 10_000
"""Rows are counted up to this if only the first and last are shown."""


@dataclass(frozen=True, slots=True)
class FirstRows(Generic[T]):
    """The first rows; `count` is the total, at most MOST_COUNTED + 1."""

    rows: Sequence[T]
    count: int

    @property
    def left_out_words(self) -> str:
        """The text at the end of a list of rows."""
        return more_words(self.count - len(self.rows), at_least=self.count > MOST_COUNTED)


def first_rows(rows: QuerySet[T], *, most: int = MOST_SHOWN) -> FirstRows[T]:
    """Read the first rows in order, at most `most`; counts only if there are more."""
    head = list(rows[: most + 1])
    count = len(head) if len(head) <= most else bounded_count(rows)
    return FirstRows(head[:most], count)


def bounded_count(rows: QuerySet[Any]) -> int:
    """The number of rows, at most MOST_COUNTED + 1, which means "and more"."""
    return int(rows.order_by()[: MOST_COUNTED + 1].count())


def ends_of(rows: QuerySet[T], *, first: int, newest: int) -> tuple[list[T], int]:
    """The newest and the first rows by `created` and `id`, newest first, and the number of rows in between.

    The number is exact as long as the table has at most MOST_BETWEEN rows.
    """
    newest_rows = list(rows.order_by("-created", "-id")[: newest + first])
    if len(newest_rows) < newest + first:
        return newest_rows, 0
    oldest = list(rows.order_by("created", "id")[:first])
    ends = list({row.pk: row for row in (*newest_rows[:newest], *reversed(oldest))}.values())
    return ends, max(0, rows.order_by()[:MOST_BETWEEN].count() - len(ends))


def in_visible_scope(rows: QuerySet[T], visible_scope: VisibleScope) -> QuerySet[T]:
    """The rows whose project, `group`, can be read."""
    return rows if visible_scope.everything else rows.filter(Among("group_id", visible_scope.group_ids))


def more_words(left_out: int, *, at_least: bool = False) -> str:
    """`… and 7 more`; empty if nothing is left out. `at_least`: the count is not complete."""
    if not left_out:
        return ""
    return f"… and {'at least ' if at_least else ''}{left_out:,} more"
