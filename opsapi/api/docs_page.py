"""`/api/docs/`: the OpenAPI document for people to read and to try (decisions 1 "base paths")."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt

from opsapi.api.catalogue import ErrorCode
from opsapi.api.errors import ApiError
from opsapi.api.handler import plain_answer

_ALLOWED = ("GET", "HEAD")
# Everything comes from here; the style sheet holds its icons as data.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@csrf_exempt
def docs_page(request: HttpRequest) -> HttpResponse:
    """The page; it changes nothing, so that any other method is refused as the API does."""
    if request.method not in _ALLOWED:
        allowed = ", ".join(_ALLOWED)
        code = ErrorCode.METHOD_NOT_ALLOWED
        return plain_answer(ApiError(code, request.method or "", allowed, headers={"Allow": allowed}))
    response = render(request, "api/docs.html")
    response["Content-Security-Policy"] = _POLICY
    return response
