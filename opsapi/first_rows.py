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


@dataclass(frozen=True, slots=True)
class FirstRows(Generic[T]):
    """The first MOST_SHOWN rows; `count` is of all there are, up to one more than MOST_COUNTED."""

    rows: Sequence[T]
    count: int

    @property
    def has_more(self) -> bool:
        """Whether there are rows beyond those shown."""
        return self.count > len(self.rows)


def first_rows(rows: QuerySet[T]) -> FirstRows[T]:
    """Read the first rows in their order; counts only where there are more than are shown."""
    found = list(rows[: MOST_SHOWN + 1])
    count = len(found) if len(found) <= MOST_SHOWN else bounded_count(rows)
    return FirstRows(found[:MOST_SHOWN], count)


def bounded_count(rows: QuerySet[Any]) -> int:
    """How many rows there are, up to one more than MOST_COUNTED: that one says "and more"."""
    return int(rows.order_by()[: MOST_COUNTED + 1].count())


def in_reach(rows: QuerySet[T], reach: Reach) -> QuerySet[T]:
    """Those of the rows whose project, `group`, may be read."""
    return rows if reach.everything else rows.filter(Among("group_id", reach.group_ids))
