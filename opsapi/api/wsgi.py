"""The request as Django makes it of what the web server hands over, minus what a header must not decide."""

from typing import Any

from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.utils.http import parse_header_parameters


class Request(WSGIRequest):
    """Read in UTF-8, whatever charset its Content-Type names.

    Django reads the query in the charset of the Content-Type, be it one that decodes no text at all,
    and does so where no error becomes an answer.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        """The media type and its parameters; none where they cannot be read."""
        try:
            read = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (ValueError, LookupError):  # RFC 2231 values in charsets that are none
            read = ("", {})
        self.content_type, self.content_params = read


class Handler(WSGIHandler):
    """The WSGI application."""

    request_class = Request
