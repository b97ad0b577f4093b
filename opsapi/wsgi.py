"""The platform as a WSGI application: `gunicorn -c python:opsapi.gunicorn_conf opsapi.wsgi`."""

import os
from typing import Any

import django
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.urls import get_resolver
from django.utils.http import parse_header_parameters

from opsapi.call_stack import with_room
from opsapi.database_clock import database_clock
from opsapi.program import importing


class Request(WSGIRequest):
    """A request that is read in UTF-8, with any Content-Type.

    Django reads the query in the charset of the Content-Type, even if that cannot decode text, at a point
    where an exception does not become a response.
    """

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        """Set the media type and its parameters; empty if they cannot be read."""
        try:
            read = parse_header_parameters(meta.get("CONTENT_TYPE", ""))
        except (ValueError, LookupError):  # RFC 2231 values with invalid charsets.
            read = ("", {})
        self.content_type, self.content_params = read


class Handler(WSGIHandler):
    """The WSGI application."""

    request_class = Request
    __call__ = with_room(WSGIHandler.__call__)


def compare_clocks(**_: Any) -> None:
    """Compare the clock with the database's from time to time, after a request that used the database."""
    database_clock.compare_if_due()


os.environ.setdefault("DJANGO_SETTINGS_MODULE", "opsapi.settings")

with importing():
    django.setup(set_prefix=False)
    application = Handler()
    signals.request_finished.connect(compare_clocks, sender=Handler)
    # All views are imported now and not in the first request, which would be slow.
    get_resolver().url_patterns  # noqa: B018 the look-up is the point
