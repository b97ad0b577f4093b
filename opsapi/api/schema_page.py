"""`/api/schema/`: the OpenAPI document as a file, which `manage.py openapi` writes; `/api/docs/`: for people.

No server generates it, because drf-spectacular is not thread-safe and takes seconds.
"""

import gzip
import hashlib
import re
from functools import lru_cache
from pathlib import Path

from csp.decorators import csp
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import condition
from django.views.decorators.vary import vary_on_headers

from opsapi.api.content_security import DOCS
from opsapi.api.pages import only_read

DOCUMENT = Path(__file__).with_name("openapi.json")
"""Of exactly the routes that exist; `make check` refuses it when it is not current."""

# A weight of 0 refuses gzip (RFC 9110, 12.5.3).
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|\Z))", re.IGNORECASE)


@lru_cache(maxsize=2)
def _representation(*, compressed: bool) -> tuple[bytes, str]:
    """The octets of the document, and their strong ETag (RFC 9110, 8.8.3.3: one for each coding)."""
    octets = DOCUMENT.read_bytes()
    if compressed:
        octets = gzip.compress(octets, mtime=0)
    return octets, f'"{hashlib.sha256(octets).hexdigest()[:32]}"'


def _takes_gzip(request: HttpRequest) -> bool:
    return _GZIP.search(request.headers.get("Accept-Encoding", "")) is not None


def _etag(request: HttpRequest) -> str:
    return _representation(compressed=_takes_gzip(request))[1]


@only_read
@vary_on_headers("Accept-Encoding")
@condition(etag_func=_etag)
def schema_page(request: HttpRequest) -> HttpResponse:
    """The OpenAPI 3.1 document as JSON, whatever is accepted; 304 for a client that has it."""
    compressed = _takes_gzip(request)
    octets, _ = _representation(compressed=compressed)
    coding = {"Content-Encoding": "gzip"} if compressed else {}
    return HttpResponse(octets, content_type="application/json", headers=coding)


@only_read
@csp(dict(DOCS))
def docs_page(request: HttpRequest) -> HttpResponse:
    """The document, to read and to try; everything that the page needs comes from here."""
    return render(request, "api/docs.html")
