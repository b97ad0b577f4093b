"""`/api/docs/`: the OpenAPI document, for people to read and to try."""

from csp.decorators import csp
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from opsapi.api.content_security import DOCS
from opsapi.api.pages import only_read


@only_read
@csp(dict(DOCS))
def docs_page(request: HttpRequest) -> HttpResponse:
    """The page; everything it needs comes from here."""
    return render(request, "api/docs.html")
