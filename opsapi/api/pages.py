"""Read-only pages outside of the API: `/api/schema/`, `/api/docs/` and `/metrics`.

`manage.py openapi` writes the OpenAPI document to a file. Servers do not generate it, because drf-spectacular
is not thread-safe and takes seconds.

`/metrics` is for Prometheus. It needs no key. Its callers need a loopback address or an address of
OPSAPI_METRICS_ALLOW.
"""

import gzip
import hashlib
import re
from functools import lru_cache
from ipaddress import ip_network
from pathlib import Path

from csp.decorators import csp
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import condition
from django.views.decorators.vary import vary_on_headers
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4

from opsapi.api.addresses import is_forwarded, peer_address
from opsapi.api.catalogue import ErrorCode
from opsapi.api.content_security import DOCS
from opsapi.api.errors import ApiError
from opsapi.api.handler import only_read, plain_answer
from opsapi.metric_series import exposition

DOCUMENT = Path(__file__).with_name("openapi.json")
"""The OpenAPI document. `make check` fails if it does not match the routes."""
# A weight of 0 refuses gzip (RFC 9110, 12.5.3).
_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|\Z))", re.IGNORECASE)
_LOOPBACK = (ip_network("127.0.0.0/8"), ip_network("::1/128"))
_LIST = "OPSAPI_METRICS_ALLOW, or asks through a proxy"


@lru_cache(maxsize=2)
def _representation(*, compressed: bool) -> tuple[bytes, str]:
    """Return the bytes of the document and their strong ETag (RFC 9110, 8.8.3.3: one for each coding)."""
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
    """The OpenAPI 3.1 document as JSON, for any Accept header; 304 for a client that has it."""
    compressed = _takes_gzip(request)
    octets, _ = _representation(compressed=compressed)
    coding = {"Content-Encoding": "gzip"} if compressed else {}
    return HttpResponse(octets, content_type="application/json", headers=coding)


@only_read
@csp(dict(DOCS))
def docs_page(request: HttpRequest) -> HttpResponse:
    """A viewer of the document, in which you can send requests. It loads nothing from other hosts."""
    return render(request, "api/docs.html")


@only_read
def metrics_page(request: HttpRequest) -> HttpResponse:
    """Metrics of the installation, and of the processes on this machine."""
    if not _may_read(request):
        shown = str(peer_address(request) or "unknown")
        return plain_answer(ApiError(ErrorCode.IP_ADDRESS_NOT_ON_ACCESS_LIST, shown, _LIST))
    return HttpResponse(exposition(), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _may_read(request: HttpRequest) -> bool:
    """Whether the address may read. A local proxy makes every client loopback: forwarded requests may not."""
    address = peer_address(request)
    if address is None or is_forwarded(request):
        return False
    return any(address in network for network in (*_LOOPBACK, *settings.OPSAPI_METRICS_ALLOW))
