"""The first few of many rows, and how many there are: for pages that are read again and again."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from django.db.models import Model, QuerySet

from opsapi.api.principal import Reach
from opsapi.fields import Among

T = TypeVar("T", bound=Model)

MOST_SHOWN = 10
"""So many rows are read."""
MOST_COUNTED = 1000
"""Nobody counts further: who has more than that has another task than counting."""

MOST_BETWEEN = 10_000
"""So far are rows counted of which only the ends are shown."""


@dataclass(frozen=True, slots=True)
class FirstRows(Generic[T]):
    """The first MOST_SHOWN rows; `count` is of all there are, up to one more than MOST_COUNTED."""

    rows: Sequence[T]
    count: int

    @property
    def left_out_words(self) -> str:
        """What a list of the rows says at its end."""
        return more_words(self.count - len(self.rows), at_least=self.count > MOST_COUNTED)


def first_rows(rows: QuerySet[T]) -> FirstRows[T]:
    """Read the first rows in their order; counts only where there are more than are shown."""
    found = list(rows[: MOST_SHOWN + 1])
    count = len(found) if len(found) <= MOST_SHOWN else bounded_count(rows)
    return FirstRows(found[:MOST_SHOWN], count)


def bounded_count(rows: QuerySet[Any]) -> int:
    """How many rows there are, up to one more than MOST_COUNTED: that one says "and more"."""
    return int(rows.order_by()[: MOST_COUNTED + 1].count())


def ends_of(rows: QuerySet[T], *, first: int, newest: int) -> tuple[list[T], int]:
    """The newest rows and the first, by `created` and `id`, the newest first; how many lie between them.

    So many at most as make MOST_BETWEEN with those that are returned.
    """
    found = list(rows.order_by("-created", "-id")[: newest + first])
    if len(found) < newest + first:
        return found, 0
    oldest = list(rows.order_by("created", "id")[:first])
    ends = list({one.pk: one for one in (*found[:newest], *reversed(oldest))}.values())
    return ends, max(0, rows.order_by()[:MOST_BETWEEN].count() - len(ends))


def in_reach(rows: QuerySet[T], reach: Reach) -> QuerySet[T]:
    """Those of the rows whose project, `group`, may be read."""
    return rows if reach.everything else rows.filter(Among("group_id", reach.group_ids))


def more_words(left_out: int, *, at_least: bool = False) -> str:
    """`… and 7 more`; empty when nothing is left out. `at_least`: they were not counted to the end."""
    if not left_out:
        return ""
    return f"… and {'at least ' if at_least else ''}{left_out:,} more"
