"""Compression of pages. Answers of the API are not compressed: that would cost more time than it saves."""

from django.http import HttpRequest, HttpResponseBase
from django.middleware.gzip import GZipMiddleware

_COMPRESSED = ("text/html", "text/javascript")  # Django has a view that makes a script.


class Compression(GZipMiddleware):
    """Django's compression, for pages.

    It varies the length at random, so that nobody learns a secret of a page from the length of many answers
    (BREACH). Files are compressed by `opsapi.static_files`.
    """

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Compress the answer if it is a whole page and the client accepts gzip."""
        if response.streaming or not response.headers.get("Content-Type", "").startswith(_COMPRESSED):
            return response
        return super().process_response(request, response)
