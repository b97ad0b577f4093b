"""`/api/docs/`: the OpenAPI document for people to read and to try (decisions 1 "base paths")."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from opsapi.api.pages import only_read

# Everything comes from here; the style sheet holds its icons as data.
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


@only_read
def docs_page(request: HttpRequest) -> HttpResponse:
    """The page."""
    response = render(request, "api/docs.html")
    response["Content-Security-Policy"] = _POLICY
    return response
