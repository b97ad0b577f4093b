"""`/docs/`: the documents as a site, which `make docs` builds and the package contains; open to everybody.

The pages are files (`opsapi/static_files.py`). What is no file comes here.
"""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from opsapi import program
from opsapi.api.handler import only_read
from opsapi.console.error_pages import ErrorPage
from opsapi.console.path import DOCUMENTS_PATH
from opsapi.console.theme import UNFOLD

SITE = program.FILES / "site"
"""The built site. A checkout has it after `make docs`; the platform reads it when it starts."""


@only_read
def missing_page(request: HttpRequest) -> HttpResponse:
    """404: the page does not exist, or the site is not built."""
    page = _UNKNOWN if (SITE / "index.html").is_file() else _NOT_BUILT
    links = [*page.links, (reverse("admin:index"), "Go to the console")]
    context = {"page": page, "links": links, "title": page.title, "site_title": UNFOLD["SITE_TITLE"]}
    answer = render(request, "console/error_alone.html", context, status=404)
    answer["Cache-Control"] = "no-store"
    return answer


_UNKNOWN = ErrorPage(
    status=404,
    title="Page not found",
    text="The documents have no page at this address.",
    links=[(DOCUMENTS_PATH, "All documents")],
)
_NOT_BUILT = ErrorPage(
    status=404,
    title="The documents are not built",
    text="Run make docs, and start the platform again.",
)
