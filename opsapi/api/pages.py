"""Read-only paths outside of the API."""

from collections.abc import Callable
from functools import wraps

from django.http import HttpRequest, HttpResponseBase
from django.views.decorators.csrf import csrf_exempt

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.handler import plain_answer

_ALLOWED = ("GET", "HEAD")

Page = Callable[[HttpRequest], HttpResponseBase]


def only_read(page: Page) -> Page:
    """Refuse every other method as the API does; the page changes nothing, so there is nothing to forge."""

    @wraps(page)
    def answer(request: HttpRequest) -> HttpResponseBase:
        if request.method in _ALLOWED:
            return page(request)
        allowed = ", ".join(_ALLOWED)
        code = ErrorCode.METHOD_NOT_ALLOWED
        return plain_answer(ApiError(code, request.method or "", allowed, headers={"Allow": allowed}))

    return csrf_exempt(answer)
