"""Static files of the pages, served by whitenoise, and the documents at `/docs/`, which need no login.

`make docs` builds the documents as a site, and the package contains it.
"""

from collections.abc import Callable
from typing import Any

from django.conf import settings as project_settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import MissingFileError, Redirect, StaticFile

from opsapi import program
from opsapi.api.handler import not_found, only_read
from opsapi.console.error_pages import ErrorPage
from opsapi.console.theme import UNFOLD
from opsapi.page_paths import DOCUMENTS_PATH

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


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """The middleware of whitenoise, which also serves the documents.

    It answers 404 for a file that was removed after the start. `make docs` replaces the documents while the
    platform runs, so their sizes are read at each request.
    """

    def __init__(
        self,
        get_response: Callable[[HttpRequest], HttpResponseBase],
        settings: Any = project_settings,
    ) -> None:
        super().__init__(get_response, settings)
        if SITE.is_dir():
            self.index_file = "index.html"  # `/docs/` is its page
            self.add_files(str(SITE), prefix=DOCUMENTS_PATH)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Return the file of the path, or the answer of the next middleware."""
        path = request.path_info
        known = self.files.get(path)
        if path.startswith(DOCUMENTS_PATH) and isinstance(known, StaticFile):
            try:
                self.files[path] = self.get_static_file(known.alternatives[0][1], path)
            except MissingFileError:
                return not_found(request)
        answer: HttpResponseBase = super().__call__(request)
        return answer

    @staticmethod
    def serve(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponseBase:
        """Return the file, or 404 for a file that an upgrade has removed while the platform runs."""
        try:
            answer: HttpResponseBase = WhiteNoiseMiddleware.serve(static_file, request)
        except FileNotFoundError:
            return not_found(request)
        return answer
