"""Files of the pages, by whitenoise, which remembers at the start which there are."""

from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Redirect, StaticFile

from opsapi.api.handler import not_found


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """The middleware of whitenoise, which answers 404 for a file that was removed after the start."""

    @staticmethod
    def serve(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponseBase:
        """The file; while an upgrade replaces files below a running process, some are gone: 404."""
        try:
            answer: HttpResponseBase = WhiteNoiseMiddleware.serve(static_file, request)
        except FileNotFoundError:
            return not_found(request)
        return answer
