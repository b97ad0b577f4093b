"""Files of the pages, by whitenoise, which remembers at the start which there are."""

from collections.abc import Callable
from typing import Any

from django.conf import settings as project_settings
from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import MissingFileError, Redirect, StaticFile

from opsapi import document_pages
from opsapi.api.handler import not_found
from opsapi.console.path import DOCUMENTS_PATH


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """The middleware of whitenoise, which also has the documents.

    It answers 404 for a file that was removed after the start. `make docs` replaces the documents while the
    platform runs, so their sizes are read at each request.
    """

    def __init__(
        self,
        get_response: Callable[[HttpRequest], HttpResponseBase],
        settings: Any = project_settings,
    ) -> None:
        super().__init__(get_response, settings)
        if document_pages.SITE.is_dir():
            self.index_file = "index.html"  # `/docs/` is its page
            self.add_files(str(document_pages.SITE), prefix=DOCUMENTS_PATH)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """The file of the path, or what the next middleware answers."""
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
        """The file; while an upgrade replaces files below a running process, some are gone: 404."""
        try:
            answer: HttpResponseBase = WhiteNoiseMiddleware.serve(static_file, request)
        except FileNotFoundError:
            return not_found(request)
        return answer
