"""Static files of the pages, served by whitenoise."""

from django.http import HttpRequest, HttpResponseBase
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import Redirect, StaticFile

from opsapi.api.handler import not_found


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # whitenoise has no types
    """The middleware of whitenoise, which answers 404 for a file that was removed after the start."""

    @staticmethod
    def serve(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponseBase:
        """Return the file, or 404 for a file that an upgrade has removed while the platform runs."""
        try:
            answer: HttpResponseBase = WhiteNoiseMiddleware.serve(static_file, request)
        except FileNotFoundError:
            return not_found(request)
        return answer
