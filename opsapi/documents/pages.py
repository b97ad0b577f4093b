"""Answers for the paths below `/docs/`: pages, pictures and files of the documents, and the search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import conditional_page

from opsapi import VERSION, program
from opsapi.api.handler import only_read
from opsapi.console.error_pages import ErrorPage
from opsapi.console.theme import UNFOLD
from opsapi.documents.library import HOME, LONGEST_QUERY, SEARCH, Library, NavigationEntry, Part
from opsapi.page_paths import DOCUMENTS_PATH

LIBRARY = Library(program.FILES)
_CACHED = "max-age=60, public"
_UNKNOWN = ErrorPage(
    status=404,
    title="Page not found",
    text="The documents have no page at this address.",
    links=[(DOCUMENTS_PATH, "All documents")],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a page is in the navigation: its part, the page above it, and its neighbours."""

    part: str = ""
    above: NavigationEntry | None = None
    before: NavigationEntry | None = None
    after: NavigationEntry | None = None


@only_read
@gzip_page
@conditional_page
def documents(request: HttpRequest) -> HttpResponse:
    """The page or file of the path; 404 if there is none. The home page has one address."""
    name = request.path_info.removeprefix(DOCUMENTS_PATH)
    if name in {request.path_info, HOME}:
        return HttpResponseRedirect(DOCUMENTS_PATH)
    try:
        if name == SEARCH:
            return _search(request)
        if name in LIBRARY.files:
            return _file(LIBRARY.files[name])
        return _page(name or HOME)
    except (KeyError, FileNotFoundError):  # an upgrade can remove files while the platform runs
        return _missing()


def _page(name: str) -> HttpResponse:
    document = LIBRARY.document(name)
    parts = LIBRARY.navigation()
    place = _place_of(name, parts)
    return _answer(
        "documents/page.html",
        {
            "title": document.title,
            "document": document,
            "contents": [heading for heading in document.headings if heading.level <= 3],
            "place": place,
            "current": name,
            "parts": parts,
        },
    )


def _search(request: HttpRequest) -> HttpResponse:
    query = request.GET.get("q", "").strip()
    is_too_long = len(query) > LONGEST_QUERY
    context = {
        "title": "Search",
        "query": query[:LONGEST_QUERY],
        "longest": LONGEST_QUERY,
        "is_too_long": is_too_long,
        "found": LIBRARY.search(query) if query and not is_too_long else None,
        "current": SEARCH,
        "parts": LIBRARY.navigation(),
    }
    return _answer("documents/search.html", context)


_PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}


def _file(path: Path) -> HttpResponse:
    """A picture, or the text of a file."""
    kind = _PICTURES.get(path.suffix, "text/plain; charset=utf-8")
    return HttpResponse(path.read_bytes(), content_type=kind, headers={"Cache-Control": _CACHED})


def _missing() -> HttpResponse:
    links = [*_UNKNOWN.links, (reverse("admin:index"), "Go to the console")]
    context = {"page": _UNKNOWN, "links": links, "title": _UNKNOWN.title, "site_title": UNFOLD["SITE_TITLE"]}
    text = render_to_string("console/error_alone.html", context)
    return HttpResponse(text, status=404, headers={"Cache-Control": "no-store"})


def _answer(template: str, context: Mapping[str, Any]) -> HttpResponse:
    # Without the request, because its context processors would read the session.
    page_context = {
        **context,
        "home": DOCUMENTS_PATH,
        "search": f"{DOCUMENTS_PATH}{SEARCH}",
        "console": reverse("admin:index"),
        "site_title": UNFOLD["SITE_TITLE"],
        "version": VERSION,
    }
    return HttpResponse(render_to_string(template, page_context), headers={"Cache-Control": _CACHED})


def _place_of(name: str, parts: Sequence[Part]) -> _Place:
    """The place of a page; a page that the navigation does not have has none."""
    line = [
        (part.title, above, entry)
        for part in parts
        for top in part.entries
        for above, entry in [(None, top), *((top, below) for below in top.below)]
    ]
    for number, (part, above, entry) in enumerate(line):
        if entry.name == name:
            return _Place(
                part=part,
                above=above,
                before=line[number - 1][2] if number else None,
                after=line[number + 1][2] if number + 1 < len(line) else None,
            )
    return _Place()
