"""List documents: `results`, `links`, `totalCount`."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol
from urllib.parse import urlencode

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from opsapi.wire_json import JsonObject

Row = JsonObject


class Rows(Protocol):
    """Rows that can be paged: a queryset of `.values()`, or another object with slices and a count."""

    def __getitem__(self, index: slice, /) -> Any:
        """Return the rows of a page."""

    def count(self) -> int:
        """Return the number of rows."""


def list_document(
    rows: Rows,
    present: Callable[[Row], Mapping[str, Any]],
    *,
    query: Mapping[str, Any],
    request: HttpRequest,
    base: str,
) -> JsonObject:
    """Return the document of a page. `query`: the result of `read_query` for LISTING."""
    number, size = query["pageNum"], query["itemsPerPage"]
    start = (number - 1) * size
    # One more row than requested shows whether there is a next page, without counting.
    page_rows = list(rows[start : start + size + 1]) if start < 2**62 else []
    document: JsonObject = {
        "results": [present(row) for row in page_rows[:size]],
        "links": _links(request, base, number=number, size=size, has_next=len(page_rows) > size),
    }
    if query["includeCount"]:
        # The last page gives the count without a query; a page after it does not.
        last = len(page_rows) <= size and (page_rows or number == 1)
        document["totalCount"] = start + len(page_rows) if last else rows.count()
    return document


def _links(
    request: HttpRequest, base: str, *, number: int, size: int, has_next: bool
) -> list[dict[str, str]]:
    pages = [("self", number)]
    if number > 1:
        pages.append(("previous", number - 1))
    if has_next:
        pages.append(("next", number + 1))
    others = [
        (name, value)
        for name, values in request.GET.lists()
        if name not in {"pageNum", "itemsPerPage"}
        for value in values
    ]
    path = escape_uri_path(request.path)
    return [
        {
            "href": f"{base}{path}?{urlencode([('pageNum', page), ('itemsPerPage', size), *others])}",
            "rel": rel,
        }
        for rel, page in pages
    ]


class PlainRows(list[Any]):
    """Rows in memory, for closed sets."""

    def count(self, *_: object) -> int:
        return len(self)


class DeferredRows:
    """The rows of a queryset, for tables without a limit.

    OFFSET reads every row that it skips. Far down a list, the IDs of a page are therefore found first, in an
    index, and only the rows of the page are read.
    """

    FAR = 1000

    def __init__(self, rows: QuerySet[Any, Any]) -> None:
        self._rows = rows

    def __getitem__(self, index: slice, /) -> Any:
        if index.start < self.FAR:
            return self._rows[index]
        return self._rows.filter(pk__in=self._rows.values("pk")[index])

    def count(self) -> int:
        return self._rows.count()
