"""The search of the whole console (Ctrl-K) by parts of words: pages, actions and rows that the operator sees.

Input, results and time are bounded: at most `MOST_WORDS` words, `MOST_RESULTS` results of each kind, and
`SECONDS_PER_KIND` for each kind. A kind that takes longer has no results and is named in `unfinished`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, JsonResponse
from django.urls import Resolver404, resolve, reverse
from django.utils.http import urlencode

from opsapi import clock
from opsapi.console.actions import operator_of
from opsapi.console.admin_urls import add_url, creation_url, page_url
from opsapi.console.changelist import containing
from opsapi.console.model_admin import ConsoleAdmin
from opsapi.console.navigation import Navigation
from opsapi.console.project_choice import PARAMETER, project_rows
from opsapi.console.sitemap import ENTRIES
from opsapi.sql import statements_within, took_too_long

MOST_CHARACTERS = 100
MOST_WORDS = 5
MOST_RESULTS = 6
MOST_PROJECTS = 20
SECONDS_PER_KIND = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PaletteResult:
    """A page that was found: its name, its project or place, and its address."""

    title: str
    detail: str
    url: str


def words_of(text: str) -> list[str]:
    """The words of a search, without case. Words beyond the limits are ignored."""
    return text[:MOST_CHARACTERS].casefold().split()[:MOST_WORDS]


def palette(request: HttpRequest, admins: Sequence[Any]) -> JsonResponse:
    """Answer a search."""
    words = words_of(request.GET.get("q", ""))
    if "from" in request.GET:
        return JsonResponse({"groups": _projects(request, words, request.GET["from"]), "unfinished": []})
    kinds = {pages.opts.label_lower: pages for pages in admins if isinstance(pages, ConsoleAdmin)}
    groups = [
        _group("Pages", _matching(words, _pages(request, admins))),
        _group("Actions", _matching(words, _actions(request, kinds.values()))),
    ]
    unfinished = []
    for title, pages in _searched_kinds(request, kinds) if words else ():
        results = _rows(request, pages, words)
        if results is None:
            unfinished.append(title)
        else:
            groups.append(_group(title, results))
    answer = {"groups": [group for group in groups if group["results"]], "unfinished": unfinished}
    return JsonResponse(answer)


def _projects(request: HttpRequest, words: Sequence[str], path: str) -> list[dict[str, Any]]:
    """The projects to work with: each leads to the list from which the operator comes, otherwise to Home."""
    home = reverse("admin:index")
    try:
        is_list = (resolve(path).url_name or "").endswith("_changelist")
    except Resolver404:
        is_list = False
    rows = project_rows(request).filter(containing(words, ["name"])).order_by("name", "pk")
    choices = [("All projects", ""), *((row.name, row.pk) for row in rows[:MOST_PROJECTS])]
    urls = ((name, f"{path if is_list else home}?{urlencode({PARAMETER: pk})}") for name, pk in choices)
    return [_group("Projects", [PaletteResult(title=name, detail="", url=url) for name, url in urls])]


def _group(title: str, results: Iterable[PaletteResult]) -> dict[str, Any]:
    rows = [{"title": row.title, "detail": row.detail, "url": row.url} for row in results]
    return {"title": title, "results": rows}


def _matching(words: Sequence[str], results: Iterable[PaletteResult]) -> list[PaletteResult]:
    """The first results that contain all words."""
    matches = (row for row in results if all(word in row.title.casefold() for word in words))
    return [row for row, _ in zip(matches, range(MOST_RESULTS), strict=False)]


def _pages(request: HttpRequest, admins: Sequence[Any]) -> Iterator[PaletteResult]:
    for entry, tabs in Navigation(request, admins).everything():
        for tab in tabs:
            detail = "" if tab.title == entry.title else entry.title
            yield PaletteResult(title=tab.title, detail=detail, url=tab.url)


def _actions(request: HttpRequest, admins: Iterable[ConsoleAdmin]) -> Iterator[PaletteResult]:
    operator, now = operator_of(request), clock.now()
    for pages in admins:
        if pages.add_action and pages.has_add_permission(request):
            yield PaletteResult(
                title=pages.add_action.label, detail=pages.list_title, url=add_url(pages.model)
            )
        for name, action in pages.list_actions.items():
            if action.is_allowed_somewhere(operator) and action.offered(None, now):
                url = creation_url(pages.model, name)
                yield PaletteResult(title=action.label, detail=pages.list_title, url=url)


def _searched_kinds(
    request: HttpRequest, kinds: Mapping[str, ConsoleAdmin]
) -> Iterator[tuple[str, ConsoleAdmin]]:
    """The kinds of rows that the operator can find, in the order of the sitemap."""
    for page in (page for entry in ENTRIES for page in entry.pages if page.is_list):
        pages = kinds[page.model]
        if pages.palette_fields and pages.has_module_permission(request):
            yield page.title, pages


def _rows(request: HttpRequest, pages: ConsoleAdmin, words: Sequence[str]) -> list[PaletteResult] | None:
    """The first rows of a kind that match; None if the search took too long."""
    rows: QuerySet[Any] = pages.palette_rows(request, words)
    try:
        with transaction.atomic(), statements_within(SECONDS_PER_KIND):
            matches = list(rows[:MOST_RESULTS])
    except DatabaseError as error:
        if not took_too_long(error):
            raise
        return None
    return [
        PaletteResult(title=title, detail=detail, url=page_url(row))
        for row in matches
        for title, detail in [pages.palette_words(row)]
    ]
