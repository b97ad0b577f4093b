"""Paging of tables that are too large to be counted."""

from typing import Any

from django.core.paginator import Paginator
from django.utils.functional import cached_property

MOST_ROWS = 5_000
"""Maximum number of rows in a list; search and filters find the others."""


class BoundedPaginator(Paginator[Any]):
    """Counts no further than MOST_ROWS, so that a list costs the same however big its table is.

    It also bounds how many rows the last page skips.
    """

    @cached_property
    def count(self) -> int:
        """Number of rows, at most MOST_ROWS."""
        rows: Any = self.object_list
        return int(rows.order_by()[:MOST_ROWS].count())

    @property
    def is_cut(self) -> bool:
        """Whether there may be rows after the last page."""
        return self.count >= MOST_ROWS
